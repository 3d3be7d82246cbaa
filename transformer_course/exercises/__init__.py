"""Exercises whose check says which mistake was made.

An exercise is tried on its cases; each gives an outcome; the outcomes are
compared with those of the solution and of wrong implementations that people
really write; what is found is a verdict, and its text is the answer.

``exercise``  what an author writes: solution, cases, catalogue of mistakes
``outcome``   what an implementation does on one case
``match``     which outcomes agree with which: the solution's, a mistake's
``diagnose``  outcomes to a verdict
``worker``    a process of its own in which learners' code runs
``check``     what a notebook calls: check, hint, solution, progress

The exercises themselves stand in one module a chapter, such as ``masks``.
"""
