"""Messages on standard error."""

import io
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

Say = Callable[[str], None]
"""Prints or collects a text."""


def log(text: str) -> None:
    """Print a line to standard error."""
    print(text, file=sys.stderr)


def use_utf8() -> None:
    """Write UTF-8 to both outputs, whatever the locale says.

    The commands read UTF-8, and what they write they are to read.
    """
    for stream, errors in (
        (sys.stdout, "surrogateescape"),  # names of files that are not UTF-8
        (sys.stderr, "backslashreplace"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def discard_output() -> None:
    """Redirect standard output to nowhere, once its reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def quoted(path: Path) -> str:
    """Quote a path for the shell."""
    return shlex.quote(str(path))
