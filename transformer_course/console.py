"""What is told on standard error, beside the results."""

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LONGEST = 1000
"""Characters of an error or a warning that are shown."""


class Messages:
    """Standard error that nothing fails for, the work least of all: it may
    be closed or full, or whoever read it has gone.

    Args:
        stream: the text file that is written to; None where it is closed.
    """

    def __init__(self, stream: Any):
        self._stream = stream or io.StringIO()

    def __getattr__(self, name: str):
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text, or let it go."""
        with self._unheard():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """See that what was written has left, or let it go."""
        with self._unheard():
            self._stream.flush()

    @contextlib.contextmanager
    def _unheard(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            drop(self._stream)


def drop(stream: Any) -> None:
    """Let what is still in a stream's buffer go nowhere, so that the end of
    the process does not try once more to write it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def tell(text: str) -> None:
    """Print a line to standard error; nowhere, where that is closed.

    Without one, ``print`` would write among the results.
    """
    if sys.stderr is not None:
        print(text, file=sys.stderr)


def quoted(path: Path) -> str:
    """A path as it can be typed behind a command."""
    return shlex.quote(str(path))


def one_line(text: str) -> str:
    """A text that may hold anything, names of files for instance, as one line
    that does nothing to a terminal; what is very long loses its middle."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    if len(shown) <= LONGEST:
        return shown
    half = LONGEST // 2
    return f"{shown[:half]} … {shown[-half:]}"
