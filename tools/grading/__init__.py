"""Handing out assignments and grading them, with nbgrader as the frame.

    python -m tools.grading release [NB ...]
    python -m tools.grading grade SUBMISSIONS [NB ...]

``assignment``   what is handed out: exercises, open questions, points
``submissions``  who handed in which file, in any usual layout of folders
``answers``      what a student's notebook says, and nothing else of it
``judge``        the course's tests on a student's code, in its own process
``gradebook``    nbgrader: release, marks, marks given by hand
``grade``        all of it in turn; what is known is kept between runs
``pages``        marks.csv, a page for each student, one for the class

Nothing of a student's notebook is executed but the code of the exercises, and
that only in processes of its own. nbgrader is optional: this package, unlike
``transformer_course``, needs it.
"""
