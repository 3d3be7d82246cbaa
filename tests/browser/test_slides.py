"""Slides as reveal.js shows them: decks of a few units, of the wide screen.

The tests make these decks anew, by what is here, and serve them: two of them
with ``PAGES=some``.
"""

import os

import pytest
from browsing import Tab, audit, served
from built_book import SITE, not_ready

from tools.lectures.parts import DOTS, LEAST, LETTERS
from tools.lectures.plan import read_plan
from tools.lectures.publish import Publisher
from tools.lectures.reveal import NoReveal, find_reveal

pytestmark = pytest.mark.xdist_group("slides")
"""All on one worker, which makes the decks once."""
AUDITED = ("04-45", "12b-45")
DECKS = AUDITED
if os.environ.get("PAGES", "some") != "some":
    DECKS += ("18-45", "20-45")
SIZE = {"width": 1280, "height": 720}
OVERLAY = ".pause-overlay"
"""reveal.js's own. It fades out for a second after a slow load."""
SMALLEST = 20
"""Pixels of a text's letters, as lectures.css says."""

READY = "() => window.Reveal?.isReady()"
PICTURES = """async () => {
  const images = Reveal.getCurrentSlide().querySelectorAll("img");
  await Promise.all([...images].map((image) => image.decode()));
}"""
"""Those of the slide are here."""
SEEN = """() => {
  const section = Reveal.getCurrentSlide();
  const slide = section.querySelector(".slide");
  const texts = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const boxes = [], letters = [];
  for (let text; (text = texts.nextNode());) {
    const parent = text.parentElement;
    if (!text.data.trim() || parent.closest("mjx-container")) continue;
    range.selectNodeContents(text);
    const block = parent.closest("h1, h2, p, li, td, th, pre, figcaption");
    for (const box of range.getClientRects()) {
      boxes.push([block ?? parent, box, text.data.trim()]);
    }
    letters.push([parseFloat(getComputedStyle(parent).fontSize), text.data]);
  }
  for (const box of slide.querySelectorAll("mjx-container, img")) {
    boxes.push([box, box.getBoundingClientRect(), box.tagName]);
  }
  const around = slide.getBoundingClientRect();
  const leaves = (box) => box.left < around.left || box.top < around.top
    || box.right > around.right || box.bottom > around.bottom;
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const disjoint = (a, b) => !a.contains(b) && !b.contains(a);
  return {
    place: Reveal.getIndices().h,
    title: slide.querySelector("h1, h2").textContent,
    notes: Reveal.getSlideNotes(),
    letters,
    outside: boxes.filter(([, box]) => leaves(box)).map((one) => one[2]),
    meeting: boxes.flatMap(([a, one, said], place) => boxes.slice(place + 1)
      .filter(([b, other]) => disjoint(a, b) && meet(one, other))
      .map((other) => [said, other[2]])),
    raw: slide.innerText.match(/\\\\[([]|mjx-merror/g),
    pictures: [...slide.querySelectorAll("img")].map((image) => [
      image.src.split("/").pop(),
      image.getBoundingClientRect().width / image.naturalWidth,
      image.alt,
    ]),
  };
}"""
"""What a slide says, and how its parts lie."""


# --- decks, and a tab for them -----------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What ``make slides`` makes, of a few units."""
    if reason := not_ready():
        pytest.skip(reason)
    named = os.environ.get("REVEAL", "")
    try:
        find_reveal(named)
    except NoReveal as missing:
        if named:
            raise
        pytest.skip(str(missing))
    target = tmp_path_factory.mktemp("class")
    units = {name.partition("-")[0] for name in DECKS}
    made = Publisher(SITE, target)
    made.slides(named, units)
    return target


@pytest.fixture(scope="module")
def screen(browser, folder):
    """A tab of a projector's width, and the address of a deck."""
    with served(folder) as address:
        context = browser.new_context(viewport=SIZE)
        yield Tab(context.new_page(), address)
        context.close()


def show(screen, deck: str, how: str = "") -> None:
    """Open a deck, and wait until its first slide is here."""
    screen.wrong.clear()
    screen.page.goto("about:blank")  # or a hash alone would change
    screen.page.goto(f"{screen.root}/slides/{deck}.html{how}")
    screen.page.wait_for_function(READY)


