"""The sections of the chapters: their titles and addresses."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat
from docutils.nodes import make_id

from tools.refresh_outputs import ROOT

BOOK = ROOT / "book/en"


@dataclass(frozen=True)
class Heading:
    """A section of a chapter."""

    title: str
    """In Markdown, as it stands in the notebook."""
    anchor: str
    """Its id on the built page."""
    slug: str
    """Its name in a Markdown link, ``page.ipynb#slug``."""
    parent: str
    """The anchor of the section that it is a part of; else its own."""


def _slug(title: str) -> str:
    """Slug of a title, as MyST makes it: without formulas."""
    plain = re.sub(r"\$[^$]*\$", "", title.strip().lower())
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def _anchor(title: str) -> str:
    """Anchor of a title, as Sphinx makes it."""
    return make_id(re.sub(r"['’]", "", title))


@cache
def chapter_files() -> dict[str, Path]:
    """The notebook of each chapter, by its number."""
    return {
        path.name[:2]: path for path in sorted(BOOK.glob("[0-9][0-9]_*.ipynb"))
    }


@cache
def headings(notebook: Path) -> dict[str, Heading]:
    """The sections of a chapter in their order, by their anchors."""
    cells = nbformat.read(notebook, as_version=4).cells
    prose = "\n\n".join(c.source for c in cells if c.cell_type == "markdown")
    prose = re.sub(r"^(`{3,}).*?^\1", "", prose, flags=re.S | re.M)
    found = {}
    parent = ""
    for marks, title in re.findall(r"^(#{2,4}) +(.+?) *$", prose, re.M):
        anchor = _anchor(title)
        parent = anchor if marks == "##" else parent
        found[anchor] = Heading(title, anchor, _slug(title), parent)
    return found
