"""The search, as a learner uses it: typed, and read from the top.

What it finds is tested in tests/test_search.py, without a browser.
"""

import pytest
from browsing import FOCUSED, script
from built_book import SITE

FIELD = ".bd-search-container input"
PAGES = "#search-results h2 a"
SECTIONS = "#search-results ul a"
FOREIGN = script("foreign")
"""Japanese whose language is not marked."""


@pytest.fixture
def search(tab, address_of):
    """The search page, with nothing in its field; loaded once."""
    address = address_of("search")
    if tab.page.url.partition("?")[0] != address:
        tab.open(address)
    tab.page.locator(FIELD).fill("")
    return tab


def ask(tab, query: str) -> list[str]:
    """Type a query into the field; the addresses of the pages it finds."""
    tab.page.locator(FIELD).fill("")
    tab.page.locator(FIELD).focus()
    tab.page.keyboard.type(query)
    tab.page.keyboard.press("Enter")
    return tab.page.locator(PAGES).evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )


def test_from_any_page_by_keys_alone_to_what_was_found(tab, address_of):
    tab.open(address_of("04_attention"))
    keys = tab.page.keyboard
    keys.press("Control+k")
    keys.type("label smoothing")
    keys.press("Enter")
    tab.page.wait_for_url("**/search.html?q=label*smoothing")
    status = tab.page.locator("[role=status]")
    assert status.inner_text() == status.text_content() != ""
    first = tab.page.locator(PAGES).first.get_attribute("href")

    tab.page.locator(FIELD).focus()
    keys.press("Tab")
    assert tab.page.evaluate(f"{FOCUSED}.matches('{PAGES}')")
    keys.press("Tab")
    assert tab.page.evaluate(f"{FOCUSED}.matches('{SECTIONS}')")
    keys.press("Enter")
    tab.page.wait_for_url(f"**/{first}#*")
    assert not tab.wrong


def test_keys_reach_each_result_that_is_shown_and_unfold_others(search):
    keys = search.page.keyboard
    ask(search, "attention")
    shown = "#search-results :is(a, summary)"
    count = search.page.locator(f"{shown}:visible").count()
    for _ in range(count):
        keys.press("Tab")
        assert search.page.evaluate(f"{FOCUSED}.matches('{shown}')")
    keys.press("Enter")  # the last one: other pages
    assert search.page.locator(f"{shown}:visible").count() > count


def test_an_answer_follows_what_is_typed_and_says_when_there_is_none(search):
    status = search.page.locator("[role=status]")
    search.page.locator(FIELD).focus()
    search.page.keyboard.type("softmax")
    search.page.locator(PAGES).first.wait_for()
    found = status.inner_text()
    ask(search, "xyzzyx")
    assert "xyzzyx" in status.inner_text() != found
    assert not search.page.locator(PAGES).count()


def test_it_works_without_a_server(tab, address_of):
    address_of("search")  # or is skipped
    page = SITE / "search.html"
    tab.page.goto(f"{page.as_uri()}?q=softmax")
    assert tab.page.locator(PAGES).count()
    assert tab.page.locator("#search-results mark").count()


def test_japanese_among_the_results_is_marked_as_such(search):
    assert ask(search, "Soseki cat")
    assert search.page.locator("#search-results [lang=ja]").count()
    assert not search.page.evaluate(FOREIGN, "#search-results")