@pytest.fixture(scope="module", params=DECKS)
def slides(request, screen) -> list[dict]:
    """A deck's slides, one after another by the keyboard, and its errors."""
    show(screen, request.param)
    found = []
    for _ in range(screen.page.evaluate("Reveal.getTotalSlides()")):
        screen.page.evaluate(PICTURES)
        clicks = 0
        while screen.page.evaluate("Reveal.availableFragments().next"):
            screen.page.keyboard.press("ArrowRight")
            clicks += 1
        found.append(screen.page.evaluate(SEEN) | {"clicks": clicks})
        screen.page.keyboard.press("ArrowRight")
    assert not screen.wrong
    return found


# --- each slide --------------------------------------------------------------


def test_keys_go_through_slides_that_show_all_their_parts(slides):
    assert [slide["place"] for slide in slides] == [*range(len(slides))]
    for slide in slides:
        assert slide["title"].strip() and slide["notes"].strip()
        assert not slide["outside"], slide["title"]
        assert not slide["meeting"], slide["title"]
        assert not slide["raw"], slide["title"]


def test_letters_are_large_enough(slides):
    for slide in slides:
        small = [one for one in slide["letters"] if one[0] < SMALLEST - 0.5]
        assert not small, slide["title"]
        for name, scale, alt in slide["pictures"]:
            assert alt.strip()
            assert LETTERS * DOTS * scale >= LEAST, name


def test_a_picture_appears_in_as_many_clicks_as_it_has_steps(slides):
    builds = read_plan().builds
    for slide in slides:
        names = [name.split(".")[0] for name, *_ in slide["pictures"]]
        assert slide["clicks"] == sum(len(builds.get(n, ())) for n in names)


COVERED = """() => {
  const picture = document.querySelector(".build").getBoundingClientRect();
  return [...document.querySelectorAll(".build:first-of-type .cover")]
    .filter((cover) => cover.checkVisibility({ visibilityProperty: true }))
    .map((cover) => cover.getBoundingClientRect())
    .reduce((sum, box) => sum + box.width * box.height, 0)
    / (picture.width * picture.height);
}"""
"""Share of the first such picture that is still covered."""


def test_each_click_uncovers_more_and_a_click_back_covers_it(screen):
    show(screen, DECKS[0], "#/2")
    keys, shares = screen.page.keyboard, []
    for key in ("",) + ("ArrowRight",) * 6 + ("ArrowLeft",):
        if key:
            keys.press(key)
        shares.append(screen.page.evaluate(COVERED))
    *forward, back = shares
    assert forward == sorted(forward, reverse=True)
    assert len({*forward}) == 7 and forward[0] > 0.3
    assert forward[-1] == 0 and back == forward[-2]
    assert screen.page.evaluate("Reveal.getIndices().h") == 2


def test_without_a_script_and_in_print_nothing_is_covered(screen):
    for how in ("?plain", "?print-pdf"):
        screen.page.goto(f"{screen.root}/slides/{DECKS[0]}.html{how}")
        screen.page.locator(
            ".pdf-page .cover" if "print" in how else ".cover"
        ).first.wait_for(state="attached")
        assert not screen.page.locator(".cover:visible").count()
        caption = screen.page.locator(".build + figcaption").first
        assert caption.evaluate("c => getComputedStyle(c).opacity") == "1"


# --- what else a lecturer asks for -------------------------------------------


def test_the_speaker_sees_notes_pace_and_each_formula_once(screen):
    show(screen, DECKS[0])
    with screen.page.expect_popup() as opened:
        screen.page.keyboard.press("s")
    speaker = opened.value
    notes = speaker.locator(".speaker-controls-notes .value")
    speaker.locator(".pacing").wait_for()
    screen.page.keyboard.press("ArrowRight")
    notes.locator("math").first.wait_for()
    assert not notes.locator("mjx-container").count()
    speaker.close()
    assert not screen.wrong


def test_escape_shows_all_slides_and_one_again(screen):
    show(screen, DECKS[1])
    for overview in (True, False):
        screen.page.keyboard.press("Escape")
        assert screen.page.evaluate("Reveal.isOverview()") is overview


def test_a_deck_is_printed_a_slide_to_a_page(screen):
    show(screen, DECKS[1])
    slides = screen.page.evaluate("Reveal.getTotalSlides()")
    show(screen, DECKS[1], "?print-pdf")
    pages = screen.page.locator(".pdf-page")
    pages.first.wait_for()
    assert pages.count() == slides


@pytest.mark.parametrize("deck", AUDITED)
def test_axe_finds_nothing_serious_on_slides(screen, deck):
    show(screen, deck)
    for place in (0, 2):
        screen.page.evaluate("place => Reveal.slide(place)", place)
        assert not audit(screen, {}, OVERLAY)
