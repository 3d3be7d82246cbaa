"""The book on paper: what is printed of a page, and the PDF of some."""

import os
import re
import subprocess
import sys

import pytest
from built_book import ROOT, SITE, not_ready

from transformer_course.errors import CourseError

NEEDS = "needs {}: `make test-browser` installs it"
pypdf = pytest.importorskip("pypdf", reason=NEEDS.format("pypdf"))
pytest.importorskip("playwright", reason=NEEDS.format("playwright"))
book_pdf = pytest.importorskip("tools.book_pdf")

pytestmark = pytest.mark.xdist_group("pdf")
"""All on one worker, which makes the file once."""
A4 = (794, 1123)
"""CSS pixels."""
PAGES = ["index", "04_attention", "05_score_functions"]
SIZES = """() => [...document.querySelectorAll("article svg.figure")]
  .map((image) => image.getBoundingClientRect())
  .map(({ width, height }) => [width, height])"""


@pytest.fixture(scope="module")
def printed(tab, address_of):
    """A chapter, as it is on paper."""
    tab.open(address_of("04_attention"))
    tab.page.set_viewport_size(dict(zip(("width", "height"), A4, strict=True)))
    tab.page.emulate_media(media="print")
    yield tab.page
    tab.page.emulate_media(media="screen")


def test_what_is_folded_is_open_while_it_is_printed(printed):
    folds = printed.locator("article details")
    states = "folds => folds.map(fold => fold.open)"
    before = folds.evaluate_all(states)
    printed.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert all(folds.evaluate_all(states)) and not all(before)
    printed.evaluate("dispatchEvent(new Event('afterprint'))")
    assert folds.evaluate_all(states) == before


def test_a_figure_fits_on_a_page(printed):
    sizes = printed.evaluate(SIZES)
    assert sizes
    assert all(wide < A4[0] and high < 0.8 * A4[1] for wide, high in sizes)


def test_no_menu_and_no_button_is_printed(printed):
    for part in (
        ".bd-sidebar-primary", ".bd-sidebar-secondary", ".bd-header-article",
        "article button", "article .headerlink", ".bd-footer-content",
        ".plain-fold summary",
    ):  # fmt: skip
        assert not printed.locator(f"{part}:visible").count(), part


def test_what_a_cell_shows_is_printed_though_it_is_folded(tab, address_of):
    tab.open(address_of("13_generation"))
    tab.page.emulate_media(media="print")
    tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    shown = tab.page.locator(".plain-fold.below-input")
    assert "def beam_search" in shown.inner_text()
    assert not tab.page.locator(".plain-fold summary:visible").count()


# --- the PDF -----------------------------------------------------------------


def pdf_of(target, *pages, edition="en"):
    """Some pages of a book in one file; in a process of their own."""
    code = (
        "import sys; from pathlib import Path; from tools.book_pdf import *;"
        "make_pdf(BUILT, Path(sys.argv[1]), names=sys.argv[2:])"
    )
    command = [sys.executable, "-c", code, str(target), *pages]
    own = os.environ | {"EDITION": edition}
    subprocess.run(command, check=True, cwd=ROOT, env=own)
    return pypdf.PdfReader(target)


@pytest.fixture(scope="module")
def pdf(browser, tmp_path_factory):
    """Three pages of the book."""
    if reason := not_ready():
        pytest.skip(reason)
    return pdf_of(tmp_path_factory.mktemp("pdf") / "book.pdf", *PAGES)


def entries(pdf, outline=None, depth=0):
    """Depth, title and page of all that the outline holds."""
    for entry in outline if outline is not None else pdf.outline:
        if isinstance(entry, list):
            yield from entries(pdf, entry, depth + 1)
        else:
            number = pdf.get_destination_page_number(entry)
            yield depth, entry.title, number


def test_outline_and_contents_lead_to_chapters_and_sections(pdf):
    pages = {title: page for _, title, page in entries(pdf)}
    for title in ("04 · Attention", "Divide by the square root"):
        assert title in pdf.pages[pages[title]].extract_text()
    assert pages["Divide by the square root"] > pages["05 · Score functions"]
    contents = pdf.pages[1].extract_text()
    for title in ("04 · Attention", "05 · Score functions"):
        number = str(pages[title] + 1)
        assert number in contents.partition(title)[2].split()[:1]
        assert number in pdf.pages[pages[title]].extract_text().split()


def test_links_lead_into_the_pdf_and_none_to_a_file(pdf):
    links = [
        annotation.get_object()
        for page in pdf.pages
        for annotation in page.get("/Annots", [])
    ]
    outside = [str(link["/A"]["/URI"]) for link in links if "/A" in link]
    assert outside and not [uri for uri in outside if "file:" in uri]
    pages = {title: page for _, title, page in entries(pdf)}
    start, end = pages["04 · Attention"], pages["05 · Score functions"]
    from_04 = [
        pdf.get_page_number(link.get_object()["/Dest"][0].get_object())
        for page in pdf.pages[start:end]
        for link in page.get("/Annots", [])
        if "/Dest" in link.get_object()
    ]
    assert any(page > end for page in from_04), "no section of chapter 05"


def test_answers_are_printed(pdf):
    questions, *_ = (
        page
        for _, title, page in entries(pdf)
        if title == "Questions to think about"
    )
    pages = pdf.pages[questions : questions + 3]
    text = "".join(page.extract_text() for page in pages)
    assert "attention becomes the dictionary that we began with" in " ".join(
        text.split()
    )


def test_what_is_japanese_is_found_in_lines_of_34_to_40_letters(
    browser, tmp_path
):
    """Not 日 as the radical ⽇, which looks the same."""
    if not (ROOT / "_build/ja/.built").exists():  # or only half
        pytest.skip("the Japanese edition is not built: make book EDITION=ja")
    pdf = pdf_of(tmp_path / "book.pdf", "index", edition="ja")
    _, contents, *pages = [page.extract_text() for page in pdf.pages]
    text = "".join(pages)
    if "ます" not in text:
        pytest.skip("needs a Japanese font")
    assert "目次" in contents and "日本語" in text
    assert not re.findall("[\u2e80-\u2fdf]", contents + text)
    lines = re.findall("^[^\\0-~]+$", text, re.M)
    assert 34 <= max(map(len, lines)) <= 40


# --- what is missing ---------------------------------------------------------


def test_without_a_browser_one_line_says_what_to_do(monkeypatch):
    monkeypatch.setattr(book_pdf, "find_chromium", lambda: None)
    with pytest.raises(CourseError, match="needs Chromium.*install it"):
        book_pdf.make_pdf(SITE, ROOT / "never.pdf")
