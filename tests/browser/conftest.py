"""One browser for all tests in it, and a server for the built pages."""

import sys

import pytest
from browsing import Tab, at_work, chapter_of, from_disk, served
from built_book import BOOK, ROOT, SITE, not_ready

from tools.chromium import find_chromium

sys.path.insert(0, str(BOOK / "_ext"))


@pytest.fixture(scope="session")
def browser():
    """Chromium; without one, what needs it is skipped."""
    name = "playwright.sync_api"
    reason = "needs playwright: `make test-browser` installs it"
    playwright = pytest.importorskip(name, reason=reason)
    program = find_chromium()
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

    def address(page: str) -> str:
        if reason := not_ready():
            pytest.skip(reason)
        folder = SITE.relative_to(ROOT / "_build").as_posix()
        return f"{host}/{folder}/{page}.html"

    return address


@pytest.fixture(scope="module")
def tab(browser, host):
    """A tab, for all tests of a file; each page is visited as the first."""
    context = browser.new_context(reduced_motion="reduce")
    context.add_init_script("localStorage.clear()")
    yield Tab(context.new_page(), host)
    context.close()


@pytest.fixture
def figure(browser, request):
    """The figure that a test is about, at work in its chapter."""
    with from_disk(browser, chapter_of(request.param)) as page:
        found = page.locator(f"[data-live={request.param}]").first
        found.scroll_into_view_if_needed()
        yield at_work(found)
