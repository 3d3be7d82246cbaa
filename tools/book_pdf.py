"""The book as one PDF, printed by the Chromium that there is.

``python -m tools.book_pdf`` prints the built pages one by one, and joins them
behind a title page and a table of contents. A link to a page of the book leads
to its place in the PDF; chapters and sections are in the outline.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import yaml

from tools.chromium import find_chromium
from transformer_course.errors import CourseError

ROOT = Path(__file__).resolve().parent.parent
PAPER = {"format": "A4", "print_background": True}
PAGE = {
    "scale": 0.8,
    "margin": {
        "top": "18mm",
        "bottom": "22mm",
        "left": "20mm",
        "right": "20mm",
    },
}
"""How large letters are, and what is left around them."""

READY = """async () => {
  await document.fonts.ready;
  await window.MathJax?.startup?.promise;
  dispatchEvent(new Event("beforeprint"));
  // Chromium notes the place of what a link on the same page leads to
  const links = document.createElement("div");
  for (const part of document.querySelectorAll("article [id]")) {
    if (!part.closest("mjx-container")) {
      const link = document.createElement("a");
      link.href = `#${part.id}`;
      links.append(link);
    }
  }
  document.querySelector("article").append(links);
  const title = (section) => {
    const copy = section.querySelector("h1, h2")?.cloneNode(true);
    copy?.querySelectorAll(".headerlink, mjx-assistive-mml").forEach(
      (part) => part.remove());
    return copy?.textContent.trim() ?? "";
  };
  const sections = document.querySelectorAll("article > section > section");
  return {
    title: title(document.querySelector("article")),
    sections: [...sections].map((part) => [part.id, title(part)]),
  };
}"""
"""Make a page ready for paper, and say what it is called, and its sections."""

STYLE = """
body { font-family: serif; color: #222832; margin: 0; }
h1 { font-size: 34pt; margin: 70mm 0 10mm; text-align: center; }
.by { text-align: center; break-after: page; }
.by p { margin: 4mm; }
h2 { font-size: 20pt; }
h3 { font-size: 11pt; margin: 5mm 0 1mm; break-after: avoid; }
.line { display: flex; gap: 2mm; color: inherit; text-decoration: none; }
.line i { flex: 1; border-bottom: 1px dotted #999; margin-bottom: 1mm; }
"""
FOOT = """
body { margin: 0; font: 9pt serif; color: #48566b; }
div { height: 296mm; position: relative; break-after: page; }
p { position: absolute; bottom: 9mm; left: 20mm; right: 20mm; margin: 0;
    display: flex; justify-content: space-between; }
"""


@dataclass
class Printed:
    """A page of the book on paper."""

    name: str
    """Its address in the site, without ``.html``."""
    title: str
    sections: list[tuple[str, str]]
    """Anchors and titles."""
    pdf: Any
    """What pypdf has read."""
    start: int = 0
    """How many pages of paper are before it."""
    places: dict[str, Any] = field(default_factory=dict)
    """Where its anchors are."""


# --- printing ----------------------------------------------------------------


@contextmanager
def browser_page() -> Iterator[Any]:
    """A page of a browser.

    Raises:
        CourseError: there is no browser, or nothing that drives it.
    """
    try:
        import pypdf  # noqa: F401
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise CourseError(
            f"a PDF needs {error.name}, which is not installed: `make pdf` "
            "installs it from requirements-browser.txt"
        ) from error
    program = find_chromium()
    if program is None:
        raise CourseError(
            "a PDF needs Chromium, and there is none: install it (on Debian: "
            "sudo apt install chromium), or say where it is: make pdf "
            "CHROMIUM=/path/to/chromium"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser.new_page(color_scheme="light")
        browser.close()


def read_pdf(content: bytes) -> Any:
    """What pypdf makes of it."""
    from pypdf import PdfReader

    return PdfReader(BytesIO(content))


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
    told = page.evaluate(READY)
    pdf = read_pdf(page.pdf(**PAPER, **PAGE))
    return Printed(
        name,
        told["title"],
        told["sections"],
        pdf,
        places=pdf.named_destinations,
    )


def print_html(page: Any, style: str, body: str, **paper: Any) -> Any:
    """Print a page that is made here."""
    page.set_content(f"<style>{style}</style>{body}")
    return read_pdf(page.pdf(**PAPER, **paper))


# --- title, contents, feet ---------------------------------------------------


def parts_of(toc: Path) -> list[tuple[str, list[str]]]:
    """The captions of the table of contents, each with its pages."""
    table = yaml.safe_load(toc.read_text(encoding="utf-8"))
    parts = [("", [table["root"]])]
    for part in table["parts"]:
        names = []
        for entry in part["chapters"]:
            below = [each["file"] for each in entry.get("sections", [])]
            names += [entry["file"], *below]
        parts.append((part["caption"], names))
    return parts


def front(
    config: dict[str, Any],
    site: Path,
    parts: list[tuple[str, list[Printed]]],
) -> str:
    """The title page and the contents."""
    lines = []
    for caption, pages in parts:
        if caption:
            lines.append(f"<h3>{escape(caption)}</h3>")
        lines += [
            f'<a class="line" href="{(site / page.name).as_uri()}.html">'
            f"<span>{escape(page.title)}</span><i></i>"
            f"<span>{page.start + 1}</span></a>"
            for page in pages
        ]
    return (
        f"<h1>{escape(config['title'])}</h1>"
        f'<div class="by"><p>{escape(config["author"])}</p>'
        f"<p>{escape(str(config['copyright']))}</p>"
        f"<p>{config['html']['extra_footer']}</p></div>"
        f"<h2>Contents</h2>{''.join(lines)}"
    )


def feet(titles: list[str]) -> str:
    """What stands below each page: where one is, and its number."""
    return "".join(
        f"<div><p><span>{escape(title)}</span><span>{number}</span></p></div>"
        for number, title in enumerate(titles, 1)
    )


# --- joining -----------------------------------------------------------------


class Book:
    """One PDF of what was printed."""

    def __init__(self, site: Path, opening: Any, pages: list[Printed]):
        from pypdf import PdfWriter

        self.site = site.as_uri()
        self.pages = {page.name: page for page in pages}
        self.writer = PdfWriter()
        for pdf in [opening, *(page.pdf for page in pages)]:
            for sheet in pdf.pages:
                self.writer.add_page(sheet)

    def place(self, page: Printed, anchor: str) -> tuple[int, float | None]:
        """The sheet of an anchor, and how far up; else the page's first."""
        found = page.places.get(f"/{unquote(anchor)}")
        if found is None:
            return page.start, None
        sheet = page.pdf.get_destination_page_number(found)
        return page.start + sheet, float(found.top)

    def target(
        self, link: Any, own: Printed | None
    ) -> tuple[int, float | None] | None:
        """Where a link leads in the PDF; None if it leads out of it."""
        if own and "/Dest" in link:
            return self.place(own, str(link["/Dest"]).removeprefix("/"))
        address, anchor = urldefrag(str(link.get("/A", {}).get("/URI", "")))
        name = address.removeprefix(f"{self.site}/").removesuffix(".html")
        page = self.pages.get(unquote(name))
        return page and self.place(page, anchor)

    def mend_links(self, sheet: Any, own: Printed | None) -> None:
        """Let links lead into the PDF; one to a file that is none goes."""
        from pypdf.generic import (
            ArrayObject,
            FloatObject,
            NameObject,
            NullObject,
        )

        kept = ArrayObject()
        for reference in sheet.get("/Annots", []):
            link = reference.get_object()
            target = self.target(link, own)
            if target:
                number, top = target
                link.pop("/A", None)
                link[NameObject("/Dest")] = ArrayObject(
                    [
                        self.writer.pages[number].indirect_reference,
                        NameObject("/XYZ"),
                        NullObject(),
                        NullObject() if top is None else FloatObject(top),
                        NullObject(),
                    ]
                )
            elif str(link.get("/A", {}).get("/URI", "")).startswith("file:"):
                continue
            kept.append(reference)
        sheet[NameObject("/Annots")] = kept

    def finish(self, parts: list[tuple[str, list[Printed]]], feet: Any) -> Any:
        """Links, numbers and outline; the writer."""
        owners = {
            page.start + number: page
            for page in self.pages.values()
            for number in range(len(page.pdf.pages))
        }
        for number, sheet in enumerate(self.writer.pages):
            self.mend_links(sheet, owners.get(number))
            if number:  # the title page has none
                sheet.merge_page(feet.pages[number])
            sheet.compress_content_streams()
        for caption, pages in parts:
            above = None
            if caption:
                above = self.outline(caption, pages[0].start, None, None)
            for page in pages:
                entry = self.outline(page.title, page.start, None, above)
                for anchor, title in page.sections:
                    self.outline(title, *self.place(page, anchor), entry)
        self.writer.compress_identical_objects()
        return self.writer

    def outline(
        self, title: str, number: int, top: float | None, above: Any
    ) -> Any:
        """Add an entry to the outline."""
        from pypdf.generic import Fit

        fit = Fit.fit() if top is None else Fit.xyz(top=top)
        return self.writer.add_outline_item(
            title, number, parent=above, fit=fit, is_open=False
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
    from tqdm import tqdm

    text = (ROOT / "_config.yml").read_text(encoding="utf-8")
    config = yaml.safe_load(text)
    table = parts_of(ROOT / "_toc.yml")
    wanted = names or [name for _, part in table for name in part]
    with browser_page() as page:
        printed = {
            name: print_page(page, site, name)
            for name in tqdm(wanted, unit="page", leave=False)
        }
        parts = [
            (caption, [printed[name] for name in part if name in printed])
            for caption, part in table
        ]
        parts = [(caption, pages) for caption, pages in parts if pages]
        for _ in range(2):  # the contents' own length shifts its numbers
            body = front(config, site, parts)
            opening = print_html(page, STYLE, body, **PAGE)
            start = len(opening.pages)
            for each in (each for _, pages in parts for each in pages):
                each.start, start = start, start + len(each.pdf.pages)
        ordered = [each for _, pages in parts for each in pages]
        titles = [config["title"]] * len(opening.pages)
        titles += [each.title for each in ordered for _ in each.pdf.pages]
        numbers = print_html(page, FOOT, feet(titles))
    book = Book(site, opening, ordered).finish(parts, numbers)
    book.add_metadata({"/Title": config["title"], "/Author": config["author"]})
    target.parent.mkdir(parents=True, exist_ok=True)
    book.write(target)
    return len(book.pages)


def main() -> int:
    """Do what the command line asks for; 1 if it cannot be done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="such as 04_attention; all")
    options = parser.parse_args()
    build = ROOT / "_build"
    site = build / "en/_build/html"
    target = build / "book-en.pdf"
    try:
        count = make_pdf(site, target, options.pages)
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{count} pages. Open: file://{target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
