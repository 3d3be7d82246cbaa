"""Exercises whose check says which mistake was made.

``engine``     how a try is judged: cases, outcomes, comparison, verdict
``catalogue``  what is asked: solutions, cases, mistakes that people make
``child``      a process for each check, in which a learner's code runs
``process``    the notebook's side of it: time, memory, the end
``check``      what a notebook calls: check, hint, solution, progress
``progress``   the file that holds which exercises are done
``command``    ``transformer-course progress``
"""
