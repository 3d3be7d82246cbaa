"""The book as one PDF, printed by the installed Chromium.

``python -m tools.book_pdf`` prints the built pages one by one, and joins them
behind a title page and a table of contents. A link to a page of the book leads
to its place in the PDF; chapters and sections are in the outline. With
``EDITION=ja`` it is the Japanese book.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import jinja2
import yaml
from tqdm import tqdm

from tools.chromium import find_chromium
from tools.edition import BUILT, EDITION, ROOT, TREE, say
from tools.pdf_letters import mend_letters
from transformer_course.errors import CourseError

try:
    from playwright.sync_api import sync_playwright
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import (
        ArrayObject,
        Destination,
        Fit,
        NameObject,
        TextStringObject,
    )
except ImportError as error:
    sys.exit(
        f"error: a PDF needs {error.name}, which is not installed: `make pdf` "
        "installs it"
    )

TEMPLATE = Path(__file__).with_suffix(".html")
READY = Path(__file__).with_suffix(".js")
PATIENCE = 300_000
"""Milliseconds for a page, on a busy machine too."""
PAPER = {"format": "A4", "print_background": True}
STYLE = ROOT / "book/_static/course.css"
TOP, SIDE, BOTTOM = re.search(
    r"@page \{\s+margin: (\S+) (\S+) (\S+);", STYLE.read_text("utf-8")
).groups()
MARGIN = {"top": TOP, "bottom": BOTTOM, "left": SIDE, "right": SIDE}
PAGE = {"margin": MARGIN}


@dataclass
class Printed:
    """A page of the book on paper."""

    name: str
    """Its address in the site, without ``.html``."""
    title: str
    sections: list[tuple[str, str]]
    """Anchors and titles."""
    pdf: PdfReader
    start: int = 0
    """Number of sheets before it."""

    def place(self, anchor: str) -> tuple[int, Fit]:
        """The sheet of an anchor, and where on it; else the page's first."""
        found = self.pdf.named_destinations.get(f"/{unquote(anchor)}")
        if found is None:
            return self.start, Fit.fit()
        sheet = self.pdf.get_destination_page_number(found)
        return self.start + sheet, Fit.xyz(top=float(found.top))


Parts = list[tuple[str, list[Printed]]]
"""Captions of the table of contents, each with its pages."""


# --- printing ----------------------------------------------------------------


