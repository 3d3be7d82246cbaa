"""The figures of the chapters as files with names that say what they show."""

import base64
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from PIL import Image

from tools.lectures.drawing import DRAWINGS, draw
from tools.lectures.headings import chapter_files
from tools.refresh_outputs import client_of

KINDS = {"image/png": "png", "image/svg+xml": "svg"}
DRAW = "%config InlineBackend.figure_formats = ['png', 'svg']"
"""A cell behind the imports, whose style has chosen PNG alone."""


@dataclass(frozen=True)
class Figure:
    """A figure of a chapter."""

    name: str
    """As prose refers to it, such as ``fig-04-by-hand``."""
    stem: str
    """Its file's name without the kind, such as ``04-by-hand``."""
    pictures: dict[str, bytes]
    """By kind: png, and svg where the chapter was drawn anew; a drawing has
    no png."""

    @property
    def file(self) -> str:
        """The file that pages show."""
        return f"{self.stem}.{next(iter(self.pictures))}"


def stem_of(chapter: str, name: str) -> str:
    """A file's name for a figure: its chapter first, so that they sort."""
    words = re.sub(rf"^fig-(?:{chapter}-)?|-figure$", "", name)
    return f"{chapter}-{words}"


def figures_of(chapter: str, notebook: NotebookNode) -> Iterator[Figure]:
    """The figures of a notebook, from its outputs."""
    for cell in notebook.cells:
        about = cell.metadata.get("mystnb", {}).get("figure", {})
        for output in cell.get("outputs", []) if about else []:
            if pictures := pictures_of(output.get("data", {})):
                name = about["name"]
                yield Figure(name, stem_of(chapter, name), pictures)


def pictures_of(data: dict[str, str]) -> dict[str, bytes]:
    """The pictures of an output, as files hold them."""
    found = {}
    for kind, suffix in KINDS.items():
        if kind in data:
            raw = data[kind].encode()
            found[suffix] = base64.b64decode(raw) if suffix == "png" else raw
    return found


def drawn_anew(path: Path) -> NotebookNode:
    """A notebook that has been run once more, with each figure as SVG too."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(2, new_code_cell(DRAW))
    client_of(notebook, path.parent).execute()
    return notebook


def write_figures(
    folder: Path, svg: Collection[str] = ()
) -> dict[str, Figure]:
    """Write all figures, those of some chapters as SVG too; by name."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = [
        Figure(name, name, {"svg": draw(drawing).encode()})
        for name, drawing in DRAWINGS.items()
    ]
    for chapter, path in chapter_files().items():
        stored = nbformat.read(path, as_version=4)
        notebook = drawn_anew(path) if chapter in svg else stored
        figures += figures_of(chapter, notebook)
    for figure in figures:
        for suffix, picture in figure.pictures.items():
            (folder / f"{figure.stem}.{suffix}").write_bytes(picture)
    return {figure.name: figure for figure in figures}


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height of a picture, in pixels."""
    if picture.suffix != ".svg":
        return Image.open(picture).size
    head = picture.read_text("utf-8")[:1000]
    width, height = re.search(r'width="(\d+)" height="(\d+)"', head).groups()
    return int(width), int(height)
