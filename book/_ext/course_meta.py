"""What a page says of itself to search engines and to those who share it.

Each has a description, its first paragraph, and the tags of Open Graph. What
needs the address of the site, its own and its picture's, is written only
where ``SITE_URL`` gives one: ``make book SITE_URL=https://…/``. A page
``404.html`` is there for readers whose link has led nowhere.
"""

import os
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from course_preview import PREVIEW, SIZE, write_preview
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util.osutil import relative_uri

NOT_FOUND = "404"
LONGEST = 200
"""How many letters a description has."""


class Words(NamedTuple):
    """What an edition says."""

    locale: str
    book: str
    picture: str
    lost: str
    lost_text: str
    lost_links: dict[str, str]


WORDS = {
    "en": Words(
        "en_GB",
        "An open course that teaches the Transformer by building it.",
        "The Transformer as a diagram of coloured boxes.",
        "There is no such page",
        "The link that led here is wrong, or the page has moved.",
        {"index": "To the first page", "search": "Search the book"},
    ),
    "ja": Words(
        "ja_JP",
        "Transformer を作りながら学ぶ公開教材。",
        "色分けした箱で描いた Transformer の図。",
        "ページが見つかりません",
        "リンクが間違っているか、ページが移動しました。",
        {"index": "最初のページへ", "search": "本書を検索する"},
    ),
}


def words(app: Sphinx) -> Words:
    """The words of the edition."""
    return WORDS.get(app.config.language, WORDS["en"])


def take_address(app: Sphinx, config: Config) -> None:
    """Take the address of the site from ``SITE_URL``.

    Raises:
        ExtensionError: it is no address of a folder on the web.
    """
    given = os.environ.get("SITE_URL", "").strip()
    if not given:
        return
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ExtensionError(
            f"SITE_URL is {given!r}; it should be where the first page will "
            "be, such as https://example.org/course/."
        )
    config.html_baseurl = given.rstrip("/") + "/"


def first_paragraph(doctree: nodes.document | None) -> str:
    """The first words of a page that are prose, without formulas."""
    if doctree is None:
        return ""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        prose = isinstance(paragraph.parent, nodes.section | nodes.document)
        if prose and len(text) > 40 and not any(paragraph.findall(nodes.math)):
            return text
    return ""


def shortened(text: str) -> str:
    """At most ``LONGEST`` letters, ending with a whole word."""
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def tags(
    app: Sphinx, page: str, title: str, description: str
) -> Iterator[tuple[str, str, str]]:
    """Each tag: which of its attributes names it, its name, its content."""
    first, base = app.config.root_doc, app.config.html_baseurl
    yield "name", "description", description
    yield "property", "og:title", title
    yield "property", "og:description", description
    yield "property", "og:type", "website" if page == first else "article"
    yield "property", "og:site_name", app.config.html_title
    yield "property", "og:locale", words(app).locale
    if base:
        address = app.builder.get_target_uri(page)
        picture = urljoin(base, f"_static/{PREVIEW}")
        yield "property", "og:url", urljoin(base, address)
        yield "property", "og:image", picture
        yield "property", "og:image:width", str(SIZE[0])
        yield "property", "og:image:height", str(SIZE[1])
        yield "property", "og:image:alt", words(app).picture
        yield "name", "twitter:card", "summary_large_image"


def add_tags(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Write the tags into a page's head; the first page's title is the book's.

    Every address in ``404.html`` counts from the site's own, if there is one:
    it is shown in the place of pages of any depth.
    """
    first = page == app.config.root_doc
    titled = app.env.titles.get(page)
    title = titled.astext() if titled else context.get("title")
    text = "" if first else shortened(first_paragraph(doctree))
    title, text = title or app.config.html_title, text or words(app).book
    lines = [
        f'<meta {kind}="{name}" content="{escape(content)}" />'
        for kind, name, content in tags(app, page, title, text)
    ]
    if page == NOT_FOUND and app.config.html_baseurl:
        lines.insert(0, f'<base href="{escape(app.config.html_baseurl)}" />')
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])
    if first:
        context["docstitle"] = ""


def not_found(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The page that servers show where there is none."""
    said = words(app)
    links = "".join(
        f'<li><a href="{relative_uri(NOT_FOUND, f"{page}.html")}">'
        f"{escape(text)}</a></li>"
        for page, text in said.lost_links.items()
    )
    body = f"<h1>{said.lost}</h1><p>{said.lost_text}</p><ul>{links}</ul>"
    yield NOT_FOUND, {"title": said.lost, "body": body}, "page.html"


def draw_preview(app: Sphinx, error: Exception | None) -> None:
    """Put the picture for those who share a link among the static files."""
    if error is None and app.builder.format == "html":
        static = Path(app.outdir, "_static")
        title = app.config.html_title
        write_preview(Path(app.srcdir), static, title, words(app).book)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", take_address)
    app.connect("html-collect-pages", not_found)
    app.connect("html-page-context", add_tags)
    app.connect("build-finished", draw_preview)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
