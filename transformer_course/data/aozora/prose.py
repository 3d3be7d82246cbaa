"""The prose of Soseki as training text: the next sentence, running text.

Twenty works of Natsume Soseki from Aozora Bunko. Whole works are held out:
a model is chosen by one that it has not read, and reported on another.
Chapter 11 makes the batches, chapter 16 the experiments.
"""

from collections.abc import Iterable

from transformer_course.data import aozora
from transformer_course.data.aozora import Work
from transformer_course.data.text import ParallelText, Splits

DEV = ("硝子戸の中",)
"""Held out to choose by: essays of 1915."""
TEST = ("門",)
"""Held out to report on: a novel of 1910."""


def next_sentences(works: Iterable[Work] | None = None) -> Splits:
    """Each sentence with the one that follows it in the same chapter.

    Args:
        works: read already; the twenty of the corpus when None.

    Raises:
        CorpusError: the corpus cannot be had.
    """
    return _split(works, aozora.sentence_pairs)


def running_text(works: Iterable[Work] | None = None) -> Splits:
    """Whole chapters as targets, a paragraph a line; every source is empty.

    Args:
        works: read already; the twenty of the corpus when None.

    Raises:
        CorpusError: as for :func:`next_sentences`.
    """
    return _split(works, _chapters)


def _chapters(works: Iterable[Work]) -> list[tuple[str, str]]:
    return [
        ("", "\n".join(chapter.lines))
        for work in works
        for chapter in work.chapters
        if chapter.lines
    ]


def _split(works: Iterable[Work] | None, pairs) -> Splits:
    """The works in three parts, each as pairs of source and target."""
    works = list(aozora.soseki() if works is None else works)
    held_out = {*DEV, *TEST}
    train = [work for work in works if work.title not in held_out]
    dev = [work for work in works if work.title in DEV]
    test = [work for work in works if work.title in TEST]
    return Splits(*(_text(pairs(part)) for part in (train, dev, test)))


def _text(pairs: list[tuple[str, str]]) -> ParallelText:
    return ParallelText([src for src, _ in pairs], [tgt for _, tgt in pairs])
