"""Atomic file writes, JSON objects read from files, packages' files."""

import importlib.metadata
import json
from pathlib import Path
from typing import Any

from transformer_course.errors import CourseError


def write_atomic(path: str | Path, content: str | bytes) -> None:
    """Write a file that is complete afterwards, or as it was before.

    Args:
        path: in a folder that exists.
        content: bytes, or text that becomes UTF-8.

    Raises:
        OSError: it could not be written.
    """
    path = Path(path)
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_bytes(
            content.encode() if isinstance(content, str) else content
        )
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def encodable(text: str) -> str:
    """Text with ``?`` for what no file in UTF-8 holds: half a character."""
    return text.encode("utf-8", "replace").decode()


def read_json(path: str | Path) -> dict[str, Any]:
    """Read the object that a JSON file holds.

    Raises:
        OSError: the file cannot be read.
        ValueError: it holds no object in JSON.
    """
    values = json.loads(Path(path).read_text("utf-8"))
    if not isinstance(values, dict):
        raise ValueError("not a JSON object")
    return values


def of_package(package: str, advice: str) -> list[Path]:
    """The files of an installed package.

    Raises:
        CourseError: it is not installed; ``advice`` says how it would be.
    """
    try:
        found = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise CourseError(
            f"the package {package} is not installed: {advice}"
        ) from error
    return [Path(path.locate()) for path in found]