@contextmanager
def browser_page() -> Iterator[Any]:
    """A page of a browser.

    Raises:
        CourseError: there is no browser.
    """
    program = find_chromium()
    if program is None:
        raise CourseError(
            "a PDF needs Chromium, and there is none: install it (on Debian: "
            "sudo apt install chromium), or say where it is: make pdf "
            "CHROMIUM=/path/to/chromium"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        page = browser.new_page(color_scheme="light")
        page.set_default_timeout(PATIENCE)
        yield page
        browser.close()


def print_page(page: Any, site: Path, name: str) -> Printed:
    """Print a page of the site.

    Raises:
        CourseError: the site has no such page.
    """
    file = site / f"{name}.html"
    if not file.is_file():
        raise CourseError(
            f"{file} is not there: build the book (`make book`), and give "
            "pages such as 04_attention or api/interpretation"
        )
    page.goto(file.as_uri())
    about = page.evaluate(READY.read_text("utf-8"))
    return Printed(name, **about, pdf=print_pdf(page, **PAGE))


def print_template(page: Any, values: dict[str, Any], **paper: Any) -> Any:
    """Print the template, filled with values."""
    text = TEMPLATE.read_text("utf-8")
    template = jinja2.Template(text, autoescape=True)
    page.set_content(template.render(values))
    return print_pdf(page, **paper)


def print_pdf(page: Any, **paper: Any) -> PdfReader:
    """Print what the browser shows."""
    return PdfReader(BytesIO(page.pdf(**PAPER, **paper)))


# --- joining -----------------------------------------------------------------


def read_toc(toc: Path) -> list[tuple[str, list[str]]]:
    """The captions of the table of contents, each with its pages' names."""
    table = yaml.safe_load(toc.read_text("utf-8"))
    parts = [("", [table["root"]])]
    for part in table["parts"]:
        names = []
        for entry in part["chapters"]:
            below = [each["file"] for each in entry.get("sections", [])]
            names += [entry["file"], *below]
        parts.append((part["caption"], names))
    return parts


class Book:
    """One PDF of the printed pages."""

    def __init__(self, site: Path, opening: PdfReader, pages: list[Printed]):
        self.site = site.as_uri()
        self.pages = {page.name: page for page in pages}
        self.writer = PdfWriter()
        for pdf in [opening, *(page.pdf for page in pages)]:
            for sheet in pdf.pages:
                self.writer.add_page(sheet)

    def target(self, link: Any, own: Printed | None) -> tuple[int, Fit] | None:
        """The target of a link in the PDF; None if it leads out of it."""
        if own and "/Dest" in link:
            return own.place(str(link["/Dest"]).removeprefix("/"))
        address, anchor = urldefrag(str(link.get("/A", {}).get("/URI", "")))
        name = address.removeprefix(f"{self.site}/").removesuffix(".html")
        page = self.pages.get(unquote(name))
        return page and page.place(anchor)

    def redirect_links(self, sheet: Any, own: Printed | None) -> None:
        """Let links lead into the PDF; drop those to other files."""
        kept = ArrayObject()
        for reference in sheet.get("/Annots", []):
            link = reference.get_object()
            if target := self.target(link, own):
                number, fit = target
                place = self.writer.pages[number].indirect_reference
                link.pop("/A", None)
                link[NameObject("/Dest")] = Destination(
                    "link", place, fit
                ).dest_array
            elif str(link.get("/A", {}).get("/URI", "")).startswith("file:"):
                continue
            kept.append(reference)
        sheet[NameObject("/Annots")] = kept

    def finish(self, parts: Parts, feet: PdfReader) -> PdfWriter:
        """Add links, page numbers and the outline."""
        owners = {
            page.start + number: page
            for page in self.pages.values()
            for number in range(len(page.pdf.pages))
        }
        mended = set()
        for number, sheet in enumerate(self.writer.pages):
            self.redirect_links(sheet, owners.get(number))
            if number:  # the title page has none
                sheet.merge_page(feet.pages[number])
            mend_letters(sheet["/Resources"], mended)
            sheet.compress_content_streams()
        for caption, pages in parts:
            part = caption and self.outline(caption, pages[0].start, None)
            for page in pages:
                entry = self.outline(page.title, page.start, part or None)
                for anchor, title in page.sections:
                    number, fit = page.place(anchor)
                    self.outline(title, number, entry, fit)
        self.writer.compress_identical_objects()
        return self.writer

    def outline(
        self, title: str, number: int, parent: Any, fit: Fit | None = None
    ) -> Any:
        """Add an entry to the outline."""
        return self.writer.add_outline_item(
            title, number, parent, fit=fit or Fit.fit(), is_open=False
        )


def make_pdf(site: Path, target: Path, names: list[str] = ()) -> int:
    """Print a built site into one file.

    Args:
        site: the built pages.
        target: the file to write.
        names: the pages to print; all, if there are none.

    Returns:
        The number of its pages.

    Raises:
        CourseError: there is no browser, or no such page.
    """
    config = yaml.safe_load((TREE / "_config.yml").read_text("utf-8"))
    table = read_toc(TREE / "_toc.yml")
    wanted = names or [name for _, part in table for name in part]
    with browser_page() as page:
        printed = {
            name: print_page(page, site, name)
            for name in tqdm(wanted, unit="page", leave=False)
        }
        parts = [
            (caption, pages)
            for caption, part in table
            if (pages := [printed[name] for name in part if name in printed])
        ]
        ordered = [each for _, pages in parts for each in pages]
        front = {"config": config, "parts": parts, "side": SIDE}
        front |= {"site": site.as_uri(), "language": EDITION}
        front["contents"] = say("Contents")
        for _ in range(2):  # the contents' own length shifts its numbers
            opening = print_template(page, front, **PAGE)
            start = len(opening.pages)
            for each in ordered:
                each.start, start = start, start + len(each.pdf.pages)
        titles = [config["title"]] * len(opening.pages)
        titles += [each.title for each in ordered for _ in each.pdf.pages]
        feet = print_template(page, {**front, "titles": titles})
    book = Book(site, opening, ordered).finish(parts, feet)
    book.add_metadata({"/Title": config["title"], "/Author": config["author"]})
    book.root_object[NameObject("/Lang")] = TextStringObject(EDITION)
    target.parent.mkdir(parents=True, exist_ok=True)
    book.write(target)
    return len(book.pages)


def main() -> int:
    """Make the PDF; 1 if it cannot be made."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="such as 04_attention; all")
    options = parser.parse_args()
    target = ROOT / f"_build/book-{EDITION}.pdf"
    try:
        count = make_pdf(BUILT, target, options.pages)
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{count} pages. Open: file://{target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
