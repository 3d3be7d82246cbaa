"""References to the sections of the book."""

import json
import re
from functools import cache
from pathlib import Path

from course_exercises.language import language, say, translated

BOOK = Path(__file__).parents[2] / "book" / "en"
"""The chapters, in the course's folder; a wheel has none."""
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.M)


def reference(section: str) -> str:
    """Two lines of text that name a section.

    Args:
        section: page and anchor, as in ``06_masks#the-causal-mask``.
    """
    page, _, anchor = section.partition("#")
    said = say(
        'Read again: chapter {chapter}, section "{title}"',
        chapter=page[:2],
        title=title(section),
    )
    return f"{said}\n            {page}.html#{anchor}"


def link(section: str) -> str:
    """A Markdown link to a section, for a notebook in ``my_exercises/``.

    Without the chapters, the reference alone.
    """
    page = section.partition("#")[0]
    if not _headings(page, language()):
        return reference(section)
    anchor = _heading(section, "en").replace(" ", "-")  # as Jupyter writes it
    return say(
        "Read again: chapter {chapter}, [{title}](<{address}>)",
        chapter=page[:2],
        title=title(section),
        address=f"../book/en/{page}.ipynb#{anchor}",
    )


def title(section: str) -> str:
    """A section's heading, or the words of its anchor without the book."""
    return plain(_heading(section, language()))


def _heading(section: str, edition: str) -> str:
    page, _, anchor = section.partition("#")
    return _headings(page, edition).get(anchor, anchor.replace("-", " "))


def plain(heading: str) -> str:
    """A heading with its formulas without their markup."""

    def formula(match: re.Match) -> str:
        text = match[1].replace(r"\sqrt", "√")
        return re.sub(r"\\[a-z]+|[{}]", "", text)

    return re.sub(r"\$([^$]*)\$", formula, heading)


@cache
def _headings(page: str, edition: str) -> dict[str, str]:
    """A chapter's headings in an edition, by their anchors."""
    path = BOOK / f"{page}.ipynb"
    if not path.is_file():
        return {}
    cells = json.loads(path.read_text("utf-8"))["cells"]
    found = {}
    for cell in cells:
        if cell["cell_type"] == "markdown":
            english = "".join(cell["source"])
            file = BOOK.parent / edition / f"{page}.md"
            said = translated(file, cell["id"], english)
            pairs = zip(*map(_HEADING.findall, (english, said)), strict=False)
            found |= {_anchor(heading): shown for heading, shown in pairs}
    return found


def _anchor(heading: str) -> str:
    """The anchor that Sphinx gives to a heading: it begins with a letter."""
    kept = re.sub(r"['’]|^[^a-z]+", "", heading.lower())
    return re.sub(r"[^a-z0-9]+", "-", kept).strip("-")
