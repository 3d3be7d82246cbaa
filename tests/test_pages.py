"""The built pages: what a reader's browser gets, page by page.

Each page is read once; every check gives what it has against a page.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

import course_pages
import pytest
from built_book import (
    ROOT,
    SITE,
    built_site,
    is_foreign,
    loads_of_style,
)
from lxml import html
from test_book import toc_files

CONTENTS = toc_files()
JAPANESE = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff]")
PLACE = re.compile(
    rf"{re.escape(str(ROOT))}/|PosixPath\('/|WindowsPath\('[A-Z]:"
    r"| at 0x[0-9a-f]{6,}|_confstruct"
)
"""The last: what an option of a command is, as tyro keeps it."""
TEXT_ONLY = {"script", "style", "title", "desc", "option", "textarea"}
"""Elements that may hold no others."""
TENTH = 10
"""Of the pages of sources, which are all alike, one in ten is looked at."""
GOES_TO = ("index", "search", "next", "prev", "canonical")
"""What a ``link`` may be that loads nothing."""


@cache
def file_of(address: str, page: Path) -> Path | None:
    """The file that an address names; None on another host."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    if not parts.path:
        return page
    return Path(os.path.normpath(page.parent / unquote(parts.path)))


class Page:
    """A built page."""

    def __init__(self, site: Path, path: Path):
        self.path = path
        self.name = path.relative_to(site).as_posix()
        self.text = path.read_text(encoding="utf-8")
        self.tree = html.fromstring(self.text.encode())
        self.ids = {*self.tree.xpath("//@id | //a/@name")}

    def target(self, address: str) -> Path | None:
        """The file that an address names; None on another host."""
        return file_of(address.partition("#")[0], self.path)

    @cached_property
    def links(self) -> list[str]:
        """Where a reader may go."""
        relations = self.tree.xpath("//link[@href]")
        return self.tree.xpath("//a/@href") + [
            link.get("href")
            for link in relations
            if link.get("rel") in GOES_TO
        ]

    @cached_property
    def loads(self) -> list[str]:
        """What the browser fetches by itself."""
        found = [
            link.get("href")
            for link in self.tree.xpath("//link[@href]")
            if link.get("rel") not in GOES_TO
        ]
        found += self.tree.xpath("//@src | //@poster | //object/@data")
        found += self.tree.xpath("//use/@href | //image/@href")
        for part in self.tree.xpath("//@srcset"):
            found += [one.split()[0] for one in part.split(",")]
        for css in self.tree.xpath("//@style | //style/text()"):
            found += loads_of_style(css)
        return found


# --- the checks --------------------------------------------------------------


def loads_from_another_host(page: Page) -> Iterator[str]:
    yield from filter(is_foreign, page.loads)
    for script in page.tree.xpath("//script[not(@src)]/text()"):
        yield from re.findall(r"https?://[\w.]+", script)


def loads_what_is_not_there(page: Page) -> Iterator[str]:
    for address in page.loads:
        file = page.target(address)
        if file and not file.is_file():
            yield address


def has_an_id_twice(page: Page) -> Iterator[str]:
    found = Counter(page.tree.xpath("//@id"))
    yield from (name for name, count in found.items() if count > 1)


def has_images_without_alt_text(page: Page) -> Iterator[str]:
    yield from page.tree.xpath(
        "//article//img[not(normalize-space(@alt))]/@src"
    )


def shows_a_figure_that_is_no_drawing(page: Page) -> Iterator[str]:
    """Its letters would not be the page's, nor follow it into the dark."""
    yield from page.tree.xpath("//figure//img/@src")
    yield from page.tree.xpath(
        "//*[@class='figure'][not(normalize-space(@aria-label))]/@style"
    )


def lacks_a_title_or_its_language(page: Page) -> Iterator[str]:
    titles = page.tree.xpath("//article//h1")
    if page.name.removesuffix(".html") in CONTENTS and len(titles) != 1:
        yield f"{len(titles)} titles"
    if page.tree.get("lang") != "en":
        yield f"language {page.tree.get('lang')}"


def shows_japanese_that_is_not_marked(page: Page) -> Iterator[str]:
    """A screen reader would spell it as if it were English."""
    if not JAPANESE.search(page.text):
        return
    for part in page.tree.body.iter():
        for parent, text in ((part, part.text), (part.getparent(), part.tail)):
            if not text or not JAPANESE.search(text):
                continue
            (language,) = parent.xpath("ancestor-or-self::*[@lang][1]/@lang")
            if language != "ja" and parent.tag not in TEXT_ONLY:
                yield text.strip()[:60]


def parts_a_formula_from_its_sign(page: Page) -> Iterator[str]:
    """Outside of the element that keeps the two on one line."""
    for formula in page.tree.xpath(
        "//span[starts-with(@class, 'math')][not(ancestor::nav)]"
    ):
        kept = formula.getparent().get("class") == "kept-together"
        if not kept and re.match(r"[.,;:!?)]", formula.tail or ""):
            yield formula.text_content()


