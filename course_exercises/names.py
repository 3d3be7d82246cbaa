"""The names of the exercises, read from their files without importing them.

A folder of the catalogue says in its first line which chapter it belongs to,
and a file which exercise it defines, and at which place of the chapter.
"""

import re
from collections.abc import Iterator
from pathlib import Path

CATALOGUE = Path(__file__).with_name("catalogue")
_CHAPTER = re.compile(r'"""Chapter (\d\d)')
_EXERCISE = re.compile(
    r"^EXERCISE = exercise_of\(\s*(\w+),\s*place=(\d+)", re.M
)


def _chapters() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each chapter with its exercises, in order."""
    for init in CATALOGUE.glob("*/__init__.py"):
        subject = init.parent.name
        found = [
            (int(match[2]), match[1], f"{subject}.{path.stem}")
            for path in init.parent.glob("*.py")
            if (match := _EXERCISE.search(path.read_text("utf-8")))
        ]
        number = _CHAPTER.match(init.read_text("utf-8"))[1]
        yield (
            f"{number}_{subject}",
            {
                name: f"{__package__}.catalogue.{module}"
                for _, name, module in sorted(found)
            },
        )


MODULES: dict[str, dict[str, str]] = dict(sorted(_chapters()))
"""By chapter: the names of its exercises and the modules that define them.

:meta hide-value:
"""
