"""Metrics of text: BLEU and chrF by sacreBLEU, perplexity (chapter 14)."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Integer

from transformer_course.console import log
from transformer_course.data.plain import gaps
from transformer_course.errors import CourseError

if TYPE_CHECKING:  # sacreBLEU may be missing where nothing is scored
    from sacrebleu.metrics import BLEU

Counts = Integer[np.ndarray, "sentence 10"]
"""BLEU's statistics of each sentence: the length of the hypothesis and of the
reference, then the clipped matches and the totals of its 1- to 4-grams."""

MIN_SENTENCES = 20
"""Minimum size of a test set for the bootstrap."""
SPLIT_AT_SPACES = ("none", "13a", "intl")
"""sacreBLEU's tokenisers that leave words to the text's spaces."""
MIN_SPACES = 0.1
"""Share of :func:`~.plain.gaps` with a space, below which there are no words:
these have two to five characters."""
SEED = 12345
"""sacreBLEU's default, so that both draw the same test sets."""


class TextScore(NamedTuple):
    """A score with its signature."""

    value: float
    """0 to 100."""
    signature: str
    """sacreBLEU's own: version, tokenisation, smoothing."""
    details: str
    """Precisions, brevity penalty and lengths, as sacreBLEU prints them."""


class Interval(NamedTuple):
    """A corpus score with its bootstrap interval."""

    value: float
    """Score of the original test set."""
    low: float
    """Exceeded by 97.5 % of the resampled test sets."""
    high: float
    """Exceeded by 2.5 % of them."""


class Comparison(NamedTuple):
    """Difference between a system and a baseline, in BLEU, on one test set."""

    difference: Interval
    p_value: float
    """Two-sided p-value of the difference, by the bootstrap."""
    differences: Float[np.ndarray, " sample"]
    """On each resampled test set."""


def corpus_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenize: str = "none",
) -> TextScore:
    """Corpus BLEU, one reference a sentence.

    Papineni et al. 2002: clipped n-gram precisions to n = 4, geometric mean,
    brevity penalty over the corpus. Scores compare only when their signatures
    agree (Post 2018). Text whose words nothing separates is warned of.

    Args:
        hypotheses: what the system wrote.
        references: what should have been written.
        tokenize: sacreBLEU's tokeniser; ``"none"`` keeps the words of text
            that is already cut up, ``"13a"`` is its default for raw text.

    Raises:
        CourseError: different numbers of lines, or none; a tokeniser that
            sacreBLEU does not have.
    """
    score = _score(_bleu(tokenize), hypotheses, references)
    for text in text_warnings(hypotheses, references, tokenize):
        log(f"warning: {text}")
    return score


def corpus_chrf(
    hypotheses: Sequence[str], references: Sequence[str]
) -> TextScore:
    """chrF2: F-score of character n-grams to n = 6 (Popović 2015).

    Raises:
        CourseError: different numbers of lines, or none.
    """
    from sacrebleu.metrics import CHRF

    return _score(CHRF(), hypotheses, references)


def bleu_counts(
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenize: str = "none",
) -> Counts:
    """BLEU's statistics of each sentence; their sum gives corpus BLEU.

    With these a score can be taken again, of any part of a test set, without
    the texts.

    Args:
        hypotheses: what the system wrote.
        references: what should have been written.
        tokenize: sacreBLEU's tokeniser, as in :func:`corpus_bleu`.

    Raises:
        CourseError: as in :func:`corpus_bleu`.
    """
    _check_lines(hypotheses, references)
    metric = _bleu(tokenize, effective_order=True)  # or it warns each time
    found = [
        metric.sentence_score(hypothesis, [reference])
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]
    return np.array(
        [[s.sys_len, s.ref_len, *s.counts, *s.totals] for s in found]
    )


def bleu_of_counts(counts: Counts) -> float:
    """The corpus BLEU of sentences with these counts, as sacreBLEU has it.

    Raises:
        CourseError: no sentence.
    """
    from sacrebleu.metrics import BLEU

    if not len(counts):
        raise CourseError("no counts were given: there must be some.")
    lengths, matches, totals = np.split(counts.sum(axis=0), [2, 6])
    found = BLEU.compute_bleu(
        matches.tolist(), totals.tolist(), *lengths.tolist(), "exp"
    )
    return found.score


def bleu_without_penalty(counts: Counts) -> float:
    """Corpus BLEU without its brevity penalty.

    Raises:
        CourseError: no sentence.
    """
    counts = np.array(counts)
    counts[:, 1] = counts[:, 0]  # as if the references were as long
    return bleu_of_counts(counts)


def bootstrap_bleu(
    counts: Counts, samples: int = 1000, seed: int = SEED
) -> Float[np.ndarray, " sample"]:
    """BLEU on bootstrap resamples of a test set.

    Koehn 2004: as many sentences as there are, with replacement. Systems that
    were tested on the same sentences get the same draws from one seed.

    Args:
        counts: of the test set's sentences, from :func:`bleu_counts`.
        samples: test sets to draw.
        seed: fixes the draws.

    Raises:
        CourseError: fewer sentences than :data:`MIN_SENTENCES`, or no samples.
    """
    if len(counts) < MIN_SENTENCES or samples < 1:
        raise CourseError(
            f"{samples} samples of {len(counts)} sentences were asked for: "
            f"a bootstrap needs at least 1 and {MIN_SENTENCES}."
        )
    generator = np.random.default_rng(seed)
    draws = generator.choice(len(counts), size=(samples, len(counts)))
    return np.array([bleu_of_counts(counts[draw]) for draw in draws])


