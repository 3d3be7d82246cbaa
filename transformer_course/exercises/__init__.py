"""Exercises whose check says which mistake was made.

``engine``     how a try is judged: cases, outcomes, comparison, verdict
``catalogue``  what is asked: solutions, cases, mistakes that people make
``attempt``    a process for each try, in which learners' code runs
``worker``     the process that starts it, and compares what it gave
``process``    the notebook's side of it
``check``      what a notebook calls: check, hint, solution, progress
"""
