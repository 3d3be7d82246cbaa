"""Counting n-grams: the baseline of the language model (chapter 16).

Interpolated Kneser–Ney smoothing, with three discounts for each order: what a
language model was before neural networks, and what one has to beat.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

Token = Hashable
START = None
"""Stands before the first token of a text; never predicted."""


class KneserNey:
    """An n-gram model with modified Kneser–Ney smoothing, interpolated.

    The longest context counts how often a token followed it. Shorter ones
    count *in how many different contexts* it did: "Francisco" is frequent,
    but follows one word only. From each count a discount is taken, and what
    is taken goes to the next shorter context; the last one is uniform over
    the vocabulary. Each order has a discount for counts of 1, one for 2 and
    one for more (Chen and Goodman 1999, section 3), or, before that, the same
    for all (Kneser and Ney 1995).

    Args:
        texts: what to learn from.
        order: tokens in the longest n-gram, context and token.
        vocab_size: number of tokens that can come up.
        discounts: of each order, 3 or 1.
    """

    def __init__(
        self,
        texts: Sequence[Sequence[Token]],
        order: int,
        vocab_size: int,
        discounts: int = 3,
    ):
        self.order, self.vocab_size = order, vocab_size
        counts = _ngrams(texts, order)
        self._levels = []
        for _ in range(order):
            self._levels.append(_Level(counts, discounts))
            # a shorter n-gram counts once for each token found before it
            counts = Counter(ngram[1:] for ngram in counts)
        self._levels.reverse()

    def probability(self, context: Sequence[Token], token: Token) -> float:
        """Of ``token`` after ``context``, of which the end is used."""
        padded = [START] * (self.order - 1) + list(context)
        value = 1 / self.vocab_size
        for length, level in enumerate(self._levels):
            seen = tuple(padded[len(padded) - length :])
            value = level.interpolate(seen, token, value)
        return value

    def nll(self, text: Sequence[Token]) -> float:
        """Negative log-likelihood of a text, in nats, summed."""
        reach = self.order - 1
        return -sum(
            math.log(self.probability(text[max(0, i - reach) : i], token))
            for i, token in enumerate(text)
        )


class _Level:
    """The n-grams of one length: counts, and what to set aside."""

    def __init__(self, counts: Counter, discounts: int):
        self.counts, self.discounts = counts, _discounts(counts, discounts)
        self.total: dict[tuple, int] = defaultdict(int)
        self.rest: dict[tuple, float] = defaultdict(float)
        for ngram, count in counts.items():
            self.total[ngram[:-1]] += count
            self.rest[ngram[:-1]] += self.discounts[min(count, 3)]

    def interpolate(self, context: tuple, token: Token, shorter: float):
        """Discounted share of the count, plus the rest by ``shorter``."""
        total = self.total.get(context, 0)
        if not total:
            return shorter
        count = self.counts[(*context, token)]
        kept = count - self.discounts[min(count, 3)]
        return (kept + self.rest[context] * shorter) / total


def _discounts(counts: Counter, number: int) -> list[float]:
    """What is taken from a count of 0, 1, 2, and 3 or more.

    With nₖ counts equal to k and Y = n₁ / (n₁ + 2 n₂), from k is taken
    k - (k + 1) Y nₖ₊₁ / nₖ, or Y from all. Where nₖ or nₖ₊₁ is 0, k loses what
    k - 1 does.
    """
    n = Counter(counts.values())
    share = n[1] / (n[1] + 2 * n[2]) if n[1] else 0.5
    if number == 1:
        return [0.0, share, share, share]
    taken = [0.0, share]
    for k in (2, 3):
        known = n[k] and n[k + 1]
        own = k - (k + 1) * share * n[k + 1] / n[k] if known else taken[-1]
        taken.append(max(0.0, own))
    return taken


def _ngrams(texts: Sequence[Sequence[Token]], order: int) -> Counter:
    """Count the n-grams of texts, from their first token."""
    counts: Counter = Counter()
    for text in texts:
        padded = [START] * (order - 1) + list(text)
        counts.update(zip(*(padded[i:] for i in range(order)), strict=False))
    return counts
