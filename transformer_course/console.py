"""Messages on standard error."""

import os
import shlex
import sys
from pathlib import Path


def log(text: str) -> None:
    """Print a line to standard error."""
    print(text, file=sys.stderr)


def discard_output() -> None:
    """Redirect standard output to nowhere, once its reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def quoted(path: Path) -> str:
    """Quote a path for the shell."""
    return shlex.quote(str(path))
