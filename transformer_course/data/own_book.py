"""A text of one's own: a book, read as sentences and as running text.

Its last tenth is held out to score, and the tenth before it to choose by, so
that nothing is judged on what stands between sentences that were learned.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate

from transformer_course.console import log
from transformer_course.data.own_text import check_digests
from transformer_course.data.text import (
    ParallelText,
    Splits,
    describe_split,
    read_lines,
)
from transformer_course.errors import CorpusError

MIN_SENTENCES = 200
"""Sentences that a training needs."""
SHARE_HELD_OUT = 10
"""One sentence in so many is held out for dev, and one for test."""
RULE = "the last tenth is for the score, the tenth before it to choose by"
END = re.compile(
    r"(?<=[。！？])(?![。！？」』）])\s*|(?<=[」』])\s*(?=[「『])"
    r"|(?<=[.!?])\s+(?=[^a-z])|(?<=[.!?][\"'”’)])\s+(?=[^a-z])"
)
"""Between two sentences of a line, in Japanese and in Latin script."""
CLOSED = re.compile(r"[.!?:。！？…」』][\"'”’)）]*$")
"""The end of a line that ends a sentence."""


def next_sentences(
    files: tuple[str, ...], sha256: tuple[str, ...] | None
) -> Splits:
    """Each sentence with the one that follows it.

    Args:
        files: the one file, UTF-8: a paragraph a line, or lines of equal
            width with an empty line between paragraphs.
        sha256: its expected digest; None accepts any content.

    Raises:
        CorpusError: two files; it cannot be read, is not UTF-8, has changed
            or is too short.
    """
    parts = [
        [sentence for paragraph in part for sentence in sentences(paragraph)]
        for part in _parts(files, sha256)
    ]
    pairs = (ParallelText(part[:-1], part[1:]) for part in parts)
    return Splits(*pairs, how=_how(files, "sentences", map(len, parts)))


def running_text(
    files: tuple[str, ...], sha256: tuple[str, ...] | None
) -> Splits:
    """Each part as one text, a paragraph a line; every source is empty.

    Args:
        files: as for :func:`next_sentences`.
        sha256: its expected digest; None accepts any content.

    Raises:
        CorpusError: as for :func:`next_sentences`.
    """
    texts = ["\n".join(part) for part in _parts(files, sha256)]
    how = _how(files, "characters", map(len, texts))
    return Splits(*(ParallelText([""], [text]) for text in texts), how=how)


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph, in Japanese or in Latin script."""
    return [part for part in END.split(paragraph) if part]


def paragraphs(lines: list[str]) -> list[str]:
    """Paragraphs of a text, one from each line.

    Where empty lines stand between them, and most lines end within a
    sentence, as in text of a fixed width, the lines between are joined.
    """
    lines = [line.strip() for line in lines]
    filled = [line for line in lines if line]
    within = sum(not CLOSED.search(line) for line in filled)
    if len(filled) == len(lines) or 2 * within < len(filled):
        return filled
    blocks = "\n".join(lines).split("\n\n")
    return [" ".join(b.split("\n")).strip() for b in blocks if b.strip()]


def _parts(
    files: tuple[str, ...], sha256: tuple[str, ...] | None
) -> list[list[str]]:
    """Paragraphs to learn from, to choose by and to score."""
    if len(files) != 1:
        raise CorpusError(
            f"{' and '.join(files)}: this training reads one text: give one "
            "file."
        )
    check_digests(files, sha256)
    found = paragraphs(read_lines(files[0]))
    counts = [len(sentences(paragraph)) for paragraph in found]
    if sum(counts) < MIN_SENTENCES:
        raise CorpusError(
            f"{files[0]} has {sum(counts):,} sentences: expected at least "
            f"{MIN_SENTENCES}, and better some thousands."
        )
    before = list(accumulate(counts, initial=0))
    held_out = sum(counts) / SHARE_HELD_OUT
    first, second = (
        bisect_left(before, sum(counts) - n * held_out) for n in (2, 1)
    )
    parts = [found[:first], found[first:second], found[second:]]
    if not all(parts):
        raise CorpusError(
            f"{files[0]} has {len(found):,} paragraphs, too few to hold two "
            "tenths of them out: let each paragraph begin on a new line."
        )
    return parts


def _how(files: tuple[str, ...], what: str, sizes: Iterable[int]) -> str:
    how = f"{files[0]}: {describe_split(sizes, what, RULE)}"
    log(how)
    return how
