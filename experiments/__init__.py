"""The book's experiments: a module for each question, named by it.

``python -m experiments NAME`` makes what is missing of the stored run
``experiments/results/NAME/``; ``python -m experiments`` lists all. A module
has a docstring with the question and an ``EXPERIMENT``.
:mod:`~experiments.lab` is their engine, :mod:`~experiments.store` reads and
writes stored runs, :mod:`~experiments.translators` has the small translators
that many of them train, and :mod:`~experiments.benchmarks` compares the course
with others.
"""
