"""Exercises whose check says which mistake was made.

``engine``     how a try is judged: cases, outcomes, comparison, verdict
``catalogue``  what is asked: solutions, cases, mistakes that people make
``worker``     a process of its own in which learners' code runs
``process``    the notebook's side of it
``check``      what a notebook calls: check, hint, solution, progress
"""
