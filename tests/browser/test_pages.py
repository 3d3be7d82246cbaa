"""Laws that each built page keeps in a browser, wide and narrow, in the dark.

``PAGES`` says which pages: ``all``, ``some`` (a few of each kind), or names.
Of ``some``, axe looks at one width, and at the first page at all: it takes the
longest of all.
"""

import os

import pytest
from browsing import THEMES, WIDTHS, audit, chosen_pages, script

ASKED = os.environ.get("PAGES", "some")
PAGES = [
    pytest.param(page, id=page, marks=group)
    for page in chosen_pages(ASKED)
    for group in [pytest.mark.xdist_group(page)]
]
"""Each with its tests on one worker, which loads it once."""
SMALLEST = {1280: 11.0, 390: 11.0, 320: 9.0}
"""CSS pixels, by the screen's; ``tests/legible.py`` checks figures."""

WIDEST = script("widest")
"""What reaches over the right edge; the innermost come last."""

LETTERS = script("letters")
"""How large letters in drawings are, in CSS pixels."""

STOPS = script("stops")
"""Formulas that the keyboard stops at, though they do not scroll."""

KNOWN = script("known")
"""Mark what has only letters and grounds that were on the page before: axe
takes seconds for each thousand words."""

COLOURS = {"runOnly": ["color-contrast"]}
ALL_ELSE = {"rules": {"color-contrast": {"enabled": False}}}


@pytest.fixture(scope="module", params=PAGES)
def opened(request, tab, address_of):
    """A tab with one of the pages."""
    tab.open(address_of(request.param))
    return tab


def is_spared(tab) -> bool:
    """Whether axe does not look at a page that is so wide."""
    narrow = tab.page.viewport_size["width"] != WIDTHS[0]
    return narrow and ASKED == "some" and "/index.html" not in tab.page.url


@pytest.fixture(scope="module", params=WIDTHS)
def sized(request, opened):
    """The same, so wide."""
    opened.resize(request.param)
    return opened


def test_a_page_is_silent_and_asks_no_other_host(opened):
    assert not opened.wrong


def test_formulas_are_no_stops_of_the_keyboard(opened):
    page = opened.page
    has = page.locator("article .math").count()
    assert bool(page.locator("article mjx-container").count()) == bool(has)
    assert not page.evaluate(STOPS)


def test_nothing_scrolls_sideways(sized):
    wide = sized.page.evaluate("document.documentElement.scrollWidth")
    width = sized.page.viewport_size["width"]
    assert wide <= width, sized.page.evaluate(WIDEST)


def test_letters_in_drawings_are_large_enough(sized):
    letters = sized.page.evaluate(LETTERS)
    smallest = SMALLEST[sized.page.viewport_size["width"]]
    assert not [found for found in letters if found[0] < smallest - 0.01]


def test_axe_finds_nothing_serious(sized):
    if not is_spared(sized):
        assert not audit(sized.page, ALL_ELSE)


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_enough_contrast(opened, theme):
    opened.colour(theme)
    for width in WIDTHS[: 1 if ASKED == "some" else None]:
        opened.resize(width)
        opened.page.evaluate(KNOWN)
        assert not audit(opened.page, COLOURS, exclude=["[data-known]"]), width
