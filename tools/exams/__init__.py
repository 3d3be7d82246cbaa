"""Exam questions with their marking keys, for lecturers alone.

``questions/`` has a file of Markdown for each chapter. From it come papers
without and with the keys, and files that Moodle imports. Nothing here is part
of the book, of what learners are given, or of the wheel.
"""
