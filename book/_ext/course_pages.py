"""What is put right in each page when it is written.

Sphinx and its theme leave out some of what a reader without a mouse, without
eyes, or with a phone needs. A page goes through here on its way to its file,
and all else in it stays as it is:

- Japanese in an English page is marked as such, in code and pictures, too, so
  that a screen reader pronounces it and a browser takes the right font;
- a figure is a link to itself, where a phone shows it in full size;
- what opens and shuts a part of the contents says which part that is;
- the column of the contents is a landmark, and a bibliography a list;
- a list that stands in a list, as in Sphinx's index of sources, is an item.
"""

import re
from collections.abc import Callable
from html import escape
from html.parser import HTMLParser
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.jinja2glue import BuiltinTemplateLoader

LETTER = "々-〇ぁ-ヿㇰ-ㇿ㐀-䶿一-鿿豈-﫿ｦ-ﾟ𠀀-𳎯"
SIGN = "　-〿！-｠"
JAPANESE = re.compile(
    rf"(?=[{SIGN} ]*[{LETTER}])[{LETTER}{SIGN}]+(?: +[{LETTER}{SIGN}]+)*"
)
"""A run of kana and kanji, with their punctuation and the spaces between."""

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link"}
VOID |= {"meta", "source", "track", "wbr"}
TEXT_ONLY = {"script", "style", "title", "desc", "option", "textarea"}
"""Elements that may hold no others."""


class Words(NamedTuple):
    """What the pages say in an edition."""

    full_size: str
    pages_of: str
    contents: str


WORDS = {
    "en": Words("Open the figure by itself", "Pages of “{}”", "Book"),
    "ja": Words("図だけを開く", "「{}」のページ", "本"),
}


class Page(HTMLParser):
    """The body of a page, read and written again."""

    def __init__(self, language: str) -> None:
        super().__init__(convert_charrefs=False)
        self.written: list[str] = []
        self._words = WORDS.get(language, WORDS["en"])
        self._open = [("", language)]
        """Elements that are not closed yet, each with its language."""
        self._link = ""
        """What the last link says."""
        self._changes: dict[str, Callable[[str, dict[str, str]], str]] = {
            "img": self._image,
            "summary": self._summary,
            "span": self._opener,
            "div": self._division,
            "ul": self._list,
        }

    # --- changed ------------------------------------------------------------

    def _image(self, tag: str, given: dict[str, str]) -> str:
        """A figure's image links to itself."""
        if not self._within("figure") or self._within("a"):
            return tag
        source, title = given["src"], self._words.full_size
        return (
            f'<a class="full-size" href="{source}" title="{title}">{tag}</a>'
        )

    def _summary(self, tag: str, given: dict[str, str]) -> str:
        """A folded cell is called what is written on it."""
        return tag.replace(' aria-label="Toggle hidden content"', "")

    def _opener(self, tag: str, given: dict[str, str]) -> str:
        """What opens a part of the contents says which."""
        if given.get("class") != "toctree-toggle":
            return tag
        name = escape(self._words.pages_of.format(self._link))
        return f'<span class="toctree-toggle" role="img" aria-label="{name}">'

    def _division(self, tag: str, given: dict[str, str]) -> str:
        """The contents are a landmark, entries of a bibliography a list."""
        if given.get("class", "").startswith("bd-sidebar-primary"):
            name = self._words.contents
            return f'{tag[:-1]} role="complementary" aria-label="{name}">'
        return tag.replace('role="doc-biblioentry"', 'role="listitem"')

    def _list(self, tag: str, given: dict[str, str]) -> str:
        """A list right in a list is an item of it."""
        inner = self._open[-1][0] == "ul"
        return f'<li style="list-style: none">{tag}' if inner else tag

    def handle_data(self, data: str) -> None:
        """Mark what is Japanese, where the text around it is not."""
        tag, language = self._open[-1]
        if self._within("a"):
            self._link += data
        if language != "ja" and tag not in TEXT_ONLY:
            mark = "tspan" if self._within("svg") else "span"
            data = JAPANESE.sub(rf'<{mark} lang="ja">\g<0></{mark}>', data)
        self.written.append(data)

    # --- kept ---------------------------------------------------------------

    def _within(self, name: str) -> bool:
        return any(tag == name for tag, _ in self._open)

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        """Write a tag, changed if it is one of those."""
        given = {key: value or "" for key, value in attrs}
        text = self.get_starttag_text() or ""
        if tag in self._changes:
            text = self._changes[tag](text, given)
        if tag == "a":
            self._link = ""
        if tag not in VOID:
            self._open.append((tag, given.get("lang", self._open[-1][1])))
        self.written.append(text)

    def handle_startendtag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        """Write a tag that has no other: of a picture, or like <br/>."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Leave an element, and those in it that had no end."""
        if self._within(tag):
            while self._open.pop()[0] != tag:
                pass
        inner = tag == "ul" and self._open[-1][0] == "ul"
        self.written.append("</ul></li>" if inner else f"</{tag}>")

    def handle_entityref(self, name: str) -> None:
        """Keep a sign that has a name."""
        self.written.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Keep a sign that has a number."""
        self.written.append(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        """Keep a comment."""
        self.written.append(f"<!--{data}-->")


def put_right(html: str, language: str) -> str:
    """A page with all this in its body."""
    start = html.find("<body")
    if start < 0:  # a part of a page
        return html
    page = Page(language)
    page.feed(html[start:])
    page.close()
    return html[:start] + "".join(page.written)


class Templates(BuiltinTemplateLoader):
    """Sphinx's templates; what comes out of them is put right."""

    def init(self, builder: Any, *others: Any, **named: Any) -> None:
        """Begin, and know the edition's language."""
        self._language = builder.config.language
        super().init(builder, *others, **named)

    def render(self, template: str, context: dict[str, Any]) -> str:
        """What is written into a page's file."""
        return put_right(super().render(template, context), self._language)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.config.template_bridge = f"{__name__}.{Templates.__name__}"
    app.add_js_file("scrolling.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