def has_a_formula_that_is_not_drawn(page: Page) -> Iterator[str]:
    """Or lacks a sign, or what is heard."""
    for formula in page.tree.xpath("//*[starts-with(@class, 'math ')]"):
        if not formula.xpath(".//svg[@viewbox]"):
            yield formula.text_content()
        if not formula.xpath(".//math/*"):
            yield f"not heard: {formula.get('data-tex')}"
    ids = {*page.tree.xpath("//svg/defs/path/@id")}
    for sign in page.tree.xpath("//mjx-container//use/@href"):
        if sign.removeprefix("#") not in ids:
            yield sign


def names_a_folder_or_a_place_in_memory(page: Page) -> Iterator[str]:
    yield from PLACE.findall(page.text)


def has_icons_that_are_not_drawn(page: Page) -> Iterator[str]:
    """The font holds those that the pages name, and no others."""
    sizes = {"fa-solid", "fa-regular", "fa-brands", "fa-lg"}
    for name in {*re.findall(r"\bfa-[a-z-]+", page.text)} - sizes:
        if f".{name}:before" not in icon_sheet():
            yield name


@cache
def icon_sheet() -> str:
    """The rules of the icons."""
    return (SITE / "_static/icons.css").read_text(encoding="utf-8")


CHECKS = [
    loads_from_another_host,
    loads_what_is_not_there,
    has_an_id_twice,
    has_images_without_alt_text,
    shows_a_figure_that_is_no_drawing,
    lacks_a_title_or_its_language,
    shows_japanese_that_is_not_marked,
    parts_a_formula_from_its_sign,
    has_a_formula_that_is_not_drawn,
    names_a_folder_or_a_place_in_memory,
    has_icons_that_are_not_drawn,
]

# --- all pages ---------------------------------------------------------------


class Read:
    """What is known of the pages when all have been read."""

    def __init__(self, site: Path):
        self.site = site
        self.faults: dict[str, list[str]] = defaultdict(list)
        self.ids: dict[Path, set[str]] = {}
        self.links: list[tuple[str, str, Path]] = []
        for path in sorted(site.rglob("*.html")):
            # addresses of the 404 count from the site's: test_extensions
            parts = path.relative_to(site).parts
            if "_static" in parts or parts == ("404.html",):
                continue
            if site / "_modules" in path.parents and len(self.ids) % TENTH:
                text = path.read_text(encoding="utf-8")
                self.ids[path] = {*re.findall(r'\bid="([^"]+)"', text)}
                continue
            page = Page(site, path)
            self.ids[path] = page.ids
            for address in page.links:
                if file := page.target(address):
                    self.links.append((page.name, address, file))
            for check in CHECKS:
                self.faults[check.__name__] += [
                    f"{page.name}: {fault}" for fault in check(page)
                ]


@pytest.fixture(scope="module")
def pages() -> Read:
    """The built pages; skipped when they are not there, or stale."""
    return Read(built_site().resolve())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_no_page(pages, check):
    assert not pages.faults[check.__name__]


def test_links_inside_the_site_resolve(pages):
    assert len(pages.links) > 1000
    broken = []
    for name, address, file in pages.links:
        anchor = unquote(urlsplit(address).fragment)
        if not file.is_file():
            broken.append(f"{name}: no file {address}")
        elif anchor and anchor not in pages.ids.get(file, {anchor}):
            broken.append(f"{name}: no anchor {address}")
    assert not broken


def test_no_style_sheet_loads_anything_from_another_host(pages):
    sheets = [*pages.site.rglob("*.css")]
    assert sheets
    for path in sheets:
        css = path.read_text(encoding="utf-8")
        assert not [*filter(is_foreign, loads_of_style(css))], path.name


# --- what is put right when a page is written --------------------------------


@pytest.mark.parametrize(
    ("written", "marked"),
    [
        ("<p>cats: 猫。</p>", ["猫。"]),
        ("<pre><span>'彼'</span>\n彼女\n猫</pre>", ["彼", "彼女", "猫"]),
        ("<p>１０ and （a）</p><svg><text>猫</text></svg>", ["猫"]),
        ('<p lang="ja">猫 <b lang="en">猫 cats</b></p>', ["猫", "猫"]),
        ("<script>'猫'</script><svg><title>猫</title></svg>", []),
        ("<p>a &amp; 猫 &#62; 犬</p>", ["猫", "犬"]),
    ],
)
def test_japanese_is_marked_as_such_and_else_nothing_changes(written, marked):
    done = course_pages.mark(
        written, course_pages.JAPANESE, course_pages.IN_JAPANESE
    )
    found = re.findall(r'<(t?span) lang="ja">(.*?)</\1>', done)
    assert [text for _, text in found] == marked
    assert all((tag == "tspan") == ("<svg" in written) for tag, _ in found)
    left = re.sub(r'<(t?span) lang="ja">(.*?)</\1>', r"\2", done)
    assert left == written


def test_a_name_on_a_japanese_page_stays_on_its_line(monkeypatch):
    monkeypatch.setattr("course_edition.language", "ja")
    done = course_pages.put_right(
        "<p title='第04章'>第04章のPre-LNで、n-gramは--beam-size、a--bは別</p>"
    )
    kept = re.findall(r'<span class="kept-together">(.*?)</span>', done)
    assert kept == ["第04章", "Pre-LN", "n-gram", "--beam-size"]
