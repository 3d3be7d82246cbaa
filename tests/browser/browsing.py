"""What the tests in a browser need: a browser, a server, axe, the pages."""

import os
import re
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

import pytest
from built_book import EDITIONS, site_of

from tools.chromium import find_chromium

WIDTHS = (1280, 390, 320)
THEMES = ("light", "dark")
HEIGHT = 800
KINDS = {
    "chapter": r"\d\d_",
    "reference": r"api/",
    "source": r"_modules/",
    "other": r"",
}
"""Kinds of pages: how the address begins."""
SOME = 10


# --- which pages -------------------------------------------------------------


def kind_of(page: str) -> str:
    """The kind of a page, by its address in its edition."""
    return next(k for k, start in KINDS.items() if re.match(start, page))


def pages_of(site: Path) -> list[str]:
    """The addresses of all built pages of an edition, kind by kind."""
    found = [
        path.relative_to(site).as_posix().removesuffix(".html")
        for path in site.rglob("*.html")
    ]
    pages = [page for page in found if not page.startswith("_static/")]
    return sorted(
        pages, key=lambda page: (list(KINDS).index(kind_of(page)), page)
    )


def some_of(pages: list[str], most: int = SOME) -> list[str]:
    """Of each kind at most so many, evenly spread."""
    chosen = []
    for _, group in groupby(pages, kind_of):
        members = list(group)
        count = min(most, len(members))
        chosen += [members[n * len(members) // count] for n in range(count)]
    return chosen


def chosen_pages(asked: str) -> list[tuple[str, str]]:
    """Editions and pages that are asked for.

    Args:
        asked: ``all``, ``some`` (ten of each kind), or names of pages.

    Raises:
        pytest.UsageError: no edition has such a page.
    """
    there = {edition: pages_of(site_of(edition)) for edition in EDITIONS}
    if asked == "all":
        chosen = there
    elif asked == "some":
        chosen = {edition: some_of(there[edition]) for edition in there}
    else:
        names = asked.split()
        known = {page for pages in there.values() for page in pages}
        if unknown := [name for name in names if name not in known]:
            raise pytest.UsageError(
                f"PAGES={asked}: {unknown[0]!r} is no page of the built book; "
                "give 'all', 'some' or pages such as '04_attention api/viz'"
            )
        chosen = {
            edition: [page for page in pages if page in names]
            for edition, pages in there.items()
        }
    return [(edition, page) for edition in chosen for page in chosen[edition]]


# --- the browser, and axe ----------------------------------------------------


def chromium() -> str | None:
    """The program that ``CHROMIUM`` names, or the system's; None without.

    Raises:
        pytest.UsageError: ``CHROMIUM`` names no program.
    """
    program = find_chromium()
    if program is None and (named := os.environ.get("CHROMIUM")):
        raise pytest.UsageError(
            f"CHROMIUM={named} is no program; give the path of a Chromium"
        )
    return program


def axe_file() -> Path | None:
    """axe-core: the installed package's, or what ``AXE`` names.

    Raises:
        pytest.UsageError: ``AXE`` names no file.
    """
    if package := find_spec("axe_playwright_python"):
        return Path(package.origin).with_name("axe.min.js")
    if named := os.environ.get("AXE"):
        if Path(named).is_file():
            return Path(named)
        raise pytest.UsageError(
            f"AXE={named} is no file; give the path of axe.min.js"
        )
    return None