def bleu_interval(
    counts: Counts, samples: int = 1000, seed: int = SEED
) -> Interval:
    """Corpus BLEU with its 95 % bootstrap interval (Koehn 2004).

    The interval is about the choice of test sentences, not about the seed of
    the training. For the arguments and errors see :func:`bootstrap_bleu`.
    """
    return _interval(
        bleu_of_counts(counts), bootstrap_bleu(counts, samples, seed)
    )


def paired_bootstrap(
    system: Counts,
    baseline: Integer[np.ndarray, "other 10"],
    samples: int = 1000,
    seed: int = SEED,
) -> Comparison:
    """Paired bootstrap test of a system against a baseline.

    Koehn 2004: both are scored on the same resampled test sets, so that what
    is hard for both does not count as a difference. The draws are those of
    ``sacrebleu --paired-bs``. The p-value is not: sacreBLEU takes absolute
    values before it subtracts their mean, which makes it too small (chapter
    14 measures it).

    Args:
        system: counts of the one, from :func:`bleu_counts`.
        baseline: counts of the other, on the same sentences, in that order.
        samples: test sets to draw.
        seed: fixes the draws.

    Raises:
        CourseError: counts of other sentences, or too few of them.
    """
    same = len(system) == len(baseline)
    if not (same and np.array_equal(system[:, 1], baseline[:, 1])):
        raise CourseError(
            f"counts of {len(system)} and of {len(baseline)} sentences were "
            "given, or their references differ in length: both systems must "
            "be scored on the same test set, cut up alike."
        )
    difference = bleu_of_counts(system) - bleu_of_counts(baseline)
    drawn = bootstrap_bleu(system, samples, seed)
    drawn = drawn - bootstrap_bleu(baseline, samples, seed)
    by_chance = np.abs(drawn - drawn.mean())
    beyond = (by_chance >= abs(difference)).sum()
    return Comparison(
        difference=_interval(difference, drawn),
        p_value=float((beyond + 1) / (samples + 1)),
        differences=drawn,
    )


def text_warnings(
    hypotheses: Sequence[str], references: Sequence[str], tokenize: str
) -> Iterator[str]:
    """Warn of a side that is empty, or has no spaces between its words."""
    sides = {"hypotheses": hypotheses, "references": references}
    empty = [
        name for name, lines in sides.items() if not "".join(lines).strip()
    ]
    if empty:
        yield (
            f"the {' and '.join(empty)} are empty, every line of them: has "
            "what wrote them failed, or is it another file?"
        )
    if empty or tokenize not in SPLIT_AT_SPACES:
        return
    joined = [name for name, lines in sides.items() if _unspaced(lines)]
    if joined:
        yield (
            f"the {' and '.join(joined)} have no spaces between words, so "
            "a whole line counts as one word, and hardly any words match. "
            "Score with --tokenize char, or cut both sides into words "
            "(translate --as-is)."
        )


def _unspaced(lines: Sequence[str]) -> bool:
    """Whether most of a text is in a script without spaces, and has none."""
    text = "\n".join(lines)
    found = gaps(text)
    few = found.count("") > (1 - MIN_SPACES) * len(found)
    return few and len(found) > len(text) / 2


def perplexity(nll: float) -> float:
    """e to the cross entropy in nats per token: the effective choices."""
    try:
        return math.exp(nll)
    except OverflowError:
        return math.inf


def _bleu(tokenize: str, **options) -> "BLEU":
    """sacreBLEU's metric with this tokeniser."""
    from sacrebleu.metrics import BLEU

    if tokenize not in BLEU.TOKENIZERS:
        raise CourseError(
            f"sacreBLEU has no tokeniser {tokenize!r}: choose one of "
            f"{', '.join(sorted(BLEU.TOKENIZERS))}."
        )
    try:
        return BLEU(tokenize=tokenize, **options)
    except (ImportError, RuntimeError, OSError) as error:
        raise CourseError(
            f"the tokeniser {tokenize!r} needs a package or a file that is "
            f"not here ({' '.join(str(error).split())}): install it, go "
            "online, or choose another, such as none, 13a or char."
        ) from error


def _score(metric, hypotheses, references) -> TextScore:
    _check_lines(hypotheses, references)
    result = metric.corpus_score(list(hypotheses), [list(references)])
    signature = str(metric.get_signature())
    return TextScore(result.score, signature, str(result))


def _check_lines(hypotheses, references) -> None:
    for lines in (hypotheses, references):
        if isinstance(lines, str):  # its characters would pass for lines
            raise CourseError(
                f"one text was given, {lines[:30]!r}, where a list of lines "
                "is expected: put it into brackets."
            )
    if len(hypotheses) != len(references) or not hypotheses:
        raise CourseError(
            f"{len(hypotheses)} hypotheses were given for {len(references)} "
            "references: each needs exactly one, and there must be some."
        )


def _interval(value: float, drawn: Float[np.ndarray, " sample"]) -> Interval:
    low, high = np.percentile(drawn, (2.5, 97.5)).tolist()
    return Interval(value, low, high)


def score_lines(
    title: str,
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenize: str = "none",
) -> str:
    """BLEU and chrF with their signatures, as the command line prints them.

    Raises:
        CourseError: what :func:`corpus_bleu` raises.
    """
    bleu = corpus_bleu(hypotheses, references, tokenize)
    chrf = corpus_chrf(hypotheses, references)
    return (
        f"{title}\n"
        f"  BLEU {bleu.value:.2f}  {bleu.signature}\n"
        f"       {bleu.details}\n"
        f"  chrF {chrf.value:.2f}  {chrf.signature}"
    )
