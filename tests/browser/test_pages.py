"""Laws that each built page keeps in a browser, wide and narrow, in the dark.

``PAGES`` says which pages: ``all``, ``some`` (ten of each kind), or names. Of
``some``, axe looks at colours at one width alone: that takes it the longest.
"""

import os

import pytest
from browsing import THEMES, WIDTHS, axe_file, chosen_pages

ASKED = os.environ.get("PAGES", "some")
PAGES = [
    pytest.param(page, id=f"{page[0]}-{page[1]}", marks=group)
    for page in chosen_pages(ASKED)
    for group in [pytest.mark.xdist_group("/".join(page))]
]
"""Each with its tests on one worker, which loads it once."""

WIDEST = """() => {
  const clips = (box) => getComputedStyle(box).overflowX !== "visible";
  const inside = (box) =>
    box && box !== document.body && (clips(box) || inside(box.parentElement));
  return [...document.querySelectorAll(".bd-main *")]
    .filter((box) => box.getBoundingClientRect().right > innerWidth)
    .filter((box) => !inside(box.parentElement))
    .map((box) => box.outerHTML.slice(0, 120))
    .slice(-3);
}"""
"""What reaches over the right edge; the innermost come last."""

AXE = """(colours) => axe.run({
  resultTypes: ["violations"],
  rules: { "color-contrast": { enabled: colours } },
}).then((found) => found.violations
    .filter((rule) => ["serious", "critical"].includes(rule.impact))
    .flatMap((rule) => rule.nodes.map((node) =>
      `${rule.id}: ${node.target} ${node.html.slice(0, 120)}`)))"""


@pytest.fixture(scope="module", params=PAGES)
def opened(request, tab, address_of):
    """A tab with one of the pages."""
    tab.open(address_of(*request.param))
    return tab


@pytest.fixture(scope="module")
def audited(opened):
    """The same with axe-core in it."""
    path = axe_file()
    if path is None:
        pytest.skip(
            "needs axe-core: `make test-browser` installs it; or name the "
            "file axe.min.js by AXE="
        )
    opened.page.evaluate(path.read_text(encoding="utf-8"))
    return opened


def test_a_page_is_silent_and_asks_no_other_host(opened):
    assert not opened.wrong


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_scrolls_sideways(opened, width):
    opened.resize(width)
    wide = opened.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, opened.page.evaluate(WIDEST)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_serious(audited, width, theme):
    audited.resize(width)
    audited.colour(theme)
    colours = ASKED != "some" or width == WIDTHS[0]
    assert not audited.page.evaluate(AXE, colours)
