"""What can be done with a mouse can be done with the keys alone."""

import json
import os
from urllib.parse import urljoin

import pytest
from browsing import chosen_pages, kind_of
from built_book import markdown_of, notebooks

ASKED = os.environ.get("PAGES", "some")
CHAPTERS = [
    page for page in chosen_pages(ASKED) if kind_of(page) == "chapter"
][:: 4 if ASKED == "some" else 1]
FOCUSED = "document.activeElement"


@pytest.fixture
def keys(tab):
    """What presses keys."""
    return tab.page.keyboard


def tab_to(tab, selector: str, most: int = 400) -> None:
    """Press Tab until one of these elements has the focus."""
    for _ in range(most):
        tab.page.keyboard.press("Tab")
        if tab.page.evaluate(f"s => {FOCUSED}.matches(s)", selector):
            return
    pytest.fail(f"Tab does not reach {selector}")


# --- the picture on the first page -------------------------------------------


def test_tab_goes_through_the_picture_and_enter_to_a_chapter(
    tab, keys, address_of
):
    home = address_of("index")
    tab.open(home)
    picture = tab.page.locator("svg:has(a[href])")
    parts = picture.locator("a")
    there = parts.evaluate_all("parts => parts.map(part => part.href.baseVal)")
    looks = [picture.screenshot()]
    tab_to(tab, "svg a")
    for address in there:
        focused = f"{FOCUSED}.closest('svg a')?.href.baseVal"
        assert tab.page.evaluate(focused) == address
        looks.append(picture.screenshot())
        keys.press("Tab")
    assert len(set(looks)) == len(looks), "the focus is not to be seen"

    keys.press("Shift+Tab")
    keys.press("Enter")
    tab.page.wait_for_url(urljoin(home, there[-1]))


# --- time machines -----------------------------------------------------------


MACHINES = [
    path.stem for path in notebooks() if "{time-machine}" in markdown_of(path)
]


class Machine:
    """A time machine, as the page shows it."""

    def __init__(self, tab):
        self.box = tab.page.locator(".time-machine").first
        data = self.box.locator('[data-tm="data"]').text_content()
        self.moments = json.loads(data)["moments"]
        self.ways = list(json.loads(data)["ways"])

    def shows(self, moment: int, way: str) -> bool:
        """Whether it says all that the model said then."""
        said = [
            "".join(segments)
            for segments in self.moments[moment]["said"][way]
            if segments and "".join(segments)
        ]
        shown = self.box.locator('[data-tm="said"]:not(.tm-none)')
        return shown.all_text_contents() == said


@pytest.mark.parametrize("page", MACHINES)
def test_keys_move_a_time_machine(tab, keys, address_of, page):
    """Its slider and its buttons."""
    tab.open(address_of(page))
    machine = Machine(tab)
    last, way = len(machine.moments) - 1, machine.ways[0]
    assert machine.moments[0]["said"] != machine.moments[last]["said"]
    tab_to(tab, '[data-tm="slider"]')
    for key, moment in [
        ("End", last), ("ArrowLeft", last - 1), ("Home", 0), ("ArrowRight", 1)
    ]:  # fmt: skip
        keys.press(key)
        assert machine.shows(moment, way), key
    keys.press("Home")
    keys.press("Shift+Tab")
    for key, moment in [
        ("Enter", 1), ("Space", 2), ("ArrowLeft", 1), ("ArrowRight", 2)
    ]:  # fmt: skip
        keys.press(key)
        assert machine.shows(moment, way), key


@pytest.mark.parametrize("page", MACHINES)
def test_ways_of_decoding_by_keys(tab, keys, address_of, page):
    tab.open(address_of(page))
    machine = Machine(tab)
    tab_to(tab, 'input[type="radio"]')
    chosen = []
    for _ in machine.ways:
        keys.press("ArrowDown")
        chosen.append(tab.page.evaluate(f"{FOCUSED}.value"))
        assert machine.shows(0, chosen[-1])
    assert sorted(chosen) == sorted(machine.ways)


# --- what is folded ----------------------------------------------------------


@pytest.mark.parametrize("page", CHAPTERS)
def test_enter_opens_and_closes_all_that_is_folded(
    tab, keys, address_of, page
):
    tab.open(address_of(page))
    folded = tab.page.locator("article details:visible")  # not of guesses
    assert folded.count()
    for box in folded.all():
        box.locator("summary").first.focus()
        for is_open in (True, False):
            keys.press("Enter")
            assert (box.get_attribute("open") is not None) == is_open
            inside = box.locator(":scope > :not(summary)").first
            assert inside.is_visible() == is_open
