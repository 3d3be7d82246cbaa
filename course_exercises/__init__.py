"""Exercises whose check names the mistake that was made.

``engine``     judges an implementation: cases, outcomes, comparison, verdict
``catalogue``  the exercises: solutions, cases, mistakes that people make
``child``      the process of a check, in which a learner's code runs
``process``    the notebook's side of it: starting, limits, ending
``check``      functions for notebooks: check, hint, solution, progress
``progress``   the file of the exercises done
``names``      the exercises' names and modules, without importing them
``contents``   all exercises
"""
