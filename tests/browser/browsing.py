"""What the tests in a browser need: a browser, a server, axe, the pages."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from threading import Thread

import pytest
from built_book import SITE, not_ready

WIDTHS = (1280, 390, 320)
THEMES = ("light", "dark")
HEIGHT = 800
BAD = ("error", "warning")
"""Kinds of messages that a page must not have."""
KINDS = {
    "chapter": (r"\d\d_", 3),
    "reference": (r"api/", 1),
    "source": (r"_modules/", 1),
    "other": (r"", 6),
}
"""Kinds of pages: how the address begins, and of how many some are."""
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


every_night = pytest.mark.skipif(
    os.environ.get("PAGES") == "some", reason="every night, with PAGES=all"
)
"""Marks a test that takes its time, and whose kind has others."""


def script(name: str) -> str:
    """A function of ``scripts/``, to be evaluated in a page."""
    path = Path(__file__).parent / "scripts" / f"{name}.js"
    return path.read_text("utf-8")


# --- which pages -------------------------------------------------------------


def kind_of(page: str) -> str:
    """The kind of a page, by its address."""
    return next(k for k, (start, _) in KINDS.items() if re.match(start, page))


def pages_of(site: Path) -> list[str]:
    """The addresses of all built pages, kind by kind."""
    found = [
        path.relative_to(site).as_posix().removesuffix(".html")
        for path in site.rglob("*.html")
    ]
    pages = [page for page in found if not page.startswith("_static/")]
    return sorted(
        pages, key=lambda page: (list(KINDS).index(kind_of(page)), page)
    )


def some_of(pages: list[str]) -> list[str]:
    """Of each kind a few, evenly spread."""
    chosen = []
    for kind, group in groupby(pages, kind_of):
        members = list(group)
        count = min(KINDS[kind][1], len(members))
        chosen += [members[n * len(members) // count] for n in range(count)]
    return chosen


def chosen_pages(asked: str) -> list[str]:
    """Pages that are asked for.

    Args:
        asked: ``all``, ``some`` (a few of each kind), or names of pages.

    Raises:
        pytest.UsageError: there is no such page.
    """
    there = pages_of(SITE)
    if asked == "all":
        return there
    if asked == "some":
        return some_of(there)
    names = asked.split()
    if unknown := [name for name in names if name not in there]:
        raise pytest.UsageError(
            f"PAGES={asked}: {unknown[0]!r} is no page of the book; give "
            "'all', 'some' or pages such as '04_attention api/interpretation'"
        )
    return [page for page in there if page in names]


# --- a server, the browser, a tab of it, and axe -----------------------------


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *args) -> None:
        """Ignore a request."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a folder while it is served."""
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def elsewhere(address: str) -> bool:
    """Whether an address is neither on the disk nor made by the page."""
    return not address.startswith(("file:", "data:", "blob:"))


@contextmanager
def from_disk(browser, name: str) -> Iterator:
    """A page of the book, opened from a disk; no script may complain."""
    if reason := not_ready():
        pytest.skip(reason)
    with opened(browser, SITE / name) as page:
        yield page


@contextmanager
def opened(browser, path: Path, **settings) -> Iterator:
    """A file as a page; no script may complain.

    Args:
        browser: that opens it.
        path: of the file.
        settings: of the browser's context, besides those here.
    """
    context = browser.new_context(
        reduced_motion="reduce",
        viewport={"width": 1280, "height": 900},
        **settings,
    )
    page, said = context.new_page(), []
    page.on("console", lambda m: m.type in BAD and said.append(m.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda r: elsewhere(r.url) and said.append(r.url))
    page.goto(path.as_uri())
    yield page
    assert not said, said
    context.close()


class Tab:
    """A page of the browser, and what went wrong in it."""

    def __init__(self, page, root: str):
        self.page = page
        self.root = root
        self.wrong: list[str] = []
        page.on("console", self._heard)
        page.on(
            "pageerror", lambda error: self.wrong.append(f"error: {error}")
        )
        page.on("request", self._asked)

    def _heard(self, message) -> None:
        if message.type == "error":
            self.wrong.append(f"console: {message.text}")

    def _asked(self, request) -> None:
        own = (self.root, "data:", "blob:", "file:")
        if not request.url.startswith(own):
            self.wrong.append(f"asks another host: {request.url}")

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


def audit(tab, rules: dict, *left: str) -> list[str]:
    """All that axe-core has against a page."""
    where = {"exclude": [[box] for box in left]}
    return run_axe(tab.page, where, rules, None)


def audit_figures(page) -> list[str]:
    """All that axe-core has against the figures that answer."""
    return run_axe(page, {"include": [["[data-live]"]]}, {}, None)


def run_axe(page, *asked) -> list[str]:
    """Run axe-core, which is put into a page once."""
    package = pytest.importorskip("axe_playwright_python")
    if not page.evaluate("'axe' in window"):
        path = Path(package.__file__).with_name("axe.min.js")
        page.evaluate(path.read_text(encoding="utf-8"))
    return page.evaluate(script("axe"), list(asked))
