"""Assignments for a class, and their grading with nbgrader.

nbgrader rather than otter-grader: it marks by hand in a browser, gives part
marks, and writes each student's feedback with no container at hand, where
otter-grader needs Docker for a class and Gradescope for marks by hand. It
also adds less to what the course installs.

``assignment``   an assignment's notebook, solutions and tests included
``sandbox``      where a student's code runs: it sees no solution and no mark
``given``        what it sees of the course
``run``          runs one notebook there
``mark``         tries the answers there, and judges here what came out
``course``       nbgrader's course folder: release, autograde, feedback
``roster``       the class, as Moodle or Canvas exports it
``submissions``  which file belongs to which student and assignment
``tables``       marks as tables, for Moodle and Canvas too
``report``       the misconceptions of the class
"""
