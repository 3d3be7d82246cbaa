"""Statistical word alignment, and the alignment error rate.

IBM models 1 and 2 (Brown et al. 1993), which know sentence pairs and nothing
else, and the alignment error rate. Chapter 20 holds heads against both.
"""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from transformer_course.errors import CourseError

Pair = tuple[Sequence[str], Sequence[str]]
"""The words of a sentence, and those of its translation."""
Links = set[tuple[int, int]]
"""Pairs (place in the source, place in the target) of words that match."""


class _Candidates(NamedTuple):
    """All pairs of words within sentence pairs, one after another.

    An array has an entry for each; the "no word" of a source is one of its
    words, and stands in front of them.
    """

    asks: np.ndarray
    """Index of the target word in the text."""
    source: np.ndarray
    """Position of the source word; -1 for "no word"."""
    words: np.ndarray
    """Index of the word pair, among distinct ones."""
    of_word: np.ndarray
    """Source word of each distinct word pair."""
    places: np.ndarray
    """Index of the pair of positions, among distinct ones by lengths."""
    of_place: np.ndarray
    """Target position of each distinct pair of positions."""


def align(
    pairs: Sequence[Pair], rounds: int = 5, places: bool = False
) -> list[Links]:
    """Link each target word to its most probable source word.

    Expectation and maximisation on these very pairs. Model 1 counts which
    words occur together, and model 2 also at which places, beginning from
    model 1 (Brown et al. 1993, sections 4.1 and 4.2).

    Args:
        pairs: sentences and their translations, as words.
        rounds: of each model.
        places: model 2.

    Returns:
        The links of each pair; a target word that most likely came from no
        word has none.

    Raises:
        CourseError: no pair, or a sentence without words.
    """
    if not pairs or not all(map(all, pairs)):
        raise CourseError(
            "align was given no sentences, or one without words: give pairs "
            "of lists of words."
        )
    found = _candidates(pairs)
    by_words = np.ones(len(found.of_word))
    by_places = np.ones(len(found.of_place))
    for step in range(2 * rounds if places else rounds):
        chance = _expected(found, by_words, by_places)
        by_words = _shares(np.bincount(found.words, chance), found.of_word)
        if step >= rounds:
            together = np.bincount(found.places, chance)
            by_places = _shares(together, found.of_place)
    chance = _expected(found, by_words, by_places)
    order = np.lexsort((chance, found.asks))
    last = np.append(np.diff(found.asks[order]) > 0, True)
    best = iter(found.source[order[last]].tolist())
    return [
        {(s, t) for t in range(len(tgt)) if (s := next(best)) >= 0}
        for _, tgt in pairs
    ]


def _candidates(pairs: Sequence[Pair]) -> _Candidates:
    """Flatten all pairs of words into arrays."""
    vocabulary: dict[str | None, int] = {}
    spot = [[], [], [], [], [], []]  # asks, s, t, lengths, words of both
    number = count()
    base = 2 + max(len(side) for pair in pairs for side in pair)
    for src, tgt in pairs:
        n, m = len(src) + 1, len(tgt)
        asks = [next(number) for _ in tgt]
        ids = [
            np.array([vocabulary.setdefault(w, len(vocabulary)) for w in side])
            for side in ([None, *src], [f"→{w}" for w in tgt])
        ]
        for at, values in enumerate(
            (
                np.repeat(asks, n),
                np.tile(np.arange(-1, n - 1), m),
                np.repeat(np.arange(m), n),
                np.full(n * m, n * base + m),
                np.tile(ids[0], m),
                np.repeat(ids[1], n),
            )
        ):
            spot[at].append(values)
    asks, s, t, lengths, source, target = map(np.concatenate, spot)
    words = source.astype(np.int64) * len(vocabulary) + target
    known, words = np.unique(words, return_inverse=True)
    asked = lengths.astype(np.int64) * base + t
    where, places = np.unique(asked * base + s + 1, return_inverse=True)
    return _Candidates(
        asks, s, words, known // len(vocabulary), places, where // base
    )


def _expected(
    found: _Candidates, by_words: np.ndarray, by_places: np.ndarray
) -> np.ndarray:
    """Posterior probability of each source word, for each target word."""
    chance = by_words[found.words] * by_places[found.places]
    return chance / np.bincount(found.asks, chance)[found.asks]


def _shares(counts: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Normalise counts within their groups."""
    _, group = np.unique(group, return_inverse=True)
    return counts / np.bincount(group, counts)[group]


def align_both_ways(
    pairs: Sequence[Pair], rounds: int = 5, places: bool = True
) -> list[Links]:
    """The links on which both directions agree: few, and mostly right.

    Args:
        pairs: as for :func:`align`, which is also asked the other way round.
        rounds: of each model.
        places: model 2.

    Raises:
        CourseError: as :func:`align`.
    """
    there = align(pairs, rounds, places)
    back = align([(tgt, src) for src, tgt in pairs], rounds, places)
    return [
        one & {(s, t) for t, s in other}
        for one, other in zip(there, back, strict=True)
    ]


def alignment_error_rate(
    found: Iterable[Links],
    sure: Iterable[Links],
    possible: Iterable[Links] | None = None,
) -> float:
    """Alignment error rate of a text: 0 is no error.

    1 - (``|A ∩ S|`` + ``|A ∩ P|``) / (``|A|`` + ``|S|``).

    Och and Ney 2003, section 3.4: a sure link must be found, a possible one
    may be. Where all gold links are sure it is 1 - F1.

    Args:
        found: A, the links of each sentence pair.
        sure: S.
        possible: P, which holds S; S itself when None.

    Raises:
        CourseError: no link, neither found nor sure.
    """
    sure = list(sure)
    hits = size = 0
    for a, s, p in zip(found, sure, possible or sure, strict=True):
        hits += len(a & s) + len(a & (p | s))
        size += len(a) + len(s)
    if not size:
        raise CourseError(
            "the alignment error rate of nothing: no link was found, and "
            "none is in the gold alignment."
        )
    return 1 - hits / size
