"""Random choices, and the numbers of meanings, of the built-in grammar."""

import random
from collections.abc import Sequence
from itertools import count
from typing import TypeVar

from transformer_course.data.grammar.inflection import Meanings, Words, words

T = TypeVar("T")


class Draws:
    """Draws what to say from random numbers.

    Only ``random.Random.random`` is used: it alone is promised to give the
    same numbers in every version of Python.

    Args:
        seed: the same seed gives the same draws.
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed).random
        self._meanings = count(1)

    def pick(self, choices: Sequence[T]) -> T:
        """One of ``choices``, each as likely."""
        return choices[int(self._random() * len(choices))]

    def weighted(self, choices: Sequence[tuple[float, T]]) -> T:
        """One of ``choices`` by their weights, which sum to 1."""
        rest = self._random()
        for weight, choice in choices:
            rest -= weight
            if rest < 0:
                return choice
        return choices[-1][1]

    def chance(self, share: float) -> bool:
        """True in a ``share`` of the calls."""
        return self._random() < share

    def tie(self, en: str, ja: str) -> tuple[Words, Words]:
        """An English and a Japanese stretch that mean the same."""
        meaning = next(self._meanings)
        return words(en, meaning), words(ja, meaning)

    def meanings(self) -> Meanings:
        """New meanings for a predicate."""
        return Meanings._make(next(self._meanings) for _ in range(4))
