"""The names of the exercises, read from their files without importing them.

A folder of the catalogue says in its first line which chapter it belongs to,
and a file which exercise it defines. Their order is that of the chapter's
assignment; exercises that it does not ask for come last.
"""

import re
from collections.abc import Iterator
from pathlib import Path

CATALOGUE = Path(__file__).with_name("catalogue")
ASSIGNMENTS = Path(__file__).parent / "assignments"
_CHAPTER = re.compile(r'"""Chapter (\d\d)')
_EXERCISE = re.compile(r"^EXERCISE = exercise_of\(\s*(\w+)", re.M)
_ASKED = re.compile(r"^::exercise (\w+)", re.M)


def _chapters() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each chapter with its exercises, in order."""
    for init in CATALOGUE.glob("*/__init__.py"):
        subject = init.parent.name
        found = {
            match[1]: f"{__package__}.catalogue.{subject}.{path.stem}"
            for path in sorted(init.parent.glob("*.py"))
            if (match := _EXERCISE.search(path.read_text("utf-8")))
        }
        number = _CHAPTER.match(init.read_text("utf-8"))[1]
        chapter = f"{number}_{subject}"
        source = ASSIGNMENTS / f"{chapter}.md"
        text = source.read_text("utf-8") if source.is_file() else ""
        asked = [name for name in _ASKED.findall(text) if name in found]
        yield chapter, {name: found[name] for name in [*asked, *found]}


MODULES: dict[str, dict[str, str]] = dict(sorted(_chapters()))
"""By chapter: the names of its exercises and the modules that define them.

:meta hide-value:
"""
