"""A model that does not come, or stops, or is given what it does not read."""

import pytest
from browsing import at_work, every_night

PAGES = {
    "translator": "index",
    "river": "08_add_and_norm",
    "search": "13_generation",
}
"""Of figures that are not, or not only, in chapter 00."""
NO_WORKER = {
    "absent": "delete window.Worker",
    "thrown": "window.Worker = class { constructor() { throw Error(); } }",
    "forbidden": "worker-src 'none'",
}


@pytest.fixture
def page(browser):
    """A page of its own."""
    page = browser.new_page(reduced_motion="reduce")
    yield page
    page.close()


@pytest.fixture
def figure(page, address_of):
    """Open the page of a figure."""

    def opened(name):
        page.goto(address_of(PAGES.get(name, "00_watch_it_translate")))
        return page.locator(f"[data-live={name}]").first

    return opened


def again(figure):
    return figure.get_by_role("button", name="Try again")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("translator", "weights-01.js"),
        pytest.param("walk", "model.js", marks=every_night),
        pytest.param("search", "weights-00.js", marks=every_night),
    ],
)
def test_a_download_that_failed_is_tried_again(page, figure, name, file):
    page.route(f"**/{file}", lambda route: route.abort())
    root = figure(name)
    again(root).click()
    root.get_by_text("could not be loaded: the connection").wait_for()
    assert not root.locator("[data-lv=app]").is_visible()
    assert root.get_by_role("table").is_visible() == (name == "translator")
    page.unroute(f"**/{file}")
    again(root).click()
    assert not again(at_work(root)).is_visible()


@pytest.mark.parametrize("how", NO_WORKER)
def test_without_a_worker_the_page_computes(page, figure, how):
    def forbid(route):
        found = route.fetch()
        rule = {"content-security-policy": NO_WORKER[how]}
        route.fulfill(response=found, headers=found.headers | rule)

    if how == "forbidden":
        page.route("**/*.html", forbid)
    else:
        page.add_init_script(NO_WORKER[how])
    figure("translator").get_by_text("It writes").wait_for()


@pytest.mark.parametrize(
    "name", ["translator", pytest.param("river", marks=every_night)]
)
def test_a_worker_that_dies_is_replaced(page, figure, name):
    root = figure(name)
    at_work(root)
    for worker in page.workers:
        worker.evaluate("setTimeout(() => { throw Error(); })")
    root.get_by_text("The translator has stopped.").wait_for()
    assert root.get_by_role("table").is_visible() == (name == "translator")
    again(root).click()
    at_work(root)
    assert root.locator("optgroup").count() in (0, 2)  # not twice as many


def test_what_goes_on_is_said_from_the_first_moment(page, figure):
    held = []
    page.route("**/model.js", lambda route: held.append(route))
    root = figure("walk")
    root.get_by_text("Loading the model, …").wait_for()
    root = page.locator("[data-live=free-translator]")
    root.get_by_role("button", name="Load").click()
    root.get_by_text("Loading the model, …").wait_for()
    assert len(held) == 2
    page.route("**/weights-01.js", lambda route: None)
    for route in held:
        route.continue_()
    root.get_by_text(r"Loading the model, 0.5 of 15.0 MB").wait_for()


@pytest.mark.parametrize(
    "how", ["online", pytest.param("another figure", marks=every_night)]
)
def test_a_figure_goes_on_when_the_network_is_back(page, figure, how):
    page.route("**/models/**", lambda route: route.abort())
    root = figure("walk")
    again(root).wait_for()
    page.unroute("**/models/**")
    if how == "online":
        page.evaluate("dispatchEvent(new Event('online'))")
    else:
        again(page.locator("[data-live=translator]")).click()
    at_work(root)


def test_the_larger_translator_asks_for_words_that_it_reads(figure):
    root = figure("free-translator")
    field = root.get_by_label("Your sentence")
    go = root.locator("[data-lv=go]")
    for text, answer in (
        (" \u3000", "Write a sentence in English first."),
        ("Привет.", "all that this model reads. Write English."),
        ("Tomは猫が好きです。", "This does not look like English"),
    ):
        field.fill(text)
        go.click()
        root.get_by_text(answer).wait_for()
    root.get_by_role("button", name="Use Japanese to English").click()
    assert root.get_by_label("Japanese to English").is_checked()
    assert field.input_value() == text  # what fits stays
    field.fill("I like cats.")
    go.click()
    root.get_by_role("button", name="Use English to Japanese").wait_for()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("senses", "テニスをしたい", marks=every_night),
        ("free-translator", "兄より"),
    ],
)
def test_a_model_for_a_sentence_of_the_reader_is_asked_for_again(
    page, figure, name, words
):
    asked = []
    page.on("request", lambda one: asked.append(one.url))
    page.route("**/en-ja/weights-07.js", lambda route: route.abort())
    root = figure(name)
    at_work(root)
    assert not [url for url in asked if "en-ja" in url]
    root.get_by_role("button", name="Load the model (15 MB)").click()
    root.get_by_text("could not be loaded: the connection").wait_for()
    page.unroute("**/en-ja/weights-07.js")
    again(root).click()
    root.get_by_text(words).first.wait_for()
