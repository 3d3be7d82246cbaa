"""Lines that commands read and write."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from transformer_course import files
from transformer_course.cli.options import PROGRAM
from transformer_course.console import log, visible
from transformer_course.data.text import decode_lines, read_lines
from transformer_course.errors import CorpusError, CourseError

CHUNK = 64
"""Lines that are computed together."""
BLOCK = 2**16
"""Bytes read at a time from a pipe."""


def chunks(
    file: Path | None, size: int, command: str, prompt: str = ""
) -> Iterator[tuple[int, list[str]]]:
    """Read lines a few at a time, with the number of the first; from 1.

    Lines of a pipe come as soon as no more are waiting, so that whoever
    writes one line and waits for its answer gets it.

    Args:
        file: in UTF-8; standard input when None.
        size: lines at the most.
        command: the command that reads them.
        prompt: shown to someone who types, before each line.

    Raises:
        CorpusError: the file cannot be read, or it is not UTF-8.
    """
    first = 1
    given = _stdin_lines(prompt) if file is None else _file(file, command)
    for lines in given:
        for start in range(0, len(lines), size):
            yield first + start, lines[start : start + size]
        first += len(lines)


def typed() -> bool:
    """Whether standard input is a keyboard."""
    return sys.stdin.isatty()


def piped() -> str:
    """The text that a pipe or a file brings to standard input, if one does.

    Raises:
        CorpusError: it is not UTF-8.
    """
    if sys.stdin is None or typed():
        return ""
    return "\n".join(decode_lines(sys.stdin.buffer.read(), "standard input"))


def _file(file: Path, command: str) -> Iterator[list[str]]:
    try:
        yield read_lines(file)
    except CorpusError as error:
        if file.exists():
            raise
        raise CorpusError(
            f"{error} A sentence goes in by a pipe: echo '...' | {PROGRAM} "
            f"{command} MODEL"
        ) from error


def _stdin_lines(prompt: str) -> Iterator[list[str]]:
    """The lines that have arrived, as often as there are new ones."""
    if typed():
        log("Type a sentence, then Enter; Ctrl-D on an empty line ends.")
    first = 1
    for block in _typed_blocks(prompt) if typed() else _stdin_blocks():
        lines = decode_lines(block, "standard input", first)
        yield lines
        first += len(lines)


def _typed_blocks(prompt: str) -> Iterator[bytes]:
    """Lines that can be edited, of any length.

    A terminal by itself passes on arrow keys, and 4,095 bytes of a line.
    """
    import readline  # noqa: F401, since input uses it once it is imported

    with suppress(EOFError):
        while True:
            line = input(prompt) + "\n"
            yield line.encode("utf-8", "surrogateescape")


def _stdin_blocks() -> Iterator[bytes]:
    rest = b""
    while block := sys.stdin.buffer.read1(BLOCK):
        complete, end, rest = (rest + block).rpartition(b"\n")
        if end:
            yield complete + end
    if rest:
        yield rest


def write(text: str, keep: str = "") -> None:
    """Write a part of a line: see :func:`~.console.visible`."""
    print(visible(text, keep), end="", flush=True)


def warn(texts: Iterable[str]) -> None:
    """Log warnings."""
    for text in texts:
        log(f"warning: {text}")


def check_writable(output: Path | None, *inputs: Path | None) -> None:
    """Raise a CourseError unless a file can be written after the work.

    Args:
        output: the file; None for standard output.
        inputs: files and folders that must not be overwritten.
    """
    if output is None:
        return
    if not output.absolute().parent.is_dir() or (
        output.exists() and not output.is_file()
    ):
        raise CourseError(
            f"{output} cannot be written: name a file in a folder that exists."
        )
    for path in filter(None, inputs):
        if output.exists() and output.resolve().is_relative_to(path.resolve()):
            raise CourseError(
                f"{output} is a file of {path}, which this command reads, and "
                "would be overwritten. Name another file."
            )


def write_lines(output: Path | None, chunks: Iterable[list[str]]) -> None:
    """Write lines as they come to standard output, or all to a file.

    A control character in a line, but a tab, is written as an escape.
    """
    written = (
        "".join(visible(line, "\t") + "\n" for line in lines)
        for lines in chunks
    )
    if output is None:
        for text in written:
            print(text, end="", flush=True)
    else:
        files.write_atomic(output, "".join(written))
