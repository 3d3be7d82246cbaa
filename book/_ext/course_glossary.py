"""Glossary page and its terms in chapters, from ``book/glossary.yml``.

On the page ``glossary`` the line ``{glossary} terms`` stands for Sphinx's
glossaries of all terms, one under each letter, and ``{glossary} index`` for
the words of the other language: the Japanese ones in the order of the kana.

Where the text of a chapter first uses a term, the term becomes a link to the
glossary, and ``_static/terms.js`` shows there what it means. The definitions
stand at the page's end in a ``template``, in the order of the links.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import course_edition
import yaml
from course_edition import say
from docutils import nodes
from markdown_it import MarkdownIt
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

from course_exercises.language import digest_of

PAGE = "glossary"
ROWS = "あかさたなはまやらわ"
"""Rows of the table of kana, each named by its first."""
SMALL = str.maketrans("ぁぃぅぇぉっゃゅょゎ", "あいうえおつやゆよわ")
VOWELS = {
    "あ": "あかさたなはまやらわ",
    "い": "いきしちにひみり",
    "う": "うくすつぬふむゆる",
    "え": "えけせてねへめれ",
    "お": "おこそとのほもよろを",
}

UNREAD = (
    nodes.Bibliographic,
    nodes.FixedTextElement,
    nodes.Invisible,
    nodes.caption,
    nodes.literal,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.reference,
    nodes.table,
    nodes.title,
    pending_xref,
)
"""What is no running text."""
FOLDED = {"after-guess", "cell", "dropdown", "guess"}
"""Classes of what a reader may not see."""
AIMS = "After this chapter you can"
"""How the paragraph begins that announces a chapter's terms."""
MARKDOWN = MarkdownIt("commonmark")

Term = dict[str, str | dict]


@cache
def read_terms(path: Path) -> list[Term]:
    """All terms, in the order of the file; stale Japanese is English again."""
    terms = yaml.safe_load(path.read_text(encoding="utf-8"))
    for said in (term["definition"] for term in terms):
        if said.get("of") not in (None, digest_of(said["en"])):
            said["ja"] = said["en"]
    return terms


def reading(term: Term) -> str:
    """Japanese word in kana."""
    return term.get("reading", term["ja"].replace("・", ""))


def gojuon_order(word: str) -> tuple[str, str]:
    """Sort key of a word in kana.

    Voiced and small letters are equal to the plain ones at first, and ー to
    the vowel before it.
    """
    hiragana = "".join(
        chr(ord(letter) - 0x60) if "ァ" <= letter <= "ヶ" else letter
        for letter in word
    )
    decomposed = unicodedata.normalize("NFD", hiragana)
    plain = re.sub("[\u3099\u309a]", "", decomposed).translate(SMALL)
    for vowel, row in VOWELS.items():
        plain = re.sub(rf"(?<=[{row}])ー", vowel, plain)
    return plain, hiragana


def row(term: Term) -> str:
    """Row of the table of kana in which a Japanese word begins."""
    first = gojuon_order(reading(term))[0][0]
    return max(each for each in ROWS if each <= first)


def with_reading(term: Term) -> str:
    """Japanese word, with its reading if it has kanji."""
    kanji = re.search(r"[々㐀-鿿]", term["ja"])
    return term["ja"] + (f"（{reading(term)}）" if kanji else "")


def beside(term: Term) -> str:
    """Japanese word and definition."""
    return f"**{with_reading(term)}**：{term['definition']['ja']}"


def entry(term: Term) -> str:
    """Term and definitions, as Sphinx's directive reads them."""
    also = term.get("also", {})
    english = ", ".join(also.get("en", []))
    japanese = "、".join(also.get("ja", []))
    notes = [
        english and say("Also: {}.").format(english),
        "symbol" in term and say("Symbol: {}.").format(term["symbol"]),
        f"→ {{chapter}}`{term['where']}`",
    ]
    paragraphs = [
        term["definition"]["en"],
        " ".join(filter(None, notes)),
        beside(term) + (japanese and f"（{japanese}）"),
    ]
    names = [term["en"]]
    if course_edition.language == "ja":
        names = dict.fromkeys([with_reading(term), *names])
        text = term["definition"]["ja"]
        text += japanese and f"別名：{japanese}。"
        paragraphs = [text, *paragraphs[:2]]
    return "\n".join(names) + "\n" + "\n\n".join(f"  {p}" for p in paragraphs)


def groups(terms: list[Term], language: str) -> Iterator[tuple]:
    """Terms in the order of a language, by their first letters there."""
    if language == "ja":
        terms = sorted(terms, key=lambda term: gojuon_order(reading(term)))
        return groupby(terms, row)
    return groupby(terms, lambda term: term["en"][0].upper())


def terms_page(terms: list[Term]) -> str:
    """Terms in the order of the book's language, under their first letters."""
    return "\n\n".join(
        f"## {letter}\n\n```{{glossary}}\n"
        + "\n\n".join(map(entry, members))
        + "\n```"
        for letter, members in groups(terms, course_edition.language)
    )


def index_page(terms: list[Term]) -> str:
    """Words of the other language, each with a link to its term."""
    other, line = "ja", "\n- {0} {{term}}`{1}`"
    if course_edition.language == "ja":
        other, line = "en", "\n- {1} {{term}}`{0} <{1}>`"
    return "\n\n".join(
        f"### {letter}\n\n{{.glossary-index}}"
        + "".join(line.format(with_reading(t), t["en"]) for t in members)
        for letter, members in groups(terms, other)
    )


