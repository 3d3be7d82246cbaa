"""Lines of text that commands read: from a file, a pipe or the keyboard."""

import collections
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from transformer_course.cli.options import PROGRAM
from transformer_course.console import one_line, tell
from transformer_course.data.text import lines_of, reading
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
    if file is None and typed():
        tell("Type a sentence, then Enter; Ctrl-D on an empty line ends.")
    source = stdin_lines() if file is None else _file_lines(file, command)
    first = 1
    while lines := list(islice(source, size)):
        yield first, lines
        first += len(lines)


def typed() -> bool:
    """Whether someone sits at the keyboard.

    Raises:
        CorpusError: standard input is closed.
    """
    return _stdin().isatty()


def stdin_lines() -> Iterator[str]:
    """Lines from standard input, as they come.

    Raises:
        CorpusError: it is closed, or not UTF-8.
    """
    return lines_of(_stdin().buffer.readline, "standard input")


def _stdin() -> Any:  # a text file; tests put others there
    if sys.stdin is None:
        raise CorpusError(
            "standard input is closed, and no text was given: name a file, "
            "or send text by a pipe."
        )
    return sys.stdin


def _file_lines(file: Path, command: str) -> Iterator[str]:
    """Lines of a file; what is wrong with one is said before the first."""
    try:
        with reading(file) as source:
            if file.is_file():
                collections.deque(
                    lines_of(source.readline, str(file)), maxlen=0
                )
                source.seek(0)
            yield from lines_of(source.readline, str(file))
    except CorpusError as error:
        if os.path.lexists(file):
            raise
        raise CorpusError(
            f"{error} A sentence goes in by a pipe: echo '...' | {PROGRAM} "
            f"{command} MODEL"
        ) from error


def given_text(text: str) -> str:
    """A text from the command line.

    Raises:
        CorpusError: it is not UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(
            "the text on the command line is not UTF-8: send it by a pipe, "
            "through iconv -f ENCODING -t UTF-8."
        ) from error
    return text


def warn(texts: Iterable[str]) -> None:
    """Tell what a reader should know."""
    for text in texts:
        tell(one_line(f"warning: {text}"))
