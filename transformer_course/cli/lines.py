"""Lines of text that commands read: from a file, a pipe or the keyboard."""

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from transformer_course.cli.options import PROGRAM
from transformer_course.console import tell
from transformer_course.data.text import decode_utf8, read_lines
from transformer_course.errors import CorpusError

CHUNK = 64
"""Lines read at a time from a pipe."""


def chunks(
    file: Path | None, size: int, command: str
) -> Iterator[tuple[int, list[str]]]:
    """Lines a few at a time, with the number of the first; from 1.

    Args:
        file: in UTF-8; standard input when None.
        size: lines at the most.
        command: that reads them.

    Raises:
        CorpusError: the file cannot be read, or it is not UTF-8.
    """
    if file is None and sys.stdin.isatty():
        tell("Type a sentence, then Enter; Ctrl-D on an empty line ends.")
    source = (
        _stdin_lines() if file is None else iter(_file_lines(file, command))
    )
    first = 1
    while lines := list(islice(source, size)):
        yield first, lines
        first += len(lines)


def _file_lines(file: Path, command: str) -> list[str]:
    try:
        return read_lines(file)
    except CorpusError as error:
        if os.path.exists(file):
            raise
        raise CorpusError(
            f"{error} A sentence goes in by a pipe: echo '...' | {PROGRAM} "
            f"{command} MODEL"
        ) from error


def _stdin_lines() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, start=1):
        yield decode_utf8(line, "standard input", number).rstrip("\r\n")


def warn(texts: Iterable[str]) -> None:
    """Tell what a reader should know."""
    for text in texts:
        tell(f"warning: {text}")
