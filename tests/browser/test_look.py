"""The first page's picture can be read; nothing moves; code is folded."""

import pytest
from browsing import HEIGHT, WIDTHS, every_night, from_disk, script
from built_book import BOOK

VISIBLE = "(all) => all.map((one) => one.checkVisibility())"
GOOD = 0.1
"""The layout shift that browsers call good."""
WATCH = """
window.shifts = 0;
new PerformanceObserver((list) => {
  for (const shift of list.getEntries()) {
    if (!shift.hadRecentInput) window.shifts += shift.value;
  }
}).observe({ type: "layout-shift", buffered: true });
"""
"""Add up all shifts, of which browsers report the largest run of some."""
NAMES = """() => [...document.querySelectorAll(".transformer-map a")].flatMap(
  (part) => {
    const number = part.querySelector(".number").getBoundingClientRect();
    return [...part.querySelectorAll("text:not(.number)")]
      .filter((name) => name.getBoundingClientRect().right > number.left - 1)
      .map((name) => name.textContent);
  })"""
"""Names that reach the number beside them."""

AROUND = """() => {
  const place = (name) => document.querySelector(name).getBoundingClientRect();
  const all = place(".bd-content"), parts = [place(".bd-article-container")];
  const contents = place(".bd-sidebar-secondary");
  if (contents.left < innerWidth) parts.push(contents);
  return [parts[0].left - all.left, all.right - parts.at(-1).right];
}"""
"""Room on the left and on the right of the text and its contents."""


@pytest.mark.parametrize(
    "font", ["", "DejaVu Sans", pytest.param("Verdana", marks=every_night)]
)
def test_names_in_the_picture_keep_clear_of_their_numbers(
    tab, address_of, font
):
    tab.open(address_of("index"))
    if font:
        style = f".transformer-map {{ font-family: '{font}' !important }}"
        tab.page.add_style_tag(content=style)
    for width in WIDTHS:
        tab.resize(width)
        assert tab.page.locator(".transformer-map .number").count()
        assert not tab.page.evaluate(NAMES), width


@pytest.mark.parametrize("font", ["", "DejaVu Sans"])
def test_words_of_an_opening_keep_inside_and_apart(browser, font):
    style = (BOOK / "_static/openings.css").read_text("utf-8")
    style += f".opening {{ font-family: '{font}' !important }}" * bool(font)
    page = browser.new_page()
    paths = list((BOOK / "en/figures/openings").glob("*.svg"))
    assert paths
    for path in paths:
        page.set_content(path.read_text("utf-8"))
        page.add_style_tag(content=style)
        assert not page.evaluate(script("clashes")), path.stem
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_little_moves_while_the_first_page_is_loaded(
    browser, address_of, width
):
    page = browser.new_page(viewport={"width": width, "height": HEIGHT})
    page.add_init_script(WATCH)
    page.goto(address_of("index"), wait_until="networkidle")
    assert page.evaluate("window.shifts") <= GOOD
    page.close()


@pytest.mark.parametrize(
    "width", [1024, 1280, pytest.param(1700, marks=every_night)]
)
def test_a_page_stands_in_the_middle_of_what_the_menu_leaves(
    tab, address_of, width
):
    tab.open(address_of("04_attention"), width)
    left, right = tab.page.evaluate(AROUND)
    assert abs(left - right) <= 2


def test_a_chapter_is_read_or_run_and_the_choice_is_kept(browser):
    with from_disk(browser, "05_score_functions.html") as page:
        folds = page.locator("details.hide:not(.waits *) > :not(summary)")
        pressed = page.locator(".read-run [aria-pressed=true]")

        def seen() -> set[bool]:
            return {*folds.evaluate_all(VISIBLE)}

        assert (pressed.inner_text(), seen()) == ("Read", {False})
        page.get_by_role("button", name="Run", exact=True).focus()
        page.keyboard.press("Enter")
        assert (pressed.inner_text(), seen()) == ("Run", {True})
        page.reload()
        assert (pressed.inner_text(), seen()) == ("Run", {True})
        page.emulate_media(media="print")
        assert not page.locator(".plain-fold:visible").count()
        page.emulate_media(media="screen")
        page.get_by_role("button", name="Read", exact=True).click()
        assert (pressed.inner_text(), seen()) == ("Read", {False})
