"""How good text is: BLEU and chrF by sacreBLEU, perplexity (chapter 14)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics import BLEU, CHRF

from transformer_course.errors import CourseError


class TextScore(NamedTuple):
    """A score with all that is needed to compare it with another."""

    value: float
    """0 to 100."""
    signature: str
    """sacreBLEU's own: version, tokenisation, smoothing."""
    details: str
    """Precisions, brevity penalty and lengths, as sacreBLEU prints them."""


def corpus_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenize: str = "none",
) -> TextScore:
    """BLEU of a whole corpus, one reference a sentence.

    Papineni et al. 2002: clipped n-gram precisions to n = 4, geometric mean,
    brevity penalty over the corpus. Scores compare only when their signatures
    agree (Post 2018).

    Args:
        hypotheses: what the system wrote.
        references: what should have been written.
        tokenize: sacreBLEU's tokeniser; ``"none"`` keeps the words of text
            that is already cut up, ``"13a"`` is its default for raw text.

    Raises:
        CourseError: different numbers of lines, or none; a tokeniser that
            sacreBLEU does not have.
    """
    if tokenize not in BLEU.TOKENIZERS:
        raise CourseError(
            f"sacreBLEU has no tokeniser {tokenize!r}: choose one of "
            f"{', '.join(sorted(BLEU.TOKENIZERS))}."
        )
    try:
        metric = BLEU(tokenize=tokenize)
    except (ImportError, RuntimeError) as error:
        raise CourseError(
            f"the tokeniser {tokenize!r} needs a package that is not here "
            f"({' '.join(str(error).split())}): install it, or choose "
            "another, such as none, 13a or char."
        ) from error
    return _score(metric, hypotheses, references)


def corpus_chrf(
    hypotheses: Sequence[str], references: Sequence[str]
) -> TextScore:
    """chrF2: F-score of character n-grams to n = 6 (Popović 2015).

    Raises:
        CourseError: different numbers of lines, or none.
    """
    return _score(CHRF(), hypotheses, references)


def spaced_share(lines: Sequence[str]) -> float:
    """Share of the lines that hold a space: near 1 for text cut into words,
    near 0 for Japanese as people write it."""
    return sum(" " in line.strip() for line in lines) / max(1, len(lines))


def perplexity(nll: float) -> float:
    """e to the cross entropy in nats per token: the effective choices."""
    try:
        return math.exp(nll)
    except OverflowError:
        return math.inf


def _score(metric, hypotheses, references) -> TextScore:
    if len(hypotheses) != len(references) or not hypotheses:
        raise CourseError(
            f"{len(hypotheses)} hypotheses were given for {len(references)} "
            "references: each needs exactly one, and there must be some."
        )
    result = metric.corpus_score(list(hypotheses), [list(references)])
    signature = str(metric.get_signature())
    return TextScore(result.score, signature, str(result))
