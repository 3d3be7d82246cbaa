"""Text of one's own: two files, or one with source and target in each line.

They are checked (languages, spaces, sha256 of an earlier training), and some
pairs are held out (:func:`split`).
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from transformer_course.console import log
from transformer_course.data.text import (
    ParallelText,
    Splits,
    describe_split,
    read_bytes,
    read_columns,
    read_parallel,
)
from transformer_course.errors import CorpusError

MIN_PAIRS = 100
"""Pairs that a training needs: with fewer, less than five are held out."""
MAX_HELD_OUT = 500
"""Largest size of the development set, and of the test set."""
PAIRS_PER_HELD_OUT = 20
"""In a smaller text each of the two takes one pair of so many."""
RULE = (
    "the sha256 of their sentences draws the pairs, and no sentence stands "
    "in two parts"
)
CHINESE = ("zh", "yue", "wuu", "lzh")
"""Languages that are written in Chinese characters."""
UNSPACED = ("ja", *CHINESE, "th", "lo", "km", "my")
"""Languages that are written without spaces between words."""
JAPANESE = re.compile("[ぁ-ヿ㐀-鿿々〆ｦ-ﾟ]")
"""Kana, also of half width, and kanji."""
SPACED_END = re.compile(r"\S [.!?。！？]+$")
"""The end of a sentence whose punctuation is set off by a space."""


def digests(files: Sequence[str]) -> tuple[str, ...]:
    """The sha256 of each file, as sha256sum prints it.

    Of a folder, that of the names and contents of all files below it.

    Raises:
        CorpusError: one cannot be read.
    """
    return tuple(_digest(Path(file)) for file in files)


def _digest(path: Path) -> str:
    if not path.is_dir():
        return hashlib.sha256(read_bytes(path)).hexdigest()
    found = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        if file.is_file():
            found.update(file.relative_to(path).as_posix().encode() + b"\0")
            found.update(hashlib.sha256(read_bytes(file)).digest())
    return found.hexdigest()


def check_digests(
    files: tuple[str, ...],
    sha256: tuple[str, ...] | None,
    setting: str = "sha256",
) -> tuple[str, ...]:
    """Check that files are those that a training began with.

    Args:
        files: paths.
        sha256: expected digests; None accepts any content.
        setting: the field of :class:`~.data.config.DataConfig` that
            ``sha256`` comes from.

    Returns:
        Their digests.

    Raises:
        CorpusError: one has changed, or cannot be read.
    """
    there = digests(files)
    for file, found, expected in zip(
        files, there, sha256 or [None] * len(files), strict=True
    ):
        if expected not in (None, found):
            raise CorpusError(
                f"{file} is not what was learned from: its sha256 is "
                f"{found[:12]}…, expected {expected[:12]}…. Put that back, or "
                "train anew on what is there now with "
                f"--data.{setting.replace('_', '-')} None."
            )
    return there


def load(
    files: tuple[str, ...],
    sha256: tuple[str, ...] | None,
    languages: tuple[str, str],
    spaced: bool,
) -> Splits:
    """Read, check and split files; log the sizes of the parts.

    Args:
        files: source and target, or one file with both.
        sha256: expected digests; None accepts any content.
        languages: of source and target.
        spaced: whether spaces separate words and punctuation.

    Raises:
        CorpusError: as :func:`read` and :func:`split`, or the files are not
            in these languages, or not spaced so.
    """
    text = read(files, sha256)
    raw = ("char" if code in UNSPACED else "13a" for code in languages)
    tokenize = ("none", "none") if spaced else tuple(raw)
    text = ParallelText(text.src, text.tgt, tokenize)
    splits = split(text, " and ".join(files))
    names = (
        files
        if len(files) == 2
        else [f"column {n} of {files[0]}" for n in (1, 2)]
    )
    for side in zip(names, (text.src, text.tgt), languages, strict=True):
        _check_language(*side)
        _check_spaces(*side, spaced)
    log(splits.how)
    return splits


def read(
    files: tuple[str, ...],
    sha256: tuple[str, ...] | None,
    setting: str = "sha256",
) -> ParallelText:
    """Read the pairs of two files, or of one, without blank lines.

    Args:
        files: source and target, or one file with a tab between them.
        sha256: expected digests; None accepts any content.
        setting: the field of :class:`~.data.config.DataConfig` that
            ``sha256`` comes from.

    Raises:
        CorpusError: a file cannot be read, is not UTF-8, is empty, or has
            changed; the two are the same or have different numbers of lines.
    """
    check_digests(files, sha256, setting)
    columns = read_columns(*files) if len(files) == 1 else None
    text = columns or read_parallel(*files)
    if text.src == text.tgt:
        raise CorpusError(
            f"{' and '.join(files)}: source and target are the same text: "
            "give a text, and its translation."
        )
    pairs = [(src.strip(), tgt.strip()) for src, tgt in text]
    filled = [pair for pair in pairs if all(pair)]
    if blank := len(pairs) - len(filled):
        log(f"warning: {blank:,} pairs with a blank line are left out.")
    return ParallelText([src for src, _ in filled], [tgt for _, tgt in filled])


def split(text: ParallelText, name: str) -> Splits:
    """Hold out pairs: the same ones each time, in either direction.

    Pairs that share a sentence, on either side or through other pairs, stay
    together, so that no sentence of dev or test occurs in training.

    Args:
        text: all pairs.
        name: names the text in errors.

    Raises:
        CorpusError: too few pairs, or too many that share sentences.
    """
    size = min(MAX_HELD_OUT, len(text) // PAIRS_PER_HELD_OUT)
    if len(text) < MIN_PAIRS:
        raise CorpusError(
            f"{name} have {len(text):,} pairs that are not blank: expected "
            f"at least {MIN_PAIRS}, since some are held out to choose "
            "checkpoints by and to score."
        )
    train: list[int] = []
    dev: list[int] = []
    test: list[int] = []
    for group in sorted(_groups(text), key=lambda group: _draw(text, group)):
        roomy = (p for p in (test, dev) if len(p) + len(group) <= size)
        next(roomy, train).extend(group)
    if not (dev and train):
        raise CorpusError(
            f"{name} have {len(text):,} pairs, but too many of them share "
            "sentences: no pairs can be held out whose sentences are not in "
            "the training part too. Give more distinct sentences."
        )
    parts = train, dev, test
    how = f"{name}: {describe_split(map(len, parts), 'pairs', RULE)}"
    return Splits(*(text.take(sorted(part)) for part in parts), how)


def _groups(text: ParallelText) -> list[list[int]]:
    """Pairs that share a sentence, directly or through others."""
    parent: dict[str, str] = {}

    def root(sentence: str) -> str:
        while parent.setdefault(sentence, sentence) != sentence:
            parent[sentence] = parent[parent[sentence]]
            sentence = parent[sentence]
        return sentence

    for src, tgt in text:
        parent[root(src)] = root(tgt)
    groups = defaultdict(list)
    for i, src in enumerate(text.src):
        groups[root(src)].append(i)
    return list(groups.values())


def _draw(text: ParallelText, group: list[int]) -> str:
    """A pseudo-random sort key that is the same in each run."""
    first = min(min(text.src[i], text.tgt[i]) for i in group)
    return hashlib.sha256(first.encode()).hexdigest()


def _check_language(file: str, lines: list[str], language: str) -> None:
    """Refuse files in the wrong order, which would train for hours.

    Of languages with codes of three letters nothing is known: some are
    written in kana.
    """
    japanese = _in_most(lines, JAPANESE)
    known = language == "ja" or (len(language) == 2 and language != "zh")
    if known and japanese != (language == "ja"):
        raise CorpusError(
            f"{file} is to be in {language!r}, but most of its lines have "
            f"{'' if japanese else 'no '}Japanese characters: give the source "
            "file first, and name the languages with --data.src and "
            "--data.tgt."
        )


def _check_spaces(
    file: str, lines: list[str], language: str, spaced: bool
) -> None:
    """Refuse text without spaces where they are promised, and warn of text
    that seems tokenised where it should not be."""
    unspaced = language in UNSPACED
    tokenised = _in_most(
        lines, re.compile(r"\S\s") if unspaced else SPACED_END
    )
    if spaced and unspaced and not tokenised:
        raise CorpusError(
            f"most lines of {file} have no space, but data.spaced says that "
            "spaces separate words: leave --data.spaced out, or cut the text "
            "into words."
        )
    if tokenised and not spaced:
        log(
            f"warning: {file} seems to have spaces around words or "
            "punctuation: if both files do, as in the book's corpora, add "
            "--data.spaced."
        )


def _in_most(lines: list[str], pattern: re.Pattern) -> bool:
    return sum(map(bool, map(pattern.search, lines))) > len(lines) / 2
