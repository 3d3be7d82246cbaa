"""The book's sources and its built pages, for the tests that check them."""

import re
import tokenize
from dataclasses import dataclass, field
from functools import cache, cached_property
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import nbformat
import sphinx.locale
from docutils.nodes import make_id
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
EDITIONS = tuple(
    name for name in ("en", "ja") if (BOOK / name / "index.md").is_file()
)
SHOWN = ("image/png", "image/jpeg", "image/svg+xml")
"""Kinds of output that are pictures."""


def build_project(source: Path, site: Path, settings: dict) -> str:
    """Build a small Sphinx project; what it warned of.

    Sphinx keeps the words of an earlier build in the same process: without
    clearing them a page after a Japanese one would say 図 for Fig.
    """
    warnings = StringIO()
    sphinx.locale.translators.clear()
    with patch_docutils(), docutils_namespace():
        trees = site.with_name(f"{site.name}-trees")
        app = Sphinx(
            source,
            None,
            site,
            trees,
            "html",
            settings,
            status=None,
            warning=warnings,
        )
        app.build()
    sphinx.locale.translators.clear()
    return warnings.getvalue()


def site_of(edition: str) -> Path:
    """The folder that ``make book`` builds an edition into."""
    return ROOT / "_build" / edition / "_build" / "html"


def not_ready(edition: str) -> str | None:
    """Why the built pages cannot be checked; None if they can."""
    stamp = ROOT / "_build" / edition / ".built"
    if not stamp.is_file():
        return "the book is not built: run `make book`"
    built = stamp.stat().st_mtime
    sources = [ROOT / "_config.yml", ROOT / "_toc.yml"]
    for name in ("book", "runs", "transformer_course", "assignments"):
        sources += (ROOT / name).rglob("*")
    for path in sources:
        if "__pycache__" in path.parts or path.name.startswith("."):
            continue
        if path.is_file() and path.stat().st_mtime > built:
            name = path.relative_to(ROOT)
            return f"the built book is older than {name}: run `make book`"
    return None


def notebooks() -> list[Path]:
    """Every notebook of the book."""
    return _sources("*.ipynb")


def markdown_pages() -> list[Path]:
    """Every page of the book that is not a notebook."""
    return _sources("*.md")


def _sources(pattern: str) -> list[Path]:
    return [
        path
        for path in sorted(BOOK.rglob(pattern))
        if ".ipynb_checkpoints" not in path.parts
    ]


def read(path: Path) -> NotebookNode:
    """A notebook."""
    return nbformat.read(path, as_version=4)


def code_cells(path: Path) -> list[NotebookNode]:
    """The code cells of a notebook that have any code in them."""
    return [
        cell
        for cell in read(path).cells
        if cell.cell_type == "code" and cell.source.strip()
    ]


def ends_with_semicolon(source: str) -> bool:
    """Whether the last sign of the code, comments left out, is one."""
    last = ""
    try:
        for token in tokenize.generate_tokens(StringIO(source).readline):
            if token.type == tokenize.OP or token.string.strip():
                last = last if token.type == tokenize.COMMENT else token.string
    except (tokenize.TokenError, SyntaxError):  # not whole: other tests say so
        return False
    return last == ";"


def pictures(cell: NotebookNode) -> int:
    """How many pictures a code cell puts out."""
    return sum(
        any(kind in output.get("data", {}) for kind in SHOWN)
        for output in cell.outputs
    )


def markdown_of(path: Path) -> str:
    """The prose of a page: a notebook's Markdown cells, or the whole file."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    return "\n\n".join(
        cell.source
        for cell in read(path).cells
        if cell.cell_type == "markdown"
    )


def headings(path: Path) -> list[str]:
    """The headings of a page, as they are written."""
    code = re.sub(r"^(`{3,}).*?^\1", "", markdown_of(path), flags=re.S | re.M)
    return re.findall(r"^#{1,6} +(.+?) *$", code, re.M)


@cache
def section_ids(path: Path) -> set[str]:
    """The names that the sections of a page have in its address."""
    return {
        make_id(re.sub(r"['’]", "", heading)) for heading in headings(path)
    }


def assert_leads_somewhere(target: str) -> None:
    """That ``page#section`` is there, or a chapter that is to come."""
    page, _, section = target.partition("#")
    sources = [
        path
        for suffix in (".ipynb", ".md")
        if (path := BOOK / "en" / f"{page}{suffix}").is_file()
    ]
    if sources:
        there = section_ids(sources[0])
        assert not section or section in there, f"{target}: {sorted(there)}"
        return
    number = re.match(r"\d\d_", page)
    assert number, f"{target}: no such page"
    taken = [path.name for path in BOOK.glob(f"en/{number.group()}*")]
    assert not taken, f"{target}: the chapter is called {taken[0]}"
    assert not section, f"{target}: nobody knows its sections yet"


