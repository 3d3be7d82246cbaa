"""Notebooks, read without trusting them.

Of a cell only this is taken: its kind, its name, its source.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.grading.submissions import SIZE_LIMIT
from tools.grading.texts import encodable, one_line
from transformer_course.errors import CourseError


class Unreadable(CourseError):
    """A file that is no notebook."""


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook.

    Args:
        kind: ``code``, ``markdown`` or ``raw``.
        name: nbgrader's name of it, or else its id, which is the same.
        source: what stands in it.
        files: whether pictures or other files are attached.
    """

    kind: str
    name: str
    source: str
    files: bool = False


def contents(path: Path) -> bytes:
    """The bytes of a file; never more than a notebook has.

    Raises:
        Unreadable: it is too large, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            found = file.read(SIZE_LIMIT + 1)
            size = path.stat().st_size
    except OSError as error:
        raise Unreadable(
            f"{path.name} cannot be read: {error.strerror or error}"
        ) from error
    if len(found) > SIZE_LIMIT:
        raise Unreadable(
            f"{path.name} has {size:,} bytes, more than {SIZE_LIMIT:,}: "
            "clear its outputs"
        )
    return found


def read_cells(path: Path) -> list[Cell]:
    """Read what a student handed in.

    Raises:
        Unreadable: it is no notebook, or far too large for one.
    """
    if path.suffix != ".ipynb":
        raise Unreadable(
            f"{path.name} is not a notebook: a file .ipynb is expected"
        )
    text = contents(path)
    try:
        cells = cells_of(json.loads(text.decode("utf-8-sig")))
    except Exception as error:
        reason = f"{type(error).__name__} {one_line(str(error), 100)}"
        raise Unreadable(
            f"{path.name} cannot be read as a notebook: {reason.rstrip()}"
        ) from error
    if not cells:
        raise Unreadable(f"{path.name} is a notebook without a cell")
    return cells


def cells_of(notebook: Mapping[str, Any]) -> list[Cell]:
    """The cells of a notebook; one that only has an odd name has none.

    Raises:
        Exception: of many kinds, if it is no notebook of format 4.
    """
    if notebook["nbformat"] != 4:
        raise ValueError(
            f"it has format {notebook['nbformat']!r}: open it in JupyterLab "
            "and save it"
        )
    return [_cell(cell) for cell in notebook.get("cells", [])]


def _cell(cell: Mapping[str, Any]) -> Cell:
    kind, source = cell["cell_type"], cell["source"]
    if kind not in ("code", "markdown", "raw"):
        raise ValueError(f"there is no cell of the type {kind!r}")
    text = source if isinstance(source, str) else "".join(source)
    lines = encodable(text).replace("\r\n", "\n").replace("\r", "\n")
    return Cell(kind, name_of(cell), lines, bool(cell.get("attachments")))


def name_of(cell: Mapping[str, Any]) -> str:
    """nbgrader's name of a cell, or else its id, or else none."""
    metadata = cell.get("metadata")
    named = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = named.get("grade_id") if isinstance(named, dict) else None
    for found in (name, cell.get("id")):
        if isinstance(found, str) and found:
            return encodable(found)
    return ""
