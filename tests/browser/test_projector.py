"""The page of demonstrations from a disk: its keys, and letters for a room.

Of ``PAGES=some`` on one of two screens.
"""

import os

import pytest
from browsing import FEWER, from_disk

pytestmark = pytest.mark.xdist_group("projector")
"""All on one worker, which opens the page once."""
KEYS = "1234567890"
SOME = os.environ.get("PAGES", "some") == "some"
SCREENS = [((1280, 720), "light"), ((1920, 1080), "dark")][: 1 if SOME else 2]
SHOWN = """() => [...document.querySelectorAll(".is-shown")].map((section) => {
  const texts = document.createTreeWalker(section, NodeFilter.SHOW_TEXT);
  const letters = [];
  for (let text; (text = texts.nextNode());) {
    const holder = text.parentElement;
    if (!text.data.trim() || !holder.checkVisibility()) continue;
    if (holder.closest("script, option, .transformer-map")) continue;
    const scale = holder.ownerSVGElement ? holder.getScreenCTM().a : 1;
    letters.push(scale * parseFloat(getComputedStyle(holder).fontSize));
  }
  return {
    title: section.querySelector("h2").firstChild.data,
    letters: Math.min(...letters),
    fits: section.scrollHeight <= innerHeight
      && section.scrollWidth <= innerWidth,
  };
})"""
"""What is shown, the height of its smallest letters, and whether it fits."""
LEAST = 1 / 50
"""Height of the smallest letters, as a share of the screen's."""


@pytest.fixture(scope="module")
def page(browser):
    with from_disk(browser, "projector.html") as page:
        page.locator('[data-live="heads"] .lv-words button').first.wait_for()
        yield page


def title(page) -> str:
    """The title of what is shown; nothing, if all is."""
    page.wait_for_timeout(100)  # drawings follow a new size
    found = page.evaluate(SHOWN)
    return found[0]["title"] if found else ""


@pytest.mark.parametrize(("size", "theme"), SCREENS)
def test_each_key_shows_a_figure_that_fills_the_screen(page, size, theme):
    width, height = size
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)
    count = page.locator("[data-live]").count()
    others = ["PageDown"] * (count - len(KEYS))
    assert others
    if FEWER:
        del others[1:]
    for place, key in enumerate([*KEYS, *others], 1):
        page.keyboard.press(key)
        assert title(page).startswith(f"{place} ·")
        [found] = page.evaluate(SHOWN)
        assert found["fits"], found
        assert found["letters"] >= LEAST * height, found


def test_keys_work_from_a_control_but_not_from_a_field(page):
    page.keyboard.press("1")
    page.locator(".is-shown select").first.focus()
    page.keyboard.press("3")
    assert title(page).startswith("3 ·")
    for key in ("0", "ArrowRight"):
        page.keyboard.press(key)
    field = page.locator(".is-shown input[type=text]")
    field.focus()
    page.keyboard.type("2f")
    assert title(page).startswith("11 ·")
    assert field.input_value().endswith("2f")
    page.keyboard.press("Escape")
    assert title(page).startswith("11 ·")
    page.keyboard.press("2")
    assert title(page).startswith("2 ·")


def test_a_presenter_goes_on_and_back_and_escape_leaves(page):
    page.keyboard.press("2")
    for key, place in [
        ("ArrowRight", 3), ("PageDown", 4), ("PageUp", 3), ("ArrowLeft", 2)
    ]:  # fmt: skip
        page.keyboard.press(key)
        assert title(page).startswith(f"{place} ·"), key
    slider = page.locator(".is-shown input[type=range]").first
    before = slider.input_value()
    slider.press("ArrowRight")
    assert title(page).startswith("2 ·") and slider.input_value() != before
    page.keyboard.press("3")
    page.keyboard.press("Escape")
    assert title(page) == ""
    page.keyboard.press("PageDown")
    assert title(page) == ""
    assert not page.evaluate("document.documentElement.style.fontSize")


def test_f_fills_the_screen_and_leaves_it(page):
    page.keyboard.press("1")
    for key, full in [
        ("f", True), ("f", False), ("f", True), ("Escape", False)
    ]:  # fmt: skip
        page.keyboard.press(key)
        page.wait_for_function(
            "full => Boolean(document.fullscreenElement) === full", arg=full
        )
        assert title(page).startswith("1 ·")
    page.keyboard.press("Escape")
