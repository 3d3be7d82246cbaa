"""The pictures that open chapters: one size, one style, legible on a phone."""

import re
from xml.etree import ElementTree

import pytest
from built_book import BOOK
from legible import SMALLEST

SVG = "{http://www.w3.org/2000/svg}"
OPENINGS = sorted((BOOK / "en/figures/openings").glob("*.svg"))
STYLE = (BOOK / "_static/openings.css").read_text("utf-8")
COLUMN = 358
"""CSS pixels of a page's text on a phone."""
COLOURED = {"fill", "stroke", "style", "font-size", "color", "opacity"}
"""Attributes that would give an element a look of its own."""
JAPANESE = re.compile(r"[\u3000-\u30ff\u4e00-\u9fff]")


def test_each_chapter_from_13_on_has_an_opening():
    chapters = {p.name[:2] for p in (BOOK / "en").glob("[0-9][0-9]_*")}
    drawn = {path.stem for path in OPENINGS}
    assert drawn <= chapters
    assert {number for number in chapters if number > "12"} <= drawn


@pytest.mark.parametrize("path", OPENINGS, ids=lambda path: path.stem)
def test_an_opening_has_the_size_the_looks_and_the_words_of_all(path):
    svg = ElementTree.parse(path).getroot()
    name = f"opening-{path.stem}"
    assert (svg.get("id"), svg.get("class")) == (name, "opening")
    assert svg.get("viewBox") == "0 0 640 220"
    assert svg.get("role") == "img" and len(svg.get("aria-label")) > 80
    ids = [part.get("id") for part in svg.iter() if "id" in part.attrib]
    assert len(ids) == len({*ids})
    assert all(one == name or one.startswith(f"{name}-") for one in ids)
    for text in svg.iter(f"{SVG}text"):
        words = "".join(text.itertext())
        assert (text.get("lang") == "ja") == bool(JAPANESE.search(words))
    for part in svg.iter():
        assert not COLOURED & part.attrib.keys(), part.attrib
        for kind in part.get("class", "").split():
            assert re.search(rf"\.{kind}\b", STYLE), kind


def test_the_stylesheet_has_colours_of_the_palette_alone():
    colour = r"var\(--course-[a-z-]+, #[0-9a-f]{6}\)"
    said = re.findall(r"(?:fill|stroke|background|color): (.+);", STYLE)
    assert len(said) > 20
    for value in said:
        assert re.fullmatch(rf"none|{colour}", value), value


def test_letters_are_legible_on_a_phone():
    sizes = [float(size) for size in re.findall(r"font-size: (.+)px;", STYLE)]
    assert len(sizes) == STYLE.count("font-size") >= 3
    assert min(sizes) * COLUMN / 640 >= SMALLEST
