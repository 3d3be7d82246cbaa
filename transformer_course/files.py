"""Atomic file writes, and JSON objects read from files."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file that is complete afterwards, or as it was before.

    Args:
        path: where; its folder must exist.
        content: bytes, or text that becomes UTF-8.

    Raises:
        OSError: it could not be written.
    """
    data = content.encode() if isinstance(content, str) else content
    with writing(path) as file:
        file.write(data)


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file that takes its place at the end.

    If an exception is raised before, the old file stays. A device or a pipe
    is written to directly.
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with fresh.open("wb") as file:
            yield file
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def read_json(path: str | Path) -> dict[str, Any]:
    """The object that a JSON file holds.

    Raises:
        OSError: the file cannot be read.
        ValueError: it holds no object in JSON.
    """
    return parse_json(Path(path).read_bytes())


def parse_json(content: bytes) -> dict[str, Any]:
    """The object in JSON, in UTF-8; a ValueError if it is none."""
    try:
        values = json.loads(content.decode())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(values, dict):
        raise ValueError("not a JSON object")
    return values
