"""The built-in corpus: a small grammar of English and Japanese.

The two languages say the same thing in different orders. English has subject,
verb, object; Japanese has subject, object, verb, and marks each part by a
particle after it (は が を に で へ と). A translator must find what stands
where, drop the articles, and bend verbs: ``did not read`` is 読ま なかっ た.

Since both sentences are made from one meaning, the words that belong together
are known: every pair comes with its *gold alignment*, against which chapter
20 scores attention. What a model has to look for in other words:

- agreement: ``she reads``, ``they read``, ``i am``;
- the sense of ``play`` (弾く する 遊ぶ), ``wear`` (着る かぶる はく) and
  ``old`` (古い 年老い た) from the object or noun;
- ``with`` from the noun: with a pen is ペン で, with emi is エミ と;
- the verb of giving from the recipient: くれる when it is the speaker;
- ``a`` as a subject's article, which turns は into が;
- ``they`` from the antecedent: 彼女 たち for women, 彼ら for others;
- ``because``, whose clause goes in front.

English is in lower case; words and punctuation are separated by spaces. Each
English sentence has one translation, but not the other way round: Japanese
leaves articles, and often number, unsaid.

It has much to say: 400,000 draws give 241,000 different sentences, and every
second draw after that is still new.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from transformer_course.data.grammar import compounds, simple
from transformer_course.data.grammar.inflection import Words, align
from transformer_course.data.grammar.predicates import Sentence, Speaker
from transformer_course.data.text import ParallelText, Splits
from transformer_course.errors import ConfigError

LONGEST = 18
"""Words a sentence has at the most on either side, its stop included."""
PATIENCE = 200
"""Sentences in a row that may be known already, before giving up."""
CONSTRUCTIONS: tuple[tuple[float, Callable[[Speaker], Sentence]], ...] = (
    (0.34, simple.statement),
    (0.07, simple.yes_no_question),
    (0.03, simple.who_question),
    (0.03, simple.what_question),
    (0.02, simple.where_question),
    (0.02, simple.when_question),
    (0.09, simple.quality),
    (0.02, simple.profession),
    (0.07, simple.comparison),
    (0.04, simple.existence),
    (0.04, simple.location),
    (0.05, simple.liking),
    (0.06, simple.giving),
    (0.04, compounds.because),
    (0.02, compounds.contrast),
    (0.03, compounds.sequel),
    (0.03, compounds.report),
)
"""The share of each construction among the sentences."""


class AlignedPair(NamedTuple):
    """An English sentence, its Japanese translation, and which words match."""

    src: str
    """English, words separated by spaces."""
    tgt: str
    """Japanese, words separated by spaces."""
    alignment: tuple[tuple[int, int], ...]
    """Pairs (place in ``src``, place in ``tgt``) of words that match, from
    0; a word may be in several pairs, or in none, as articles are."""


def grammar_pairs(size: int, seed: int = 0) -> list[AlignedPair]:
    """Distinct sentence pairs with their gold alignments.

    No two have the same English or the same Japanese. A larger ``size`` only
    appends to a smaller one.

    Args:
        size: number of pairs.
        seed: the same seed gives the same pairs, in every version of Python.

    Raises:
        ConfigError: more than the grammar can say.
    """
    speaker = Speaker(seed)
    pairs: list[AlignedPair] = []
    known: set[str] = set()
    while len(pairs) < size:
        for _ in range(PATIENCE):
            pair = make_pair(speaker)
            if pair.src not in known and pair.tgt not in known:
                break
        else:
            raise ConfigError(
                f"size is {size:,}, but the grammar has nothing new to say "
                f"after {len(pairs):,} sentences: ask for fewer."
            )
        known.update((pair.src, pair.tgt))
        pairs.append(pair)
    return pairs


def grammar_splits(
    train: int = 20_000, dev: int = 500, test: int = 500, seed: int = 0
) -> tuple[list[AlignedPair], list[AlignedPair], list[AlignedPair]]:
    """Aligned pairs for training, development and testing.

    No sentence of one part stands in another, on either side; dev and test
    stay the same whatever ``train`` is.

    Raises:
        ConfigError: more than the grammar can say.
    """
    pairs = grammar_pairs(test + dev + train, seed)
    return pairs[test + dev :], pairs[test : test + dev], pairs[:test]


def grammar_corpus(
    train: int = 20_000, dev: int = 500, test: int = 500, seed: int = 0
) -> Splits:
    """The pairs of :func:`grammar_splits` as a corpus, English to Japanese.

    Raises:
        ConfigError: more than the grammar can say.
    """
    return Splits(*map(parallel_text, grammar_splits(train, dev, test, seed)))


def parallel_text(pairs: Sequence[AlignedPair]) -> ParallelText:
    """The sentences of aligned pairs, English to Japanese."""
    return ParallelText(
        [pair.src for pair in pairs], [pair.tgt for pair in pairs]
    )


def make_pair(speaker: Speaker) -> AlignedPair:
    """One sentence pair of any construction, not too long."""
    while True:
        speaker.start()
        en, ja = speaker.weighted(CONSTRUCTIONS)(speaker)
        if max(len(en), len(ja)) <= LONGEST:
            return aligned(en, ja)


def aligned(en: Words, ja: Words) -> AlignedPair:
    """Two tagged sentences as text, with the words that match."""
    return AlignedPair(
        " ".join(word for word, _ in en),
        " ".join(word for word, _ in ja),
        align(en, ja),
    )
