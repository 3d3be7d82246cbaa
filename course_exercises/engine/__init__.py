"""The engine that judges a try; it knows none of the exercises.

An exercise is tried on its cases; each gives an outcome; the outcomes are
compared with those of the solution and of wrong implementations that people
really write; what is found is a verdict, and its text is the answer.
"""
