"""The terms of the glossary on a reader's way through the cores.

Where a term is used it has been defined, earlier or right there: in the
section that the glossary names as ``where``, or in **bold** in any other.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from built_book import BOOK, markdown_of
from course_glossary import AIMS, Finder, Use, read_terms
from docutils.nodes import make_id
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

TERMS = read_terms(BOOK / "glossary.yml")
FINDER = Finder(TERMS)
READER = MarkdownIt("commonmark").use(colon_fence_plugin)
READER.use(dollarmath_plugin).enable("table")
PATHS = {path.name[:2]: path for path in (BOOK / "en").glob("[0-9][0-9]_*")}
STOP = re.compile(r"[Yy]ou can (?:go on to \[chapter|stop) ")
ROUTES = {
    "short": "00 04 03 06 07 08 09 10 12".split(),
    "whole": [f"{number:02}" for number in range(13)],
}
TRAINED = (
    "who has trained a network in PyTorch has met it; the course asks that"
)
KNOWN = dict.fromkeys(
    ["accuracy", "activation function", "back-propagation", "batch"]
    + ["epoch", "gradient", "layer", "learning rate"]
    + ["loss", "matrix product", "optimizer", "test set"],
    TRAINED,
) | {
    "BERT": "it is the name of a model, as the sentence says",
    "NaN": "Python and PyTorch print it",
    "Transformer": "it is what the course is about",
    "corpus": "its first use says what it holds",
    "sequence": "Python has sequences",
    "variance": "school teaches it",
}
"""Terms that need no definition, and why."""


class Paragraph(NamedTuple):
    """Running text, as far as a term in it counts."""

    section: str
    texts: list[str]
    """Without code, formulas and the words of links."""
    bold: list[str]


def paragraphs(markdown: str, section: str = "") -> Iterator[Paragraph]:
    """The paragraphs of a page's core, those of a guess and a note, too."""
    heads = {"heading": False, "table": False}
    for token in READER.parse(markdown):
        name, _, end = token.type.rpartition("_")
        if name in heads:
            heads[name] = end == "open"
        elif token.type == "inline" and heads["heading"]:
            section = make_id(re.sub("['’]", "", token.content))
        elif token.type == "inline" and not heads["table"]:
            if STOP.search(token.content):
                return
            if AIMS not in token.content:
                yield Paragraph(section, *pieces(token.children))
        elif token.type == "colon_fence" and "{dropdown}" not in token.info:
            asked = token.info.partition("{guess}")[2]
            said = re.sub(r"^:\w+:.*$", "", token.content, flags=re.M)
            yield from paragraphs(f"{asked}\n\n{said}", section)


def pieces(tokens: list[Token]) -> tuple[list[str], list[str]]:
    """What a reader may take for a term: all text, and the bold one."""
    texts, bold, inside = [], [], []
    for token in tokens:
        if token.type.endswith("_open"):
            inside.append(token.type)
        elif token.type.endswith("_close"):
            inside.pop()
        elif token.type == "text" and "link_open" not in inside:
            (bold if "strong_open" in inside else texts).append(token.content)
    return [*filter(None, texts)], bold


@cache
def core(path: Path) -> list[Paragraph]:
    """The paragraphs of a page's core."""
    return [*paragraphs(markdown_of(path))]


@cache
def uses(text: str) -> list[Use]:
    """The terms in a text."""
    return [*FINDER.find(text)]


def undefined(route: list[str], *known: str) -> Iterator[tuple[str, ...]]:
    """Page, term and words where nothing so far defines the term."""
    known = {*known}
    for chapter in route:
        page = PATHS[chapter].stem
        for section, texts, bold in core(PATHS[chapter]):
            places = {page, f"{page}#{section}"}
            known |= {term["en"] for term in TERMS if term["where"] in places}
            known |= {
                use.term["en"]
                for words in bold
                for use in uses(words)
                if use.end - use.start == len(words)
            }
            for text in texts:
                for use in uses(text):
                    name = use.term["en"]
                    if not use.is_plain and name not in known:
                        known.add(name)
                        around = text[max(0, use.start - 30) : use.end + 30]
                        yield page, name, around.strip()


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES.keys())
def test_each_term_is_defined_before_it_is_used(route):
    found = [*undefined(route, *KNOWN)]
    assert not found, "\n".join(map(" | ".join, found))


def test_what_is_known_would_be_missed():
    missed = {name for way in ROUTES.values() for _, name, _ in undefined(way)}
    assert missed >= KNOWN.keys()


def test_a_term_is_defined_by_its_section_or_by_bold_type():
    page = "A mask.\n\n## On\n\n**Masks** [a](b).\n\nYou can stop here.\n\nOn"
    first, second = paragraphs(page)
    assert first == ("", ["A mask."], [])
    assert second == ("on", [" ", "."], ["Masks"])
