"""The book's sources and its built pages, for the tests that check them."""

import json
import re
import shutil
import subprocess
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import nbformat
import pytest
from lxml import html
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
SITE = ROOT / "_build/en/_build/html"
"""Folder that ``make book`` builds the pages into."""


def build_project(
    folder: Path, extensions: str, pages: dict[str, str], **settings
) -> str:
    """Build a small Sphinx project into ``folder/html``; what it warned of.

    Sphinx keeps the words of an earlier build in the same process, and its
    parsers of files: without clearing them a page after a Japanese one would
    say 図 for Fig., and MyST-NB would not read what MyST has read before.
    """
    # not for everybody who imports this module: loading Sphinx takes a while
    import sphinx.locale
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    source, warnings = folder / "source", StringIO()
    for name, text in pages.items():
        path = source / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    settings = {
        "extensions": extensions.split(),
        "source_suffix": {".rst": "restructuredtext"},
        "html_theme": "basic",
        "myst_enable_extensions": ["colon_fence", "dollarmath", "amsmath"],
        "numfig": True,
        "suppress_warnings": ["config.cache"],
    } | settings
    sphinx.locale.translators.clear()
    with patch_docutils(), docutils_namespace():
        Sphinx(
            source,
            None,
            folder / "html",
            folder / "trees",
            "html",
            settings,
            status=None,
            warning=warnings,
        ).build()
    sphinx.locale.translators.clear()
    return warnings.getvalue()


def built_page(folder: Path, name: str = "index") -> html.HtmlElement:
    """A page of a small project."""
    return html.fromstring((folder / f"html/{name}.html").read_bytes())


# --- the built pages ---------------------------------------------------------


@cache
def not_ready() -> str | None:
    """Why the built pages cannot be checked; None if they can."""
    stamp = ROOT / "_build/en/.built"
    if not stamp.is_file():
        return "the book is not built: run `make book`"
    built = stamp.stat().st_mtime
    sources = [ROOT / "_config.yml", ROOT / "_toc.yml"]
    folders = "book course_exercises experiments/results transformer_course"
    for name in folders.split():
        sources += (ROOT / name).rglob("*")
    for path in sources:
        if {"__pycache__", "ja"} & {*path.parts} or path.name.startswith("."):
            continue
        if path.is_file() and path.stat().st_mtime > built:
            name = path.relative_to(ROOT)
            return f"the built book is older than {name}: run `make book`"
    return None


def built_site() -> Path:
    """The built pages; the test is skipped where they cannot be checked."""
    if reason := not_ready():
        pytest.skip(reason)
    return SITE


def in_node(name: str, scripts: list[Path], *given: Any) -> Any:
    """What ``answer`` of ``scripts/NAME.js`` gives beside a page's own."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node, to run the page's own script")
    folder = Path(__file__).with_name("scripts")
    done = subprocess.run(
        [node, folder / "node.js", *scripts, folder / f"{name}.js"],
        input=json.dumps(given),
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return json.loads(done.stdout)


def loads_of_style(css: str) -> list[str]:
    """The addresses that a style sheet fetches."""
    urls = re.findall(r"url\(\s*[\"']?([^\"')]+)", css)
    imports = re.findall(r"@import\s+[\"']([^\"']+)", css)
    return urls + imports


def is_foreign(address: str) -> bool:
    """Whether an address leads to another host."""
    return bool(re.match(r"(?:https?:)?//", address.strip(), re.I))


# --- the sources -------------------------------------------------------------


def notebooks() -> list[Path]:
    """Every notebook of the book."""
    return sorted((BOOK / "en").glob("*.ipynb"))


@cache
def read(path: Path) -> NotebookNode:
    """A notebook, which all tests share: none may change it."""
    return nbformat.v4.reads(path.read_text(encoding="utf-8"))


def code_cells(path: Path) -> list[NotebookNode]:
    """The code cells of a notebook."""
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def pictures(cell: NotebookNode) -> int:
    """How many pictures a code cell puts out."""
    kinds = {"image/png", "image/jpeg", "image/svg+xml"}
    return sum(
        not kinds.isdisjoint(output.get("data", {})) for output in cell.outputs
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
    from docutils.nodes import make_id

    return {
        make_id(re.sub(r"['’]", "", heading)) for heading in headings(path)
    }
