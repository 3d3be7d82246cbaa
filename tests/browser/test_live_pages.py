"""Laws of the figures that answer, on each page that has some.

Of ``PAGES=some`` that is chapter 00, which has five, in two of four looks.
"""

import os
from itertools import product

import pytest
from browsing import THEMES, WIDTHS, audit, chosen_pages, script
from built_book import SITE

ASKED = os.environ.get("PAGES", "some")
PAGES = [
    pytest.param(page, id=page, marks=pytest.mark.xdist_group(f"live {page}"))
    for page in chosen_pages(ASKED)
    if "data-live=" in (SITE / f"{page}.html").read_text("utf-8")
][: 1 if ASKED == "some" else None]
WIDE, PHONE = WIDTHS[:2]
LOOKS = list(product((WIDE, PHONE), THEMES))
SMALLEST = 11
"""CSS pixels of a letter, on a phone."""

READY = script("live_ready")
"""Every figure runs, and has written what it writes."""
LETTERS = script("live_letters")
FOREIGN = script("foreign")
"""Japanese in the figures whose language is not marked."""
RIGHT = """() => Math.max(...[...document.querySelectorAll("[data-live] *")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }))
  .map((one) => one.getBoundingClientRect().right))"""


@pytest.fixture(scope="module", params=PAGES)
def figures(request, tab, address_of):
    """A page with all of its figures at work, and all that they can show."""
    tab.open(address_of(request.param))
    for go in tab.page.locator("[data-lv=go]").all():
        go.click()
    for switch in tab.page.locator("[data-switch=padding]").all():
        switch.check()
    tab.page.wait_for_function(READY, timeout=90_000)
    return tab


def test_letters_can_be_read_on_a_phone_and_nothing_sticks_out(figures):
    figures.resize(PHONE)
    letters = figures.page.evaluate(LETTERS)
    assert letters
    assert not [found for found in letters if found[0] < SMALLEST]
    assert figures.page.evaluate(RIGHT) <= PHONE


def test_japanese_is_marked_as_such(figures):
    for step in figures.page.locator("[data-live=walk] input:visible").all():
        step.press("End")
    assert not figures.page.evaluate(FOREIGN, "[data-live]")


@pytest.mark.parametrize(
    ("width", "theme"), LOOKS[:: 3 if ASKED == "some" else 1]
)
def test_axe_finds_nothing(figures, width, theme):
    figures.resize(width)
    figures.colour(theme)
    assert not audit(figures.page, include=["[data-live]"])
