"""References to the sections of the book."""

import json
import re
from functools import cache
from pathlib import Path

BOOK = Path(__file__).parents[2] / "book" / "en"
"""The chapters, in the course's folder; a wheel has none."""


def reference(section: str) -> str:
    """Two lines of text that name a section.

    Args:
        section: page and anchor, as in ``06_masks#the-causal-mask``.
    """
    page, _, anchor = section.partition("#")
    return (
        f'Read again: chapter {page[:2]}, section "{title(section)}"\n'
        f"            {page}.html#{anchor}"
    )


def link(section: str) -> str:
    """A Markdown link to a section, for a notebook in ``my_exercises/``.

    Without the chapters, the reference alone.
    """
    page = section.partition("#")[0]
    if not _headings(page):
        return reference(section)
    heading = _heading(section)
    anchor = heading.replace(" ", "-")  # as Jupyter writes it
    return (
        f"Read again: chapter {page[:2]}, "
        f"[{title(section)}](<../book/en/{page}.ipynb#{anchor}>)"
    )


def title(section: str) -> str:
    """A section's heading, or the words of its anchor without the book."""
    return plain(_heading(section))


def _heading(section: str) -> str:
    page, _, anchor = section.partition("#")
    return _headings(page).get(anchor, anchor.replace("-", " "))


def plain(heading: str) -> str:
    """A heading with its formulas without their markup."""

    def formula(match: re.Match) -> str:
        text = match[1].replace(r"\sqrt", "√")
        return re.sub(r"\\[a-z]+|[{}]", "", text)

    return re.sub(r"\$([^$]*)\$", formula, heading)


@cache
def _headings(page: str) -> dict[str, str]:
    """A chapter's headings, by their anchors."""
    path = BOOK / f"{page}.ipynb"
    if not path.is_file():
        return {}
    cells = json.loads(path.read_text("utf-8"))["cells"]
    text = "\n".join(
        "".join(cell["source"])
        for cell in cells
        if cell["cell_type"] == "markdown"
    )
    found = re.findall(r"^#{1,6} +(.+?) *$", text, re.M)
    return {_anchor(heading): heading for heading in found}


def _anchor(heading: str) -> str:
    """The anchor that Sphinx gives to a heading: it begins with a letter."""
    kept = re.sub(r"['’]|^[^a-z]+", "", heading.lower())
    return re.sub(r"[^a-z0-9]+", "-", kept).strip("-")
