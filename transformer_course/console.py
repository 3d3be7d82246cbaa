"""Messages on standard error."""

import contextlib
import os
import shlex
import sys
from pathlib import Path

MAX_LENGTH = 1000
"""Characters of an error or a warning that are shown."""


def tell(text: str) -> None:
    """Print a line to standard error."""
    print(text, file=sys.stderr)


def discard_output() -> None:
    """Send what is still to be printed nowhere, once its reader has gone."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def quoted(path: Path) -> str:
    """A path as it can be typed behind a command."""
    return shlex.quote(str(path))


def one_line(text: str) -> str:
    """A text as one printable line; the middle of a very long one is cut."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    if len(shown) <= MAX_LENGTH:
        return shown
    half = MAX_LENGTH // 2
    return f"{shown[:half]} … {shown[-half:]}"
