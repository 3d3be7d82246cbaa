"""What answers in a chapter's text: guesses, and terms that are explained."""

from urllib.parse import unquote

import pytest
from browsing import FEWER, audit, from_disk, tab_to

PAGE = "19_vision_transformer.html"


@pytest.fixture
def chapter(browser):
    """A chapter with guesses and terms, opened from a disk."""
    with from_disk(browser, PAGE) as page:
        yield page


@pytest.fixture
def phone(browser):
    """The same on a narrow screen that is touched."""
    size = {"width": 390, "height": 800}
    with from_disk(browser, PAGE, has_touch=True, viewport=size) as page:
        yield page


# --- guesses -----------------------------------------------------------------


def test_what_gives_a_guess_away_waits_for_an_answer_or_a_press(chapter):
    waiting = chapter.locator(".waits")
    marked = chapter.locator(".after-guess")
    assert waiting.count() == marked.count() > 5
    assert not any(one.is_visible() for one in marked.all())
    assert chapter.get_by_text("once you have answered").count() == 1
    wrong, *others = chapter.locator(".guess").all()
    wrong.get_by_role("button").first.click()
    assert wrong.locator(".guess-verdict").inner_text().startswith("Not quite")
    for box in others:
        assert not box.locator(".guess-answer").is_visible()
        box.get_by_role("button", name="Show the answer").click()
        said = box.locator(".guess-verdict").inner_text()
        assert said.startswith("The answer: ")
    for box in (wrong, *others):
        assert box.locator(".guess-answer").is_visible()
        assert not box.locator("button:enabled").count()
    assert not waiting.count()
    assert all(one.is_visible() for one in marked.all())


def test_a_link_to_a_figure_that_waits_shows_it(chapter):
    name = chapter.locator(".waits figure").last.get_attribute("id")
    figure = chapter.locator(f"#{name}")
    assert not figure.is_visible()
    chapter.evaluate("name => (location.hash = name)", name)
    figure.wait_for()
    assert chapter.locator(".waits").count()  # of other guesses


def test_on_paper_nothing_waits_and_no_term_is_marked(chapter):
    chapter.emulate_media(media="print")
    marked = chapter.locator(".after-guess")
    assert all(one.is_visible() for one in marked.all())
    line = "link => getComputedStyle(link).textDecorationLine"
    term = chapter.locator("a:has(> .term)").first
    assert term.evaluate(line) == "none"


def test_without_scripts_nothing_waits_and_terms_are_links(browser):
    with from_disk(browser, PAGE, java_script_enabled=False) as page:
        marked = page.locator(".after-guess:not(details *)")
        assert all(one.is_visible() for one in marked.all())
        assert not page.get_by_text("畳み込み").first.is_visible()
        page.locator("a:has(> .term)").first.click()
        assert "/glossary.html#term-" in page.url


# --- terms -------------------------------------------------------------------


def test_each_term_says_what_it_means_inside_the_window(phone):
    box = phone.locator("#term-meaning")
    terms = phone.locator("a:has(> .term)")
    assert terms.count() > 20
    for term in terms.all()[:: 3 if FEWER else 1]:
        term.tap()
        box.wait_for()
        name = box.locator("b").first.inner_text().replace(" ", "-")
        assert unquote(term.get_attribute("href")).endswith(f"#term-{name}")
        assert box.locator("[lang=ja]").count()
        place, word = box.bounding_box(), term.bounding_box()
        assert place["x"] >= 0 and place["x"] + place["width"] <= 390
        assert place["y"] >= 0 and place["y"] + place["height"] <= 800
        top, bottom = word["y"], word["y"] + word["height"]
        assert place["y"] >= top or place["y"] + place["height"] <= bottom
    phone.locator("article h1").tap()
    box.wait_for(state="hidden")
    assert phone.url.endswith(PAGE)


def test_a_term_is_explained_to_pointer_and_keys(chapter):
    box = chapter.locator("#term-meaning")
    term = chapter.locator("a:has(> .term)").first
    tab_to(chapter, "a:has(> .term)")
    box.wait_for()
    assert term.get_attribute("aria-describedby") == "term-meaning"
    assert not audit(chapter, include=["#term-meaning"])
    chapter.keyboard.press("Escape")
    box.wait_for(state="hidden")
    assert term.get_attribute("aria-describedby") is None
    assert term.evaluate("link => link === document.activeElement")

    term.hover()
    box.wait_for()
    box.hover()
    chapter.wait_for_timeout(400)
    assert box.is_visible()  # what it says can be pointed at and marked
    chapter.mouse.move(0, 0)
    box.wait_for(state="hidden")