# --- terms in a text ---------------------------------------------------------


class Use(NamedTuple):
    """A term in a text."""

    term: Term
    start: int
    end: int
    is_plain: bool
    """Whether the word is common in other senses, too."""


class Finder:
    """Finds the terms of the glossary by all their English names.

    In Japanese, where the other names are common words, by the book's own.
    """

    def __init__(self, terms: Iterable[Term], language: str = "en"):
        self.language = language
        named = [
            (name, term)
            for term in terms
            for name in [term["en"], *term.get("also", {}).get("en", [])]
        ]
        if language == "ja":
            named = [(term["ja"], term) for term in terms]
        # the longest is meant
        self.names = sorted(named, key=lambda item: -len(item[0]))
        form = forms if language == "en" else japanese_form
        names = "|".join(f"({form(name)})" for name, _ in self.names)
        self.pattern = re.compile(
            rf"(?<![\w-])(?:{names})(?![\w-])" if language == "en" else names
        )

    def find(self, text: str) -> Iterator[Use]:
        """The uses in a text, in its order."""
        for found in self.pattern.finditer(text):
            name, term = self.names[found.lastindex - 1]
            plain = term.get("plain", {})
            is_plain = name in plain if self.language == "en" else bool(plain)
            yield Use(term, *found.span(), is_plain)


LETTERS = ("[々一-鿿]", "[ァ-ヶー]", "[A-Za-z0-9-]")
"""Kinds of letters, of which a run is one word or several."""


def japanese_form(name: str) -> str:
    """A pattern for a Japanese name that is no part of a longer word."""
    first, last = (
        next((kind for kind in LETTERS if re.match(kind, end)), "(?!)")
        for end in (name[0], name[-1])
    )
    return rf"(?<!{first}){re.escape(name)}(?!{last})"


def forms(name: str) -> str:
    """A pattern for a name and its plural; capitals have to be there."""
    pattern = re.sub(r"(?:\\?[ –-])", r"[\\s–-]", re.escape(name))
    if re.search(r"[^aeiou]y$", name):
        pattern = f"{pattern[:-1]}(?:y|ies)"
    elif re.match(r"\w", name[-1]):
        pattern += "(?:es)?" if re.search("(?:s|x|ch|sh)$", name) else "s?"
    return pattern if re.search("[A-Z]", name) else f"(?i:{pattern})"


def running_text(node: nodes.Node) -> Iterator[nodes.Text]:
    """The text that a reader reads from top to bottom, piece by piece."""
    for child in node.children:
        if isinstance(child, nodes.Text):
            yield child
        elif not is_passed_over(child):
            yield from running_text(child)


def is_passed_over(node: nodes.Element) -> bool:
    """Whether an element is folded, announces, or is no running text."""
    return (
        isinstance(node, UNREAD)
        or not FOLDED.isdisjoint(node.get("classes", ()))
        or (
            isinstance(node, nodes.paragraph)
            and node.astext().startswith(say(AIMS))
        )
    )


def link_terms(app: Sphinx, doctree: nodes.document) -> None:
    """Link each term where a chapter first uses it, and define it."""
    page = app.env.docname
    if not re.match(r"\d\d_", page):
        return
    terms = terms_of(app)
    finder, met = Finder(terms, course_edition.language), {}
    for text in [*running_text(doctree)]:
        is_set_off = isinstance(text.parent, nodes.strong | nodes.emphasis)
        linked, end = [], 0
        for use in finder.find(text):
            whole = is_set_off and len(text) == use.end - use.start
            if use.term["en"] not in met and (whole or not use.is_plain):
                met[use.term["en"]] = use.term
                linked.append(nodes.Text(text[end : use.start]))
                linked.append(link(use, text[use.start : use.end], page))
                end = use.end
        if linked:
            text.parent.replace(text, [*linked, nodes.Text(text[end:])])
    if met:
        notes = "".join(map(note, met.values()))
        template = f'<template class="terms">{notes}</template>'
        doctree += nodes.raw("", template, format="html")


def link(use: Use, words: str, page: str) -> pending_xref:
    """A term of a text as a link to the glossary."""
    return pending_xref(
        "",
        nodes.inline("", words, classes=["term"]),
        refdomain="std",
        reftype="term",
        reftarget=use.term["en"],
        refexplicit=True,
        refwarn=True,
        refdoc=page,
    )


def note(term: Term) -> str:
    """What a term means, in both languages, as HTML."""
    english, japanese = map(
        MARKDOWN.renderInline,
        (term["definition"]["en"], beside(term)),
    )
    said = [f"<b>{term['en']}</b> {english}", japanese]
    if course_edition.language == "ja":
        said.reverse()
    return f"<div>{''.join(f'<p>{each}</p>' for each in said)}</div>"


# --- Sphinx ------------------------------------------------------------------


def terms_of(app: Sphinx) -> list[Term]:
    """The terms of a book, on which the page that is read depends."""
    path = Path(app.srcdir, app.config.course_glossary).resolve()
    app.env.note_dependency(str(path))
    return read_terms(path)


def write(app: Sphinx, page: str, source: list[str]) -> None:
    """Put terms and index in their places."""
    if page != PAGE:
        return
    terms = terms_of(app)
    source[0] = source[0].replace("{glossary} terms", terms_page(terms))
    source[0] = source[0].replace("{glossary} index", index_page(terms))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("course_chapters")
    app.add_config_value("course_glossary", "../glossary.yml", "env")
    app.connect("source-read", write)
    app.connect("doctree-read", link_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
