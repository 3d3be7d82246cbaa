"""What commands write: standard output, and files that are whole."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from transformer_course import files
from transformer_course.console import drop
from transformer_course.errors import CourseError

Put = Callable[[list[str]], None]
"""Is handed lines."""


class Results:
    """Standard output whose failures are one line each.

    Args:
        stream: the text file that is written to; tests put others there.
    """

    def __init__(self, stream: Any):
        self._stream = stream

    def __getattr__(self, name: str):
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text.

        Raises:
            CourseError: it could not be written.
            BrokenPipeError: nobody reads any more.
        """
        with self._told():
            return self._stream.write(text)

    def flush(self) -> None:
        """See that what was written has left; raises as :meth:`write`."""
        with self._told():
            self._stream.flush()

    def isatty(self) -> bool:
        """Whether someone looks at a terminal."""
        return self._stream.isatty()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            drop(self._stream)
            raise
        except OSError as error:
            drop(self._stream)
            raise CourseError(
                f"standard output cannot be written ({error.strerror}): what "
                "came last is lost. Send it where there is room."
            ) from error
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            raise CourseError(
                f"standard output is in {error.encoding}, which has no "
                f"{character!r}: set PYTHONIOENCODING=utf-8, or take a "
                "locale of UTF-8."
            ) from error


@contextlib.contextmanager
def results() -> Iterator[None]:
    """Meanwhile standard output is :class:`Results`, and all has left it at
    the end.

    Raises:
        CourseError: standard output is closed, or cannot be written.
    """
    if sys.stdout is None:
        raise CourseError(
            "standard output is closed: let it be a file, a pipe or /dev/null."
        )
    with contextlib.redirect_stdout(Results(sys.stdout)):
        try:
            yield
        finally:
            sys.stdout.flush()


def keep_closed_apart() -> None:
    """Take up the numbers 0 to 2 where they are closed, or the next file
    that is opened would get one, and be written into by whoever prints."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def check_writable(output: Path | None, *read: Path | None) -> None:
    """Find out before the work, not after it; keep what is read.

    Args:
        output: the file to be written; nothing is looked at when None.
        read: files and folders that it must not be a part of.

    Raises:
        CourseError: it cannot be written, or something that is read would be
            lost.
    """
    if output is None:
        return
    try:
        files.check_writable(output)
        for path in filter(None, read):
            if output.is_file() and _is_in(output, path):
                raise CourseError(
                    f"{output} is a file of {path}, which is read: it would "
                    "be lost. Name another file."
                )
    except OSError as error:
        raise CourseError(
            f"{output} cannot be written ({error.strerror}): name a file in a "
            "folder that is there and may be written."
        ) from error


def _is_in(output: Path, path: Path) -> bool:
    return output.resolve().is_relative_to(path.resolve())


@contextlib.contextmanager
def lines_to(path: Path | None) -> Iterator[Put]:
    """Where lines go: into a file that is whole at the end, or as it was;
    to standard output when None.

    Raises:
        CourseError: they could not be written.
    """
    if path is None:
        yield lambda lines: print(*lines, sep="\n", flush=True)
        return
    with _told(path), files.writing(path) as file:
        yield lambda lines: file.write(_joined(lines).encode())


def write(path: Path, text: str) -> None:
    """Write a file that is either whole or as it was.

    Raises:
        CourseError: it could not be written.
    """
    with _told(path):
        files.write_whole(path, text)


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CourseError(
            f"{path} could not be written ({error.strerror}); what stood "
            "there before is untouched. Name another file."
        ) from error
