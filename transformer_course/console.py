"""Messages on standard error, and text that is safe on a terminal."""

import io
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

Say = Callable[[str], None]
"""Prints or collects a text."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def visible(text: str, keep: str = "") -> str:
    r"""Text with its control characters as escapes, such as ``\x1b``.

    Printed raw, what a model or a file holds could command the terminal, or
    break a line in two.

    Args:
        text: any text.
        keep: control characters that stay as they are.
    """

    def escape(found: re.Match) -> str:
        if found[0] in keep:
            return found[0]
        return found[0].encode("unicode_escape").decode()

    return CONTROL.sub(escape, text)


def log(text: str) -> None:
    """Print a line to standard error."""
    print(visible(text, "\n\t"), file=sys.stderr)


def use_utf8() -> None:
    """Read and write UTF-8, whatever the locale says.

    What the commands write they are to read.
    """
    for stream, errors in (
        (sys.stdin, "surrogateescape"),
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
