"""Word alignment by counting, and the alignment error rate.

IBM model 1 (Brown et al. 1993), which knows sentence pairs and nothing else.
Chapter 20 holds heads against it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from transformer_course.errors import CourseError

Pair = tuple[Sequence[str], Sequence[str]]
"""The words of a sentence, and those of its translation."""
Links = set[tuple[int, int]]
"""Pairs (position in the source, in the target) of words that match."""
NO_WORD = None
"""What makes a target word that no source word has made."""


def align(pairs: Sequence[Pair], rounds: int = 5) -> list[Links]:
    """Link each target word to its most probable source word.

    Expectation and maximisation on these very pairs, from equal chances (IBM
    model 1; Brown et al. 1993, section 4.1).

    Args:
        pairs: sentences and their translations, as words.
        rounds: of counting.

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
    chance = defaultdict(lambda: 1.0)  # p(target word | source word)
    for _ in range(rounds):
        together, alone = defaultdict(float), defaultdict(float)
        for source, target in pairs:
            words = [*source, NO_WORD]
            for made in target:
                whole = sum(chance[word, made] for word in words)
                for word in words:  # who made it: a share for each
                    share = chance[word, made] / whole
                    together[word, made] += share
                    alone[word] += share
        chance = {pair: n / alone[pair[0]] for pair, n in together.items()}
    links = []
    for source, target in pairs:
        words = [*source, NO_WORD]
        best = [
            max(range(len(words)), key=lambda s, t=t: chance[words[s], t])
            for t in target
        ]
        found = {(s, t) for t, s in enumerate(best) if s < len(source)}
        links.append(found)
    return links


def alignment_error_rate(
    found: Iterable[Links], gold: Iterable[Links]
) -> float:
    """Alignment error rate of a text: 0 is no error.

    1 - 2 ``|A ∩ S|`` / (``|A|`` + ``|S|``). Och and Ney 2003, section 3.4,
    count only possible links too; where all are sure it is 1 - F1.

    Args:
        found: A, the links of each sentence pair.
        gold: S.

    Raises:
        CourseError: no link, neither found nor in the gold alignment.
    """
    hits = size = 0
    for a, s in zip(found, gold, strict=True):
        hits += 2 * len(a & s)
        size += len(a) + len(s)
    if not size:
        raise CourseError(
            "the alignment error rate of nothing: no link was found, and "
            "none is in the gold alignment."
        )
    return 1 - hits / size
