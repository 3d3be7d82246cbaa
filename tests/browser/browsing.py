"""What the tests in a browser need: a browser, a server, axe, the pages."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from built_book import SITE, not_ready

WIDTHS = (1280, 390, 320)
THEMES = ("light", "dark")
HEIGHT = 800
SOME = """
00_watch_it_translate 11_batches api/batches bibliography
_modules/course_exercises/answers index my_transformer projector running"""
"""A few pages of each kind."""
SETTLED = """async () => {
  await document.fonts.ready;
}"""
"""The letters are there."""
FOLLOWED = 350
"""Milliseconds; the theme waits 300 before it follows a new width."""
AT_ONCE = """*, *::before, *::after {
  animation: none !important; transition: none !important;
  scroll-behavior: auto !important;
}"""
"""Nothing is on its way from one state to the next."""


FEWER = os.environ.get("PAGES") == "some"
"""Whether this is a pull request, and not the night."""
every_night = pytest.mark.skipif(FEWER, reason="every night, with PAGES=all")
"""Marks a test that takes its time, and whose kind has others."""


def script(name: str) -> str:
    """A function of ``scripts/``, to be evaluated in a page."""
    path = Path(__file__).parent / "scripts" / f"{name}.js"
    return path.read_text("utf-8")


# --- which pages -------------------------------------------------------------


def chosen_pages(asked: str) -> list[str]:
    """Pages that are asked for: ``all``, ``some`` (a few of each kind), or
    names of pages."""
    wanted = SOME if asked == "some" else asked
    there = sorted(
        path.relative_to(SITE).as_posix().removesuffix(".html")
        for path in SITE.rglob("*.html")
    )
    return [
        page
        for page in there
        if (asked == "all" or page in wanted.split())
        and not page.startswith("_static/")
    ]


# --- a server, the browser, a tab of it, and axe -----------------------------


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *args) -> None:
        """Ignore a request."""


BAD = ("error", "warning")
"""Kinds of messages that a page must not have."""
FOCUSED = "document.activeElement"


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a folder while it is served."""
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def heard(page, root: str = "file:") -> list[str]:
    """What scripts complain of from now on, and what the page asks of others
    than the disk and the server at ``root``."""
    wrong, own = [], (root, "file:", "data:", "blob:")
    page.on("console", lambda m: m.type in BAD and wrong.append(m.text))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("request", lambda r: r.url.startswith(own) or wrong.append(r.url))
    return wrong


@contextmanager
def from_disk(browser, name: str | Path, **settings) -> Iterator:
    """A page of the book, opened from a disk; nothing may go wrong.

    Args:
        browser: that opens it.
        name: of the file.
        settings: of the browser's context, besides those here.
    """
    if reason := not_ready():
        pytest.skip(reason)
    wide = {"width": 1280, "height": 900}
    settings = {"reduced_motion": "reduce", "viewport": wide} | settings
    context = browser.new_context(**settings)
    page = context.new_page()
    wrong = heard(page)
    page.goto((SITE / name).as_uri())
    yield page
    assert not wrong
    context.close()


class Tab:
    """A page of the browser, and what went wrong in it."""

    def __init__(self, page, root: str):
        self.page = page
        self.root = root
        self.wrong = heard(page, root)

    def open(self, address: str, width: int = WIDTHS[0]) -> None:
        """Load a page, and wait until it has settled."""
        self.wrong.clear()
        self.resize(width)
        self.page.emulate_media(color_scheme="light")
        self.page.goto(address)
        self.page.add_style_tag(content=AT_ONCE)
        self.page.evaluate(SETTLED)

    def resize(self, width: int) -> None:
        """Make the window so wide; scripts are given time to follow."""
        if self.page.viewport_size["width"] != width:
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
            self.page.wait_for_timeout(FOLLOWED)

    def colour(self, theme: str) -> None:
        """Be light or dark, as the reader's system is."""
        self.page.emulate_media(color_scheme=theme)
        self.page.wait_for_function(
            "theme => document.documentElement.dataset.theme === theme",
            arg=theme,
        )


def tab_to(page, selector: str) -> None:
    """Press Tab until one of these elements has the focus."""
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate(f"s => {FOCUSED}.matches(s)", selector):
            return
    pytest.fail(f"Tab does not reach {selector}")


def audit(page, rules: dict | None = None, **where: list[str]) -> list[str]:
    """All that axe-core has against a page.

    Args:
        page: where axe-core is put in, once.
        rules: axe-core's, if not all of them.
        where: boxes to ``include`` or to ``exclude``.
    """
    package = pytest.importorskip("axe_playwright_python")
    if not page.evaluate("'axe' in window"):
        path = Path(package.__file__).with_name("axe.min.js")
        page.evaluate(path.read_text(encoding="utf-8"))
    return page.evaluate(script("axe"), [where or "html", rules or {}])


# --- the figures that answer -------------------------------------------------


def chapter_of(figure: str) -> str:
    """The first chapter with this figure; "" if nothing is built."""
    pages = sorted(SITE.glob("[0-9]*.html"))
    mark = f'data-live="{figure}"'
    return next((p.name for p in pages if mark in p.read_text("utf-8")), "")


def about(figure: str):
    """Give a test this ``figure``."""
    return pytest.mark.parametrize("figure", [figure], indirect=True)


def at_work(figure):
    """The figure, once it answers."""
    figure.locator("xpath=self::*[contains(@class, 'is-live')]").wait_for()
    return figure


def said(figure, words: str = "", status: str = "status") -> str:
    """The status line, once it has these words."""
    line = figure.locator(f"[data-lv={status}]", has_text=words)
    line.wait_for()
    return line.inner_text()


def slide(figure, name: str, *keys: str) -> None:
    """Move the slider of this name by the keyboard."""
    slider = figure.get_by_label(name, exact=True)
    for key in keys:
        slider.press(key)


def numbers(text: str) -> list[float]:
    """The numbers in a text, 1,200 and 4.2 × 10⁻⁷ among them."""
    text = text.replace("−", "-").replace(",", "").replace(" × 10⁻", "e-")
    text = text.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))
    found = re.findall(r"-?\d+\.?\d*(?:e-\d+)?", text)
    return [float(one) for one in found]
