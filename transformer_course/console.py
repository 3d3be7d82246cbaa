"""What is told on standard error, beside the results."""

import shlex
import sys
from pathlib import Path

LONGEST = 1000
"""Characters of an error or a warning that are shown."""


def tell(text: str) -> None:
    """Print a line to standard error; nowhere, where that cannot be.

    Without one, ``print`` would write among the results.
    """
    try:
        if sys.stderr is not None:
            print(text, file=sys.stderr)
    except OSError:  # it is full, or whoever read it has gone
        return


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
