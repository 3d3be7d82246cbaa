"""Parallel text: reading, checks, and the three splits.

Where the text comes from is for the loaders, and the table of them in
:mod:`~.data.corpora`. Chapter 11 goes from here to batches.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from transformer_course.errors import CorpusError

LANGUAGES = ("en", "ja")
Part = TypeVar("Part")
"""What a corpus consists of: pairs, labelled texts or images, works."""
LINE_END = re.compile(rb"\r*\n")
"""Of Unix, and of Windows (even if converted twice)."""
OLD_END = re.compile(rb"\r")
"""Of old Macs: in a text that has others, it is no end."""
SEVEN_BITS = re.compile(rb"\x1b\$[()]?[@-D]")
"""Begins Japanese, Korean or Chinese in an encoding of seven bits."""


@dataclass(frozen=True)
class ParallelText:
    """Sentences and their translations, line by line.

    Raises:
        CorpusError: the two sides have different numbers of sentences.
    """

    src: list[str]
    """The sentences to read."""
    tgt: list[str]
    """The sentences to write, in the same order."""
    tokenize: tuple[str, str] = ("none", "none")
    """sacreBLEU's tokenisers for ``src`` and ``tgt``; ``"none"`` splits at
    spaces."""

    def __post_init__(self):
        if len(self.src) != len(self.tgt):
            raise CorpusError(
                f"{len(self.src):,} source sentences but {len(self.tgt):,} "
                "target sentences: each needs exactly one translation."
            )

    def __len__(self) -> int:
        return len(self.src)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.src, self.tgt, strict=True)

    def swap(self) -> "ParallelText":
        """The pairs in the opposite direction."""
        return ParallelText(self.tgt, self.src, self.tokenize[::-1])

    def take(self, indices: Iterable[int]) -> "ParallelText":
        """The pairs at ``indices``, for instance those of :func:`unseen`."""
        indices = list(indices)
        src, tgt = ([s[i] for i in indices] for s in (self.src, self.tgt))
        return ParallelText(src, tgt, self.tokenize)


@dataclass(frozen=True)
class Splits(Generic[Part]):
    """A corpus in the three parts that a training needs."""

    train: Part
    """Training data."""
    dev: Part
    """Development data: chooses the checkpoint; no training on it."""
    test: Part
    """Test data: reported scores only."""
    how: str = ""
    """Description of the split, in a line; "" for the corpus's own splits."""

    def swap(self) -> "Splits":
        """The splits of pairs in the opposite direction."""
        parts = (self.train, self.dev, self.test)
        return Splits(*(part.swap() for part in parts), self.how)


def describe_split(sizes: Iterable[int], what: str, rule: str) -> str:
    """How a corpus was split, in a line.

    Args:
        sizes: of the training, development and test set.
        what: is counted: "pairs", "texts".
        rule: decided what is held out.
    """
    train, dev, test = sizes
    return (
        f"{train:,} {what} to learn from, {dev:,} to choose checkpoints by "
        f"(dev), {test:,} to score (test); {rule}"
    )


def unseen(test: ParallelText, train: ParallelText) -> list[int]:
    """Indices of ``test`` whose source side does not occur in ``train``.

    A sentence that was read in training may have been learned by heart, so
    scores are reported on all sentences and on these.
    """
    seen = set(train.src)
    return [i for i, sentence in enumerate(test.src) if sentence not in seen]


def read_lines(path: str | Path) -> list[str]:
    """Read the lines of a UTF-8 text, without their line ends.

    LF or CR LF ends a line, and CR where there is no LF; nothing else. A
    byte-order mark at the start is dropped, and a character of several code
    points becomes one where there is one (NFC); everything else is kept as it
    stands.

    Raises:
        CorpusError: the file cannot be read, or is not UTF-8.
    """
    return decode_lines(read_bytes(path), str(path))


def read_bytes(path: str | Path) -> bytes:
    """Read a text file as bytes.

    Raises:
        CorpusError: it cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CorpusError(
            f"'{path}' cannot be read ({error.strerror}): give the path of a "
            "text file, UTF-8, one sentence a line."
        ) from error


def decode_lines(content: bytes, name: str, first: int = 1) -> list[str]:
    """Decode lines of UTF-8, as :func:`read_lines` does.

    Args:
        content: complete lines.
        name: where they come from, for errors.
        first: the number of the first line.

    Raises:
        CorpusError: it is not UTF-8.
    """
    if SEVEN_BITS.search(content) or b"\0" in content:
        raise CorpusError(
            f"{name} is not UTF-8: it has bytes that are in no UTF-8 text, as "
            "ISO-2022-JP and UTF-16 have. Save it as plain text in UTF-8."
        )
    if first == 1:
        content = content.removeprefix(codecs.BOM_UTF8)
    lines = (LINE_END if b"\n" in content else OLD_END).split(content)
    if not lines[-1]:
        lines.pop()
    return [
        _decoded(line, name, number)
        for number, line in enumerate(lines, first)
    ]


def _decoded(line: bytes, name: str, number: int) -> str:
    try:
        return unicodedata.normalize("NFC", line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{name} is not UTF-8: line {number:,}, byte {error.start + 1:,} "
            f"is 0x{line[error.start]:02x}. Convert it first with iconv -f "
            "ENCODING -t UTF-8, where ENCODING is often CP932 or EUC-JP for "
            "Japanese, CP1252 for English, UTF-16 for both; or unpack it."
        ) from error


def read_columns(path: str | Path) -> ParallelText:
    """Read a file whose lines hold a source, a tab and a target.

    Raises:
        CorpusError: the file cannot be read, is not UTF-8 or is empty, or a
            line has no tab, or more than one.
    """
    rows = [line.split("\t") for line in read_lines(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise CorpusError(
                f"line {number:,} of {path} has {len(row)} columns: expected "
                "a source, a tab and a target in each line (cut -f1,2 takes "
                "the first two columns), or a file for each side."
            )
    if not rows:
        raise CorpusError(f"{path} is empty: expected one pair a line.")
    return ParallelText([src for src, _ in rows], [tgt for _, tgt in rows])


def read_parallel(src_path: str | Path, tgt_path: str | Path) -> ParallelText:
    """Read two files in which line ``i`` of one translates line ``i``.

    Raises:
        CorpusError: a file cannot be read, is not UTF-8 or is empty, or the
            two have different numbers of lines.
    """
    src, tgt = read_lines(src_path), read_lines(tgt_path)
    if len(src) != len(tgt):
        raise CorpusError(
            f"{src_path} has {len(src):,} lines but {tgt_path} has "
            f"{len(tgt):,}: line i of one must translate line i of the other."
        )
    if not src:
        raise CorpusError(
            f"{src_path} and {tgt_path} are empty: expected one sentence a "
            "line."
        )
    return ParallelText(src, tgt)
