"""Slides as reveal.js shows them, opened from a disk, on a wide screen.

The tests make the decks of a few units: two of them with ``PAGES=some``.
"""

import os
from dataclasses import replace

import pytest
from browsing import Tab, audit, from_disk, script
from built_book import ROOT, SITE

from tools.lectures.plan import read_plan
from tools.lectures.publish import publish

pytestmark = pytest.mark.xdist_group("slides")
"""All on one worker, which makes the decks once."""
AUDITED = ("04-45", "12b-45")
DECKS = AUDITED
if os.environ.get("PAGES", "some") != "some":
    DECKS += ("18-45", "20-45")
OWN = {"rules": {"landmark-main-is-top-level": {"enabled": False}}}
"""reveal.js calls a deck an application, and its slides the main part."""
SIZE = {"width": 1280, "height": 720}
OVERLAY = ".pause-overlay"
"""reveal.js's own. It fades out for a second after a slow load."""
SMALLEST = 20
"""Pixels of a text's letters, as lectures.css says."""

READY = "() => window.Reveal?.isReady()"
SEEN = script("slide")
"""What a slide says, and how its parts lie."""


# --- decks, and a tab for them -----------------------------------------------


@pytest.fixture(scope="module")
def screen(browser, tmp_path_factory):
    """A tab of a projector's width, and the decks of a few units."""
    target = tmp_path_factory.mktemp("class")
    plan = read_plan()
    units = {name[:-3]: plan.units[name[:-3]] for name in DECKS}
    publish(target, replace(plan, units=units), SITE)
    context = browser.new_context(viewport=SIZE)
    yield Tab(context.new_page(), target.as_uri())
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
        assert slide["size"] == [*SIZE.values()]
        assert not slide["outside"], slide["title"]
        assert not slide["meeting"], slide["title"]
        assert not slide["raw"], slide["title"]
        assert slide["clicks"] == slide["steps"], slide["title"]
        small = [one for one in slide["letters"] if one[0] < SMALLEST - 0.5]
        assert not small, slide["title"]


COVERED = script("covered")
"""Share of the slide's picture that is still to come."""


def test_each_click_shows_more_and_a_click_back_takes_it_away(screen):
    show(screen, DECKS[0], "#/5")
    steps = len(read_plan().builds["04-by-hand"])
    keys, shares = screen.page.keyboard, []
    for key in ("", *["ArrowRight"] * steps, "ArrowLeft"):
        if key:
            keys.press(key)
        shares.append(screen.page.evaluate(COVERED))
    *forward, back = shares
    assert forward == sorted(forward, reverse=True)
    assert len({*forward}) == steps + 1 and forward[0] > 0.3
    assert forward[-1] == 0 and back == forward[-2]
    assert screen.page.evaluate("Reveal.getIndices().h") == 5


# --- what else a lecturer asks for -------------------------------------------


def test_the_speaker_sees_notes_pace_and_each_formula_once(screen):
    show(screen, DECKS[0])
    with screen.page.expect_popup() as opened:
        screen.page.keyboard.press("s")
    speaker = opened.value
    notes = speaker.locator(".speaker-controls-notes .value")
    speaker.locator(".pacing").wait_for()
    for _ in range(3):
        screen.page.keyboard.press("ArrowRight")
    notes.locator("math").first.wait_for()
    assert not notes.locator("mjx-container").count()
    speaker.close()
    assert not screen.wrong


def test_a_deck_is_printed_a_slide_to_a_page_with_nothing_covered(screen):
    show(screen, DECKS[0])
    slides = screen.page.evaluate("Reveal.getTotalSlides()")
    show(screen, DECKS[0], "?print-pdf&showNotes=separate-page")
    pages = screen.page.locator(".pdf-page")
    pages.first.wait_for()
    assert pages.count() == slides
    assert screen.page.locator(".speaker-notes-pdf").count() == slides
    hidden = ".fragment:not(.fade-out, .fade-in-then-out)"
    shown = screen.page.locator(hidden).evaluate_all(
        "found => found.map(one => getComputedStyle(one).opacity)"
    )
    assert {*shown} == {"1"}


@pytest.mark.parametrize("deck", AUDITED)
def test_axe_finds_nothing_serious_on_slides(screen, deck):
    show(screen, deck)
    for place in (0, 2):
        screen.page.evaluate("place => Reveal.slide(place)", place)
        assert not audit(screen.page, OWN, exclude=[OVERLAY])


def test_on_pages_to_project_a_guess_comes_before_what_follows(browser):
    rules = (ROOT / "tools/lectures/projected.css").read_text("utf-8")
    with from_disk(browser, "04_attention.html") as page:
        page.add_style_tag(content=rules)
        assert page.locator("details:has-text('Answer')").count()
        questions = page.locator("#questions-to-think-about")
        assert not questions.locator("details:visible").count()
        guess = page.locator(".guess").first
        following = guess.locator("xpath=following-sibling::*").first
        assert not following.is_visible()
        guess.get_by_role("button").first.click()
        assert following.is_visible()
