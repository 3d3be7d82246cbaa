"""One browser for all tests in it, and a server for the built pages."""

import pytest
from browsing import HEIGHT, WIDTHS, chromium
from built_book import EDITIONS, ROOT, not_ready, site_of

from tools.page_weight import served

SETTLED = """async () => {
  await document.fonts.ready;
  await window.MathJax?.startup?.promise;
}"""
"""Formulas are set."""
FOLLOWED = 350
"""Milliseconds; the theme waits 300 before it follows a new width."""
AT_ONCE = """*, *::before, *::after {
  animation: none !important; transition: none !important;
  scroll-behavior: auto !important;
}"""
"""Nothing is on its way from one state to the next."""


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
        if not request.url.startswith((self.root, "data:", "blob:")):
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


@pytest.fixture(scope="session")
def browser():
    """Chromium; without one, what needs it is skipped."""
    name = "playwright.sync_api"
    reason = "needs playwright: `make test-browser` installs it"
    playwright = pytest.importorskip(name, reason=reason)
    program = chromium()
    if program is None:
        pytest.skip("needs a Chromium: install one, or name it by CHROMIUM=")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def host(browser):
    """The address under which everything that is built is served."""
    with served(ROOT / "_build") as address:
        yield address


@pytest.fixture(scope="session")
def address_of(host):
    """The address of a built page; skipped when missing or stale."""

    def address(edition: str, page: str) -> str:
        if reason := not_ready(edition):
            pytest.skip(reason)
        folder = site_of(edition).relative_to(ROOT / "_build").as_posix()
        return f"{host}/{folder}/{page}.html"

    return address


@pytest.fixture(scope="module")
def tab(browser, host):
    """A tab, for all tests of a file; each page is visited as the first."""
    context = browser.new_context(reduced_motion="reduce")
    context.add_init_script("localStorage.clear()")
    yield Tab(context.new_page(), host)
    context.close()


@pytest.fixture(params=EDITIONS)
def edition(request) -> str:
    """The edition that a test is about."""
    return request.param
