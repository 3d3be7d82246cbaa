"""Where reveal.js is: in a folder that is named, or in a package.

The Python package sphinx-revealjs carries reveal.js; no other part of it is
used. A release of reveal.js, unpacked, serves as well. What a deck needs is
copied beside the decks, so that they need no network.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

from transformer_course.errors import CourseError

PACKAGE = "sphinx_revealjs"
PLACES = ("_static/revealjs", "themes/sphinx_revealjs/static/revealjs")
"""Folders in the package: that of version 3.2 first."""
SCRIPT, STYLE = "dist/reveal.js", "dist/reveal.css"
NOTES = ("plugin/notes/notes.js", "dist/plugin/notes.js")
"""The speaker view, up to version 5 and from version 6 on."""


class NoReveal(CourseError):
    """reveal.js is not here."""


def find_reveal(named: str = "") -> Path:
    """The folder that holds ``dist`` and the speaker view.

    Raises:
        NoReveal: the folder that was named holds no reveal.js, or none was
            named and the package is not installed.
    """
    if named:
        folders = [Path(named)]
    else:
        spec = find_spec(PACKAGE)
        found = spec.submodule_search_locations if spec else None
        folders = [Path(one, p) for one in found or [] for p in PLACES]
    for folder in folders:
        if all((folder / name).is_file() for name in (SCRIPT, STYLE)):
            notes_of(folder)
            return folder
    if named:
        raise NoReveal(
            f"REVEAL={named} holds no {SCRIPT} and {STYLE}: name the folder "
            "of an unpacked release of reveal.js"
        )
    raise NoReveal(
        "the slides need reveal.js: `make slides` installs it with the "
        "package sphinx-revealjs; without a network name an unpacked "
        "release of reveal.js, make slides REVEAL=folder"
    )


def notes_of(folder: Path) -> str:
    """Path of the speaker view in that folder.

    Raises:
        NoReveal: nowhere.
    """
    for name in NOTES:
        if (folder / name).is_file():
            return name
    raise NoReveal(
        f"{folder} has no speaker view, neither {' nor '.join(NOTES)}: take "
        "a whole release of reveal.js"
    )


def copy_reveal(folder: Path, target: Path) -> None:
    """Copy what a deck loads, and the licence."""
    for name in (SCRIPT, STYLE, notes_of(folder)):
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, place)
    if (folder / "LICENSE").is_file():
        shutil.copyfile(folder / "LICENSE", target / "LICENSE")
