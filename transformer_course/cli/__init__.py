"""The command line: ``transformer-course train | translate | ...``.

It parses, reads lines and prints; the work is done elsewhere. A user's mistake
gives one line after ``error:`` and exit status 1; wrong usage gives status 2,
and Ctrl-C status 130. A traceback means a fault of the package.
"""

import contextlib
import os
import sys

from transformer_course.console import Messages, one_line, tell
from transformer_course.errors import CourseError, Interrupted

NARROWEST = 20
"""Columns that help is laid out for: with fewer, that takes for ever."""
NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
"""What torch says in a RuntimeError."""


def main(args: list[str] | None = None) -> None:
    """Run the command line."""
    with contextlib.redirect_stderr(Messages(sys.stderr)):
        _main(sys.argv[1:] if args is None else args)


def _main(args: list[str]) -> None:
    try:
        _run(args)
    except Interrupted as stop:
        tell(str(stop))
        sys.exit(130)
    except KeyboardInterrupt:
        tell("stopped")
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe has gone
        return
    except Exception as error:
        if not (text := _told(error)):
            raise
        tell(one_line(f"error: {text}"))
        sys.exit(1)


def _run(args: list[str]) -> None:
    """Imports what is slow here, where Ctrl-C is one line already."""
    import shutil

    if shutil.get_terminal_size().columns < NARROWEST:
        os.environ["COLUMNS"] = str(NARROWEST)
    _check_here()
    from transformer_course.cli.commands import run
    from transformer_course.cli.output import keep_closed_apart, results

    keep_closed_apart()
    with results():
        run(args)


def _check_here() -> None:
    """See that there is a folder to be in: torch cannot be loaded without."""
    try:
        os.getcwd()
    except OSError as error:
        raise CourseError(
            f"the folder that you are in is gone ({error.strerror}): go to "
            "another with cd."
        ) from error


def _told(error: Exception) -> str:
    """What the user can do about an error; "" where it is the package's."""
    if isinstance(error, CourseError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return (
            f"{error.filename or 'a file'}: {error.strerror}. See that the "
            "path is right, may be read and written, and has room."
        )
    if isinstance(error, MemoryError) or any(
        words in str(error) for words in NO_MEMORY
    ):
        return (
            "there is not enough memory for this: take fewer or shorter "
            "sentences, a smaller beam, or a smaller model or batch."
        )
    return ""
