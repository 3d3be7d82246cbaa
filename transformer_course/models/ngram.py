"""Counting n-grams: the baseline of the language model (chapter 16).

Interpolated Kneser–Ney smoothing, with one discount for each order: what a
language model was before neural networks, and what one has to beat.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from transformer_course.errors import ConfigError

Token = Hashable
START = None
"""Stands before the first token of a text; never predicted."""


class KneserNey:
    """An n-gram model with interpolated Kneser–Ney smoothing.

    The longest context counts how often a token followed it. Shorter ones
    count *in how many different contexts* it did: "Francisco" is frequent,
    but follows one word only. From each count a discount is taken, and what
    is taken goes to the next shorter context; the last one is uniform over
    the vocabulary. Kneser and Ney 1995; Chen and Goodman 1999, section 2.7,
    with the discount n1 / (n1 + 2 n2) of each order.

    Args:
        texts: what to learn from.
        order: tokens in the longest n-gram, context and token.
        vocab_size: number of tokens that can come up.

    Raises:
        ConfigError: order below 1, or no text.
    """

    def __init__(
        self, texts: Sequence[Sequence[Token]], order: int, vocab_size: int
    ):
        if order < 1:
            raise ConfigError(f"order is {order}: it must be at least 1.")
        if not any(texts):
            raise ConfigError("there is no text to count n-grams in.")
        self.order, self.vocab_size = order, vocab_size
        counts = _ngrams(texts, order)
        self._levels = []
        for _ in range(order):
            self._levels.append(_Level(counts))
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

    def __init__(self, counts: Counter):
        self.counts = counts
        self.total: dict[tuple, int] = defaultdict(int)
        self.kinds: dict[tuple, int] = defaultdict(int)
        for ngram, count in counts.items():
            self.total[ngram[:-1]] += count
            self.kinds[ngram[:-1]] += 1
        once, twice = (
            sum(count == n for count in counts.values()) for n in (1, 2)
        )
        self.discount = once / (once + 2 * twice) if once else 0.5

    def interpolate(self, context: tuple, token: Token, shorter: float):
        """Discounted share of the count, plus the rest by ``shorter``."""
        total = self.total.get(context, 0)
        if not total:
            return shorter
        kept = max(0.0, self.counts[(*context, token)] - self.discount)
        rest = self.discount * self.kinds[context]
        return (kept + rest * shorter) / total


def _ngrams(texts: Sequence[Sequence[Token]], order: int) -> Counter:
    """Count the n-grams of texts, from their first token."""
    counts: Counter = Counter()
    for text in texts:
        padded = [START] * (order - 1) + list(text)
        counts.update(zip(*(padded[i:] for i in range(order)), strict=False))
    return counts
