"""What runs a learner's code: nothing here knows a solution.

It imports torch and nothing else of the course, so that it works alone, where
the course's solutions cannot be read.
"""
