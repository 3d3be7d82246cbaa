"""The engine that judges an implementation of any exercise.

An implementation is called on the exercise's cases, and its outcomes are
compared with those of the solution and of known mistakes. The verdict says
which mistake has the same outcomes.
"""
