"""Lines of text that commands read: from a file, a pipe or the keyboard."""

import collections
import contextlib
import os
import select
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from transformer_course.cli.options import PROGRAM
from transformer_course.console import one_line, tell
from transformer_course.data.text import LONGEST_LINE, lines_of, reading
from transformer_course.errors import CorpusError

CHUNK = 64
"""Lines read at a time from a pipe."""
PAUSE = 0.01
"""Seconds without a new line after which those that have come are answered."""


class Arriving:
    """Lines, and whether the next one has come already.

    Args:
        source: what bytes come from: a file or a pipe.
        name: what to call it in an error.
    """

    def __init__(self, source: Any, name: str):
        self._source, self._name = source, name
        self._held, self._ended = b"", False

    def __iter__(self) -> Iterator[str]:
        """The lines; raises a CorpusError as :func:`lines_of` does."""
        return lines_of(self._readline, self._name)

    def has_next(self) -> bool:
        """Whether the next line, or the end, is there without waiting."""
        while not self._has_line(LONGEST_LINE) and not self._ended:
            if not _is_readable(self._source):
                return False
            self._read()
        return True

    def _readline(self, limit: int) -> bytes:
        while not self._has_line(limit) and not self._ended:
            self._read()
        end = min(self._held.find(b"\n") + 1 or len(self._held), limit)
        line, self._held = self._held[:end], self._held[end:]
        return line

    def _has_line(self, limit: int) -> bool:
        """Whether a line is there, or more than can be one."""
        return b"\n" in self._held or len(self._held) > limit

    def _read(self) -> None:
        """Take what has come; wait if nothing has."""
        more = self._source.read1(2**16)
        self._held += more
        self._ended = not more


def _is_readable(source: Any) -> bool:
    """Whether something comes within the pause; of what cannot tell, yes."""
    try:
        return bool(select.select([source], [], [], PAUSE)[0])
    except (OSError, ValueError):  # on Windows of all but sockets
        return True


def chunks(
    file: Path | None, size: int, command: str
) -> Iterator[tuple[int, list[str]]]:
    """Lines a few at a time, with the number of the first; from 1.

    Those of a pipe come as soon as no more are waiting, so that whoever
    writes one line and waits for its answer gets it.

    Args:
        file: in UTF-8; standard input when None.
        size: lines at the most.
        command: that reads them.

    Raises:
        CorpusError: the file cannot be read, or it is not UTF-8.
    """
    if file is None and typed():
        tell("Type a sentence, then Enter; Ctrl-D on an empty line ends.")
    first = 1
    with _opened(file, command) as arriving:
        source = iter(arriving)
        for line in source:
            lines = [line]
            while len(lines) < size and arriving.has_next():
                if (line := next(source, None)) is None:
                    break
                lines.append(line)
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


@contextlib.contextmanager
def _opened(file: Path | None, command: str) -> Iterator[Arriving]:
    """Standard input, or a file; what is wrong with one is said before its
    first line."""
    if file is None:
        yield Arriving(_stdin().buffer, "standard input")
        return
    try:
        with reading(file) as source:
            if file.is_file():
                collections.deque(
                    lines_of(source.readline, str(file)), maxlen=0
                )
                source.seek(0)
            yield Arriving(source, str(file))
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
