"""The section of the book that teaches what a verdict speaks of."""

import json
import re
from functools import cache
from pathlib import Path

BOOK = Path(__file__).parents[2] / "book" / "en"
"""The chapters, where the package stands in the course's folder."""


def told(section: str) -> str:
    """A line that says what to read again.

    Args:
        section: page and anchor, as in ``06_masks#the-future``.
    """
    page, _, anchor = section.partition("#")
    return (
        f'Read again: chapter {page[:2]}, section "{title(section)}"\n'
        f"            {page}.html#{anchor}"
    )


def linked(section: str) -> str:
    """The same for a notebook in ``my_exercises/``: a link, in Markdown."""
    page = section.partition("#")[0]
    place = title(section).replace(" ", "-")  # Jupyter's name for it
    return (
        f"Read again: chapter {page[:2]}, "
        f"[{title(section)}](<../book/en/{page}.ipynb#{place}>)"
    )


def title(section: str) -> str:
    """A section's heading; the words of its anchor, where there is no book."""
    page, _, anchor = section.partition("#")
    return _headings(page).get(anchor, anchor.replace("-", " "))


@cache
def _headings(page: str) -> dict[str, str]:
    """A chapter's headings, by their names in its address."""
    path = BOOK / f"{page}.ipynb"
    if not path.is_file():
        return {}
    cells = json.loads(path.read_text("utf-8"))["cells"]
    texts = [
        "".join(cell["source"])
        for cell in cells
        if cell["cell_type"] == "markdown"
    ]
    found = re.findall(r"^#{1,6} +(.+?) *$", "\n".join(texts), re.M)
    return {_anchor(heading): heading for heading in found}


def _anchor(heading: str) -> str:
    """The name that Sphinx gives to a heading: it begins with a letter."""
    kept = re.sub(r"['’]|^[^a-z]+", "", heading.lower())
    return re.sub(r"[^a-z0-9]+", "-", kept).strip("-")
