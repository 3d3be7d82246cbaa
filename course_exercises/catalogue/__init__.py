"""Solutions, cases and mistakes: what is asked, and how it goes wrong.

A folder is a chapter's subject, a file in it is an exercise, and its name for
that is ``EXERCISE``. ``contents`` lists them.
"""
