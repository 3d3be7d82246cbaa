"""Where we are: below a chapter's title, the model as far as it is built.

The minimap is the picture of the first page in small, ``transformer.svg``,
without its words. A chapter's own parts are lit, those of earlier chapters are
shaded, and those of later ones are outlines. Whose a part is stands in the
picture: a box belongs to the chapter that it links to, and to those that its
attribute ``data-also`` names by number. A chapter that no box belongs to is
about the whole, and all of it is shaded. The translator in the page, in which
parts are switched off, names its boxes there.

Where a chapter has code, a switch below these words folds or opens it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Set
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import yaml
from course_edition import say
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

PICTURE = Path("figures", "transformer.svg")
SVG = "{http://www.w3.org/2000/svg}"
GEOMETRY = {
    "rect": ("class", "x", "y", "width", "height", "rx"),
    "circle": ("class", "cx", "cy", "r"),
}
"""Attributes of a shape in the minimap."""
FIRST = 2
"""The chapter that builds the first parts; what is before it builds none."""
LETTER, LINE = 6.5, 10
"""Width of a letter and height of a word, in units of the picture."""


PLACES: dict[str, str] = yaml.safe_load(
    Path(__file__).with_name("course_places.yml").read_text("utf-8")
)
"""Place of a chapter in the model, by its page."""


class Part(NamedTuple):
    """Part of the picture: a box, or the words on an arrow."""

    name: str
    chapters: set[str]
    """The numbers of those that are about it."""
    shapes: list[Element]


def parts_of(picture: Element) -> Iterator[Part]:
    """The parts of the picture, in its order."""
    for element in picture.iterfind(f"{SVG}g/*"):
        if element.tag == f"{SVG}path":
            continue
        words = [
            text.text or ""
            for text in element.iter(f"{SVG}text")
            if text.get("class") != "number"
        ]
        chapters = {*element.get("data-also", "").split()}
        if page := element.get("href"):
            chapters.add(page[:2])
        yield Part(" ".join(words), chapters, list(shapes_of(element)))


def shapes_of(element: Element) -> Iterator[Element]:
    """A part without its words; bars for words that stand alone."""
    for shape in element.iter():
        tag = shape.tag.removeprefix(SVG)
        if tag in GEOMETRY:
            yield Element(
                tag, {key: shape.get(key, "") for key in GEOMETRY[tag]}
            )
        elif shape.get("class") == "data":
            yield bar(shape)


def bar(text: Element) -> Element:
    """A bar as wide as words, in their place."""
    width = LETTER * len(text.text or "")
    place = {
        "x": float(text.get("x", 0)) - width / 2,
        "y": float(text.get("y", 0)) - LINE / 2,
        "width": width,
        "height": LINE,
    }
    numbers = {key: f"{value:g}" for key, value in place.items()}
    return Element("rect", {"class": "data"} | numbers)


def drawing(
    picture: Element, chapter: str, earlier: Set[str] = frozenset()
) -> Element:
    """The picture in small, with the parts lit that a chapter is about.

    Args:
        picture: in full.
        chapter: its number, or another name that ``data-also`` has.
        earlier: numbers of chapters whose parts are shaded.
    """
    parts = list(parts_of(picture))
    lit = [part for part in parts if chapter in part.chapters]
    svg = Element(
        "svg",
        {
            "viewBox": picture.get("viewBox", ""),
            "role": "img",
            "aria-label": say("The Transformer in small, with {} lit.").format(
                names(lit)
            )
            if lit
            else say("The Transformer in small, the whole of it."),
        },
    )
    flows = picture.iterfind(f"{SVG}g/{SVG}path")
    SubElement(svg, "path", d="".join(path.get("d", "") for path in flows))
    for part in parts:
        shade = "later"
        if part in lit:
            shade = "lit"
        elif part.chapters & earlier or not lit:
            shade = "earlier"
        SubElement(svg, "g", {"class": shade}).extend(part.shapes)
    return svg


def names(parts: list[Part]) -> str:
    """Names of some parts, each once."""
    counts = Counter(part.name for part in parts)
    return ", ".join(
        say("{} ({} times)").format(say(name), count)
        if count > 1
        else say(name)
        for name, count in counts.items()
    )


def minimap(picture: Element, page: str, home: str, runs: bool) -> str:
    """HTML: the drawing, a link to the picture in full, words, and a switch.

    ``home`` is the address of the page that has the picture. The switch
    stands in a chapter that ``runs``: ``read_run.js`` moves it.
    """
    chapter = page[:2]
    box = Element("div", {"class": "transformer-minimap"})
    href = f"{home}#{picture.get('id')}"
    link = SubElement(box, "a", href=href, title=say("To the picture in full"))
    built = {f"{number:02}" for number in range(FIRST, int(chapter))}
    link.append(drawing(picture, chapter, built))
    words = SubElement(box, "div")
    line = SubElement(words, "p")
    name = SubElement(line, "strong")
    name.text = say("Chapter {}").format(chapter)
    name.tail = f" · {say(PLACES[page])}"
    if runs:
        group = {
            "class": "read-run",
            "role": "group",
            "aria-label": say("Code"),
        }
        switch = SubElement(words, "div", group)
        for way, pressed in (("Read", "true"), ("Run", "false")):
            state = {"type": "button", "aria-pressed": pressed}
            SubElement(switch, "button", state).text = say(way)
    return ElementTree.tostring(box, encoding="unicode")


def add_minimap(app: Sphinx, doctree: nodes.document) -> None:
    """Put the minimap below a chapter's title."""
    page = app.env.docname
    if not re.match(r"\d\d_", page):
        return
    if page not in PLACES:
        logger.warning(
            "say in course_places.yml where in the model %r is",
            page,
            location=page,
        )
        return
    path = Path(app.srcdir, PICTURE)
    app.env.note_dependency(str(path))
    html = minimap(
        ElementTree.parse(path).getroot(),
        page,
        app.builder.get_relative_uri(page, app.config.root_doc),
        runs=Path(app.env.doc2path(page)).suffix == ".ipynb",
    )
    title = next(doctree.findall(nodes.title))
    title.parent.insert(1, nodes.raw("", html, format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", add_minimap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
