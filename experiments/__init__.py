"""The book's experiments: a module for each question, named by it.

``python -m experiments NAME`` makes what is missing of the stored run
``experiments/results/NAME/``; ``python -m experiments`` lists all. A module has a docstring
with the question and an ``EXPERIMENT``; :mod:`~experiments.lab` is what they
share, and :mod:`~experiments.translators` the small translators that many of
them train.
"""
