"""What can be done with a mouse can be done with the keys alone."""

import json
from urllib.parse import urljoin

import pytest
from browsing import FOCUSED, tab_to
from built_book import markdown_of, notebooks


@pytest.fixture
def keys(tab):
    """What presses keys."""
    return tab.page.keyboard


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
    tab_to(tab.page, "svg a")
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


def shows(machine, said: list) -> bool:
    """Whether a time machine says all that the model said at a moment."""
    texts = ["".join(segments or ()) for segments in said]
    shown = machine.locator('[data-tm="said"]:not(.tm-none)')
    return shown.all_text_contents() == [text for text in texts if text]


@pytest.mark.parametrize("page", MACHINES)
def test_keys_move_a_time_machine(tab, keys, address_of, page):
    """Its slider, its buttons, and the choice among ways of decoding."""
    tab.open(address_of(page))
    machine = tab.page.locator(".time-machine").first
    data = json.loads(machine.locator('[data-tm="data"]').text_content())
    ways, moments = data["ways"], data["moments"]
    last, way = len(moments) - 1, next(iter(ways))
    assert moments[0]["said"] != moments[last]["said"]
    tab_to(tab.page, '.time-machine input[type="radio"]')
    chosen = []
    for _ in ways:
        keys.press("ArrowDown")
        chosen.append(tab.page.evaluate(f"{FOCUSED}.value"))
        assert shows(machine, moments[0]["said"][chosen[-1]])
    assert sorted(chosen) == sorted(ways) and chosen[-1] == way
    tab_to(tab.page, '[data-tm="slider"]')
    for key, moment in [
        ("End", last), ("ArrowLeft", last - 1), ("Home", 0), ("ArrowRight", 1)
    ]:  # fmt: skip
        keys.press(key)
        assert shows(machine, moments[moment]["said"][way]), key
    keys.press("Home")
    keys.press("Shift+Tab")
    for key, moment in [
        ("Enter", 1), ("Space", 2), ("ArrowLeft", 1), ("ArrowRight", 2)
    ]:  # fmt: skip
        keys.press(key)
        assert shows(machine, moments[moment]["said"][way]), key
