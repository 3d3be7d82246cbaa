"""The strip below a chapter's title: what it lights, and what it says."""

import importlib
import shutil
import sys
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from built_book import BOOK, EDITIONS, build_project

sys.path.insert(0, str(BOOK / "_ext"))
course_strip = importlib.import_module("course_strip")

SVG = course_strip.SVG
CHAPTERS = sorted(
    path.stem for path in (BOOK / EDITIONS[0]).glob("[0-9][0-9]_*.ipynb")
)
MOST = 4000
"""How many bytes a strip may add to a page."""

chapter = pytest.mark.parametrize("page", CHAPTERS)


@pytest.fixture(params=EDITIONS)
def edition(request) -> str:
    return request.param


@pytest.fixture
def picture(edition) -> ElementTree.Element:
    return ElementTree.parse(BOOK / edition / course_strip.PICTURE).getroot()


@pytest.fixture
def words(edition):
    return course_strip.WORDS[edition]


def centres(element: ElementTree.Element) -> set[tuple[float, float]]:
    """Where boxes, circles and the words for what flows are."""
    found = set()
    for shape in element.iter():
        match shape.tag.removeprefix(SVG), shape.get("class"):
            case "rect", _:
                x, y, width, height = (
                    float(shape.get(key))
                    for key in ("x", "y", "width", "height")
                )
                found.add((x + width / 2, y + height / 2))
            case "circle", _:
                found.add((float(shape.get("cx")), float(shape.get("cy"))))
            case "text", "data":
                found.add((float(shape.get("x")), float(shape.get("y"))))
    return found


def about(picture, page) -> list[ElementTree.Element]:
    """The parts of the picture that link to a chapter or name it."""
    return [
        part
        for part in picture.iter()
        if part.get("href", "").startswith(page)
        or page[:2] in part.get("data-also", "").split()
    ]


def all_centres(elements) -> set[tuple[float, float]]:
    return set().union(*map(centres, elements))


@chapter
def test_it_lights_what_the_picture_links_to_the_chapter(picture, words, page):
    drawing = course_strip.drawing(picture, page[:2], words)
    lit = all_centres(drawing.iterfind("g[@class='lit']"))
    assert lit
    assert lit == (all_centres(about(picture, page)) or centres(picture))


@chapter
def test_it_draws_every_part_of_the_picture(picture, words, page):
    drawing = course_strip.drawing(picture, page[:2], words)
    assert centres(drawing) == centres(picture)
    assert drawing.get("viewBox") == picture.get("viewBox")


@chapter
def test_its_label_says_what_is_lit(picture, words, page):
    drawing = course_strip.drawing(picture, page[:2], words)
    label = drawing.get("aria-label")
    assert drawing.get("role") == "img"
    assert (words.whole in label) == (not about(picture, page))
    for part in about(picture, page):
        for text in part.iter(f"{SVG}text"):
            if text.get("class") != "number":
                assert text.text in label


def test_a_label_counts_what_is_there_several_times(words):
    box = '<a href="08_x.html"><text>Norm</text></a>'
    svg = f'<svg xmlns="{SVG[1:-1]}"><g>{box}{box}</g></svg>'
    drawing = course_strip.drawing(ElementTree.fromstring(svg), "08", words)
    name = words.several.format("Norm", 2)
    assert drawing.get("aria-label") == words.label.format(name)


@chapter
def test_it_is_light(picture, words, page):
    html = course_strip.strip(picture, page, words, "index.html")
    assert len(html.encode()) < MOST


def test_what_else_is_about_a_part_is_a_chapter(picture):
    numbers = {page[:2] for page in CHAPTERS}
    for part in picture.iter():
        also = part.get("data-also", "").split()
        assert set(also) <= numbers
        assert len(also) == len(set(also))
        assert part.get("href", "")[:2] not in also


@pytest.mark.parametrize("language", course_strip.WORDS)
def test_every_chapter_has_a_line_of_its_own(language):
    places = course_strip.WORDS[language].places
    assert list(places) == CHAPTERS
    assert len(set(places.values())) == len(places)


@pytest.mark.parametrize("language", course_strip.WORDS)
def test_pages_with_a_strip(tmp_path, language):
    page = CHAPTERS[0]
    html, warnings = build(tmp_path, language, page, "99_later", "plain")
    words = course_strip.WORDS[language]

    assert "course_strip.WORDS" in warnings and "99_later" in warnings
    for other in ("index", "99_later", "plain"):
        assert not soup_of(html / f"{other}.html").select("svg")

    soup = soup_of(html / f"{page}.html")
    (strip,) = soup.select("h1 + .transformer-strip")
    assert soup.select("svg") == strip.select("a > svg")
    assert strip.a["href"] == "index.html#transformer"
    assert strip.p.get_text() == (
        f"{words.chapter.format(page[:2])} · {words.places[page]}"
    )


def build(folder, language, *pages):
    """A small project with the picture; its folder, and what it warned of."""
    source = folder / "source"
    figures = source / course_strip.PICTURE.parent
    figures.mkdir(parents=True)
    shutil.copy(BOOK / EDITIONS[0] / course_strip.PICTURE, figures)
    contents = "```{toctree}\n" + "\n".join(pages) + "\n```\n"
    for page in pages:
        path = source / f"{page}.md"
        path.write_text(f"# The title of {page}\n\ntext\n", encoding="utf-8")
    (source / "index.md").write_text(f"# All\n\n{contents}", encoding="utf-8")
    settings = {
        "extensions": ["myst_parser", "course_strip"],
        "html_theme": "basic",
        "language": language,
    }
    return folder / "html", build_project(source, folder / "html", settings)


def soup_of(file):
    """A built page."""
    return BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