def pictures_without_alt(markdown: str) -> list[str]:
    """Images and figure directives of a Markdown text that lack alt text."""
    images = re.findall(r"!\[\s*\]\([^)]*\)", markdown)
    tags = [
        tag
        for tag in re.findall(r"<img\b[^>]*>", markdown)
        if not re.search(r"\balt=([\"'])\s*\S", tag)
    ]
    directive = r"^(`{3,}|:{3,})\{(?:figure|image)\}(.*?)^\1"
    blocks = [
        block.group(0).splitlines()[0]
        for block in re.finditer(directive, markdown, re.S | re.M)
        if not re.search(r"^:alt:\s*\S", block.group(2), re.M)
    ]
    return images + tags + blocks


@dataclass
class Page(HTMLParser):
    """What a built page holds that the tests look at."""

    path: Path
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    """Where a reader may go."""
    loads: list[str] = field(default_factory=list)
    """What the browser fetches by itself."""
    scripts: list[str] = field(default_factory=list)
    """Inline code."""
    no_alt: list[str] = field(default_factory=list)
    """Images of the article without alt text."""
    language: str | None = None
    headings: int = 0
    """Headings of level one in the article."""

    def __post_init__(self):
        super().__init__()
        self._article = 0
        self._script = False
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        """Sort one element into what it means for the tests."""
        given = {key: value or "" for key, value in attributes}
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "html":
            self.language = given.get("lang")
        if tag == "a" and "name" in given:
            self.ids.add(given["name"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self._collect_loads(tag, given)
        if tag == "article":
            self._article += 1
        if tag == "h1" and self._article:
            self.headings += 1
        if tag == "img" and self._article and not given.get("alt", "").strip():
            self.no_alt.append(given.get("src", "?")[:80])
        self._script = tag == "script" and "src" not in given

    def _collect_loads(self, tag, given):
        if tag == "link" and "href" in given:
            relation = set(given.get("rel", "").split())
            if relation & {"index", "search", "next", "prev", "canonical"}:
                self.links.append(given["href"])
            else:
                self.loads.append(given["href"])
        elif tag in ("object", "use", "image"):
            self.loads += [given[k] for k in ("data", "href") if k in given]
        elif tag != "a":
            self.loads += [given[k] for k in ("src", "poster") if k in given]
        for part in given.get("srcset", "").split(","):
            self.loads += part.split()[:1]
        self.loads += loads_of_style(given.get("style", ""))

    def handle_data(self, data):
        """Keep inline scripts and what inline styles load."""
        if self._script:
            self.scripts.append(data)
        elif self.lasttag == "style":
            self.loads += loads_of_style(data)

    def handle_endtag(self, tag):
        """Know when the article and a script end."""
        if tag == "article":
            self._article -= 1
        self._script = False


def loads_of_style(css: str) -> list[str]:
    """The addresses that a style sheet fetches."""
    urls = re.findall(r"url\(\s*[\"']?([^\"')]+)", css)
    imports = re.findall(r"@import\s+[\"']([^\"']+)", css)
    return urls + imports


def is_foreign(address: str) -> bool:
    """Whether an address leads to another host."""
    return bool(re.match(r"(?:https?:)?//", address.strip(), re.I))


class Site:
    """The built pages of an edition."""

    def __init__(self, folder: Path):
        self.folder = folder

    @cached_property
    def pages(self) -> dict[Path, Page]:
        """Every HTML page, by its path."""
        return {
            path: Page(path)
            for path in sorted(self.folder.rglob("*.html"))
            if "_static" not in path.relative_to(self.folder).parts
        }

    def name(self, path: Path) -> str:
        """How a failure names a page."""
        return path.relative_to(self.folder).as_posix()
