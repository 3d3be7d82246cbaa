"""Output of commands: standard output, or a file."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from transformer_course import files
from transformer_course.errors import CourseError

Put = Callable[[list[str]], None]
"""Writes lines."""


def check_writable(output: Path | None, *read: Path | None) -> None:
    """Find out before the work whether a file can be written at its end.

    Args:
        output: the file; None for standard output.
        read: files and folders that are read, and must not be overwritten.

    Raises:
        CourseError: it cannot be written, or something read would be lost.
    """
    if output is None:
        return
    if output.is_dir() or not output.absolute().parent.is_dir():
        raise CourseError(
            f"{output} cannot be written: name a file in a folder that exists."
        )
    for path in filter(None, read):
        if output.exists() and output.resolve().is_relative_to(path.resolve()):
            raise CourseError(
                f"{output} is a file of {path}, which is read: it would be "
                "lost. Name another file."
            )


@contextlib.contextmanager
def lines_to(path: Path | None) -> Iterator[Put]:
    """Write lines into a file that takes its place at the end, or to
    standard output if ``path`` is None."""
    if path is None:
        yield lambda lines: print(*lines, sep="\n", flush=True)
        return
    with files.writing(path) as file:
        yield lambda lines: file.write(
            "".join(f"{line}\n" for line in lines).encode()
        )
