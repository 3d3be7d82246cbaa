"""The exercises by name, read from their files: listing them loads none.

A folder of the catalogue says in its first line which chapter it belongs to,
and a file which exercise it is about, and which of the chapter's.
"""

import re
from collections.abc import Iterator
from pathlib import Path

CATALOGUE = Path(__file__).with_name("catalogue")
_CHAPTER = re.compile(r'"""Chapter (\d\d)')
_ASKED = re.compile(r"^EXERCISE = exercise_of\(\s*(\w+),\s*place=(\d+)", re.M)


def _chapters() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each chapter, with its exercises in their order."""
    for about in CATALOGUE.glob("*/__init__.py"):
        folder = about.parent
        files = (path.read_text("utf-8") for path in folder.glob("*.py"))
        asked = [found for text in files if (found := _ASKED.search(text))]
        asked.sort(key=lambda found: int(found[2]))
        number = _CHAPTER.match(about.read_text("utf-8"))[1]
        yield f"{number}_{folder.name}", tuple(found[1] for found in asked)


NAMES: dict[str, tuple[str, ...]] = dict(sorted(_chapters()))
"""By chapter, in the order of the book.

:meta hide-value:
"""
