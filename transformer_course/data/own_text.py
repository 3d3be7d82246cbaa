"""Two files of a reader's own: line i of the one translates line i of the
other.

What is known of a named corpus has to be found out here: that the files are
those which were learned from (:func:`digests`), that they are in the
languages said, and which pairs are held out (:func:`parted`).
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import compress
from pathlib import Path

from transformer_course.console import tell
from transformer_course.data.text import (
    ParallelText,
    Splits,
    read_parallel,
    reading,
)
from transformer_course.errors import CorpusError

FEWEST = 100
"""Pairs that a training needs: of fewer, less than five would be held out."""
HELD_OUT = 500
"""Pairs of the development set, and of the test set, at the most."""
SHARE = 20
"""Each of the two is this part of a text that is smaller."""
RULE = (
    "the sha256 of their sentences draws the pairs, and no sentence stands "
    "in two parts"
)
UNSPACED = ("ja", "zh", "th", "lo", "km", "my")
"""Languages that people write without spaces between words."""
JAPANESE = re.compile("[ぁ-ヿ一-鿿]")
"""Kana and kanji."""
APART = re.compile(r"\S [.!?。！？]+$")
"""How a sentence ends whose punctuation stands apart."""


def digests(files: Sequence[str]) -> tuple[str, ...]:
    """The sha256 of each file, as sha256sum prints it.

    Raises:
        CorpusError: one cannot be read, or not twice.
    """
    return tuple(map(_digest, files))


def _digest(name: str) -> str:
    path = Path(name)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise CorpusError(
            f"'{name}' is a pipe or a device, and a training that goes on "
            "reads its text again: write it into a file."
        )
    with reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load(
    files: tuple[str, str],
    sha256: tuple[str, str] | None,
    languages: tuple[str, str],
    spaced: bool,
) -> Splits:
    """Read, check and part two files; what was made of them is told.

    Args:
        files: the one that is read, and the one that is written.
        sha256: what they must have; None where nothing is known of them.
        languages: that they are in.
        spaced: whether words and punctuation stand apart by spaces.

    Raises:
        CorpusError: a file cannot be read, is not UTF-8, is empty or not what
            was learned from; the two are the same or have different numbers
            of lines; they are not in these languages, or not spaced so; there
            are too few pairs.
    """
    text = read(files, sha256)
    tgt = languages[1]
    words = "none" if spaced else "char" if tgt in UNSPACED else "13a"
    text = ParallelText(text.src, text.tgt, words)
    splits = parted(text, " and ".join(files))
    for side in zip(files, (text.src, text.tgt), languages, strict=True):
        _check_language(*side)
        _check_spaces(*side, spaced)
    tell(splits.how)
    return splits


def read(
    files: tuple[str, str],
    sha256: tuple[str, str] | None,
    setting: str = "sha256",
) -> ParallelText:
    """The pairs of two files, without blank lines; how many is told.

    Args:
        files: the one that is read, and the one that is written.
        sha256: what they must have; None where nothing is known of them.
        setting: of :class:`~.training.config.DataConfig`, that
            ``sha256`` comes from.

    Raises:
        CorpusError: a file cannot be read, is not UTF-8, is empty or not what
            was learned from; the two are the same or have different numbers
            of lines.
    """
    if sha256 is not None:
        _check_unchanged(files, sha256, setting)
    text = read_parallel(*files)
    if text.src == text.tgt:
        raise CorpusError(
            f"{' and '.join(files)} hold the same text: give a file, and one "
            "with its translation."
        )
    return _without_blanks(text, files)


def parted(text: ParallelText, name: str) -> Splits:
    """Hold out pairs: the same ones each time, in either direction.

    Pairs that share a sentence, on either side or through other pairs, stay
    together, so that nothing that is judged was read or written in training.

    Args:
        text: all pairs.
        name: what to call them.

    Raises:
        CorpusError: too few pairs, or too many that hang together.
    """
    size = min(HELD_OUT, len(text) // SHARE)
    if len(text) < FEWEST:
        raise CorpusError(
            f"{name} have {len(text):,} pairs that are not blank: expected "
            f"at least {FEWEST}, since some are held out to choose "
            "checkpoints by and to score."
        )
    train: list[int] = []
    dev: list[int] = []
    test: list[int] = []
    for group in sorted(_groups(text), key=lambda group: _place(text, group)):
        roomy = (p for p in (test, dev) if len(p) + len(group) <= size)
        next(roomy, train).extend(group)
    if not (dev and train):
        raise CorpusError(
            f"{name} have {len(text):,} pairs, but too many of them share "
            "sentences: none can be held out that were not learned. Give "
            "more different sentences."
        )
    how = (
        f"{name}: {len(train):,} pairs to learn from, {len(dev):,} to choose "
        f"checkpoints by (dev), {len(test):,} to score (test); {RULE}"
    )
    return Splits(*(text.take(sorted(p)) for p in (train, dev, test)), how)


def _groups(text: ParallelText) -> list[list[int]]:
    """Pairs that share a sentence, directly or through others."""
    parent: dict[str, str] = {}

    def leader(sentence: str) -> str:
        while parent.setdefault(sentence, sentence) != sentence:
            parent[sentence] = parent[parent[sentence]]
            sentence = parent[sentence]
        return sentence

    for src, tgt in text:
        parent[leader(src)] = leader(tgt)
    groups = defaultdict(list)
    for i, src in enumerate(text.src):
        groups[leader(src)].append(i)
    return list(groups.values())


def _place(text: ParallelText, group: list[int]) -> str:
    """By what groups are ordered: chance, but the same chance each time."""
    first = min(min(text.src[i], text.tgt[i]) for i in group)
    return hashlib.sha256(first.encode()).hexdigest()


def _check_unchanged(
    files: tuple[str, str], sha256: tuple[str, str], setting: str
) -> None:
    found = digests(files)
    for file, now, before in zip(files, found, sha256, strict=True):
        if now != before:
            raise CorpusError(
                f"{file} is not the text that was learned from: its sha256 "
                f"is {now[:12]}…, expected {before[:12]}…. Put that file "
                "back; a new training on the text as it is now takes "
                f"--data.{setting.replace('_', '-')} None."
            )


def _without_blanks(
    text: ParallelText, files: tuple[str, str]
) -> ParallelText:
    """The pairs with text on both sides, without space around it."""
    sides = [[s.strip() for s in side] for side in (text.src, text.tgt)]
    kept = [all(pair) for pair in zip(*sides, strict=True)]
    if not all(kept):
        counts = (
            f"{side.count(''):,} of {file}"
            for file, side in zip(files, sides, strict=True)
        )
        tell(
            f"warning: blank lines: {' and '.join(counts)}; the "
            f"{kept.count(False):,} pairs that they are in are left out."
        )
    return ParallelText(*(list(compress(side, kept)) for side in sides))


def _check_language(file: str, lines: list[str], language: str) -> None:
    """See that Japanese is where it is said to be: two files in the wrong
    order would train for hours."""
    japanese = _most(lines, JAPANESE)
    if language != "zh" and japanese != (language == "ja"):
        raise CorpusError(
            f"{file} is to be in {language!r}, but most of its lines have "
            f"{'' if japanese else 'no '}Japanese characters: give the file "
            "that is read first, and say the languages by --data.src and "
            "--data.tgt."
        )


def _check_spaces(
    file: str, lines: list[str], language: str, spaced: bool
) -> None:
    """See that words stand apart where they are said to, and only there."""
    unspaced = language in UNSPACED
    apart = _most(lines, re.compile(r"\S\s") if unspaced else APART)
    if spaced and unspaced and not apart:
        raise CorpusError(
            f"most lines of {file} have no space, but data.spaced says that "
            "words stand apart: leave --data.spaced out, or cut the text "
            "into words."
        )
    if apart and not spaced:
        tell(
            f"warning: words or punctuation seem to stand apart in {file}: "
            "if they do so in both files, as in the book's corpora, add "
            "--data.spaced."
        )


def _most(lines: list[str], pattern: re.Pattern) -> bool:
    return sum(map(bool, map(pattern.search, lines))) > len(lines) / 2
