"""The lectures: their plan keeps what it promises, and their files are made.

How decks look and run is tested in tests/browser/test_slides.py.
"""

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from xml.etree.ElementTree import fromstring
from zipfile import ZipFile

import lxml.html
import nbformat
import pytest
from built_book import BOOK, is_foreign
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from course_exercises.contents import EXERCISES
from tools import site
from tools.lectures.chapter import (
    BadPlan,
    bare,
    portable,
    section,
)
from tools.lectures.decks import BRIEF, Deck
from tools.lectures.figures import (
    LEAST,
    Figure,
    parts_of,
    write_figures,
)
from tools.lectures.page import assignment
from tools.lectures.plan import (
    Plan,
    Topic,
    is_covered,
    linked,
    read_plan,
)
from tools.lectures.powerpoint import present
from tools.lectures.publish import build, publish

CLASS = "class"
PLAN = read_plan()
SHOWN = ("before", "show")
"""Kinds of slides that show something for the first time."""
each_unit = pytest.mark.parametrize(
    "unit", PLAN.units.values(), ids=list(PLAN.units)
)


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """All figures of the book."""
    return write_figures(tmp_path_factory.mktemp("figures"))


# --- the plan ----------------------------------------------------------------


def test_each_plan_is_ninety_minutes_a_lecture_and_leaves_nothing_out():
    """What must be, is in class or to be read; so for each chapter."""
    there = {path.name[:2] for path in (BOOK / "en").glob("*.ipynb")}
    assert {unit.chapter for unit in PLAN.units.values()} == there
    assert {one.chapter for one in PLAN.chapters} == there
    for number, lectures in PLAN.lectures.items():
        assert len(lectures) == number
        units = [name for one in lectures for name in one.units]
        assert len(units) == len({*units})
        met = [name for one in lectures for name in linked(one.read, "")]
        for lecture in lectures:
            assert sum(lecture.units.values()) == 90
            for name, length in lecture.units.items():
                met += PLAN.units[name].known(length)
        for chapter in PLAN.chapters:
            for anchor in chapter.must:
                name = f"{chapter.chapter}#{anchor}"
                assert is_covered(name, met), f"{number} lack {name}"


def test_each_exercise_is_named_by_one_unit():
    said = [assignment(one, PLAN) for one in PLAN.units.values()]
    for name in EXERCISES:
        assert sum(f"`{name}`" in text for text in said) == 1, name


@each_unit
def test_a_deck_lasts_its_minutes_and_shows_all_figures(unit, figures):
    """All of each section, in letters that can be read from the last row."""
    for length in (45, 90):
        deck = Deck(PLAN, unit, length, figures)
        slides = deck.slides()
        assert sum(slide.seconds for slide in slides) == length * 60
        assert all(slide.seconds > 0 for slide in slides)
        for part in (slide.part for slide in slides if slide.part):
            assert part.letters >= LEAST - 0.1, f"`cuts` lack {part.stem}"
            said = bare(part.caption).split()
            whole = part.caption == portable(part.figure.caption)
            assert whole or len(said) <= BRIEF, part.stem
        shown = [s.part.stem for s in slides if s.part and s.kind in SHOWN]
        for topic in unit.topics(length):
            for name in deck.section(topic).all("figure"):
                for part in parts_of(name, figures, PLAN):
                    assert shown.count(part.stem) == 1, part.stem


@each_unit
def test_each_question_is_followed_by_the_answer_written_for_it(unit, figures):
    """The plan's own, or that of the chapter's guess."""
    deck = Deck(PLAN, unit, 90, figures)
    slides = [s for s in deck.slides() if s.kind == "question" or s.answer]
    asked, told = slides[::2], slides[1::2]
    topics = unit.topics(90)
    for topic, question, result in zip(topics, asked, told, strict=True):
        assert question.kind == "question"
        assert result.part or result.block
        assert question.topic == result.topic == topic
        assert question.text == deck.question(topic)
        assert result.answer == deck.answer(topic)
    assert len({one.answer for one in told}) == len(topics)


def symbols(tex: str) -> str:
    """A formula without spaces, alignment and the stop behind it."""
    tex = re.sub(r"\\(?:begin|end)\{(?:aligned|gathered)\}", "", tex)
    tex = re.sub(r"\\[,;!]|\\q?quad\b|[&$\s]", "", tex)
    return tex.strip(".,")


@each_unit
def test_each_formula_of_a_section_that_is_shown_is_in_the_plan(unit):
    formulas = [topic.formula for topic in unit.topics(90)]
    terms = symbols("".join(tex for one in formulas for tex, _ in one))
    for name in unit.sections(90):
        for formula in section(name).all("math"):
            for line in re.split(r"\\\\(?=\s*\n)|\\qquad", formula):
                assert symbols(line) in terms, f"{name}: {line}"


def test_decks_have_few_slides_of_words_alone(figures):
    decks = [Deck(PLAN, u, 45, figures) for u in PLAN.units.values()]
    slides = [slide for deck in decks for slide in deck.slides()]
    alone = [s for s in slides if not (s.part or s.block or s.strokes)]
    # beside an outline is the picture of the whole
    assert sum(s.kind != "outline" for s in alone) <= len(slides) / 3


# --- what a section gives ----------------------------------------------------

GUESS = ":::{guess} How many?\n:choices: two | *three*\n:answer: 2\n\nSo.\n:::"
FIGURE = new_code_cell(
    "draw()",
    metadata={"mystnb": {"figure": {"name": "fig-a", "caption": "A."}}},
    outputs=[new_output("stream", text="1 2 3")],
)


def deck_of(monkeypatch, tmp_path, *cells) -> Deck:
    """A deck on a chapter with one section."""
    path = tmp_path / "04_attention.ipynb"
    made = [new_markdown_cell(c) if isinstance(c, str) else c for c in cells]
    notebook = nbformat.v4.new_notebook(
        cells=[new_markdown_cell("# 04\n\n## A title"), *made]
    )
    nbformat.write(notebook, path)
    for module in ("plan", "chapter"):
        name = f"tools.lectures.{module}.chapter_files"
        monkeypatch.setattr(name, lambda: {"04": path})
    unit = replace(PLAN.units["04"], core=[Topic("a-title", 10)])
    return Deck(Plan({}), unit, 45, {})


def test_a_section_gives_question_cell_and_answer(monkeypatch, tmp_path):
    deck = deck_of(monkeypatch, tmp_path, "No?", GUESS, FIGURE)
    topic = Topic("a-title", 10, shows=["output"])
    asked, told = deck.topic(topic)
    assert asked.text == "How many?" and asked.choices == ("two", "*three*")
    assert told.answer == "**Three.** So." and "1 2 3" in told.block
    topic = replace(topic, shows=["output", "code"], beside="output")
    *_, shown, again = deck.topic(topic)
    assert not shown.answer and again.answer and again.kind == "result"
    topic = replace(topic, asks="Well?", answer="Yes.", says="And so on.")
    assert deck.question(topic) == "Well?"
    assert deck.answer(topic) == "Yes.\n\nAnd so on."


@pytest.mark.parametrize(
    ("cells", "topic", "lacks"),
    [
        ((FIGURE,), {"shows": ["output"]}, "no guess"),
        ((GUESS, FIGURE), {"shows": ["4 5 6"]}, "nothing"),
        ((GUESS, FIGURE), {"shows": []}, "nothing to stand"),
        ((GUESS, FIGURE, FIGURE), {"shows": ["output"]}, "2 of 'output'"),
        ((GUESS, FIGURE), {"section": "t"}, "not there"),
        ((GUESS, FIGURE), {"asks": "Why?"}, "asks alone"),
    ],
)
def test_a_section_without_a_part_is_one_line(
    monkeypatch, tmp_path, cells, topic, lacks
):
    deck = deck_of(monkeypatch, tmp_path, *cells)
    with pytest.raises(BadPlan, match=lacks) as told:
        list(deck.topic(Topic(**{"section": "a-title", "minutes": 1} | topic)))
    assert "\n" not in str(told.value)


def test_a_unit_that_is_too_long_is_refused():
    unit = next(iter(PLAN.units.values()))
    longer = replace(unit.core[0], minutes=unit.core[0].minutes + 9)
    unit = replace(unit, core=[longer, *unit.core[1:]])
    with pytest.raises(BadPlan, match="core.* 54 minutes; expected 45"):
        unit.check_minutes()


# --- figures: where they are cut, and what appears step by step --------------


LETTERS = re.compile(
    r'<text style="font-size: ([\d.]+)px;[^"]*text-anchor: (\w+)[^"]*" '
    r'x="([\d.-]+)" y="([\d.-]+)" transform="rotate\(-0 [^>]*>([^<]+)<'
)
"""A text of a figure that is not turned: size, anchor, place and words."""
ANCHORS = {"start": 0, "middle": 0.5, "end": 1}
WIDE = 0.45
"""Width of a letter, beside its height: of narrow ones."""


def texts_of(figure: Figure) -> list[tuple[str, list[float]]]:
    """Texts, with left, top, right and bottom of each in per cent."""
    box = re.search('viewBox="0 0 ([^ "]+) ([^ "]+)"', figure.drawn)
    found = []
    for size, anchor, x, y, words in LETTERS.findall(figure.drawn):
        size, x, y = map(float, (size, x, y))
        long = WIDE * size * len(words)
        left = x - ANCHORS[anchor] * long
        edges = (left, y - 0.7 * size, left + long, y)
        sizes = map(float, box.groups() * 2)
        place = [100 * e / s for e, s in zip(edges, sizes, strict=True)]
        found.append((words, place))
    return found


def test_no_cut_and_no_step_goes_through_a_letter(figures):
    names = {**figures, **PLAN.drawings}
    parts = [p for name in names for p in parts_of(name, figures, PLAN)]
    assert PLAN.builds.keys() <= {part.stem for part in parts}
    drawn = [part for part in parts if "<?xml" in part.figure.drawn]
    assert sum(bool(part.steps) for part in drawn) > 5
    for part in drawn:
        _, top, _, bottom = part.view
        tall = (bottom - top) / 100
        for words, (left, above, right, below) in texts_of(part.figure):
            for row in (top, bottom, *part.frame):
                assert not above < row < below, f"{part.stem}: {words}"
            own = (left, (above - top) / tall, right, (below - top) / tall)
            for step in part.steps:
                for at in range(0, len(step), 4):
                    through = meets(step[at : at + 4], own)
                    assert not through, f"{part.stem}: {words}"


def meets(step: Sequence[float], text: Sequence[float]) -> bool:
    """Whether an edge of a rectangle goes through a text."""
    covered = 1.0
    for low, high in ((0, 2), (1, 3)):
        inside = min(step[high], text[high]) - max(step[low], text[low])
        covered *= max(0, inside) / (text[high] - text[low])
    return 0.02 < covered < 0.98


def test_parts_of_a_figure_make_the_whole_and_say_what_they_show(figures):
    stems = {figure.stem for figure in figures.values()}
    captions = {**PLAN.captions}
    assert len({*captions.values()}) == len(captions)
    for name in {*figures} - {*PLAN.drawings}:
        parts = parts_of(name, figures, PLAN)
        if len(parts) > 1:
            assert all(captions.pop(part.stem, "") for part in parts), name
        views = sorted(part.view for part in parts)
        ends = [0, *(bottom for _, _, _, bottom in views)]
        assert [*(top for _, top, _, _ in views), 100] == ends
    assert captions.keys() <= stems


# --- the files ---------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A site with a class's files of one unit, in an older one's place."""
    target = tmp_path_factory.mktemp("server") / "site"
    book = tmp_path_factory.mktemp("book")
    for page in ("index.html", "api/models.html", "ja/api/models.html"):
        (book / page).parent.mkdir(parents=True, exist_ok=True)
        (book / page).write_text(f"<head></head>{site.PLACE}", "utf-8")
    target.mkdir()
    (target / "stale.html").touch()
    publish(book / CLASS, replace(PLAN, units={"04": PLAN.units["04"]}), book)
    books = {"en": book, "ja": (book / "ja").rename(book.with_name("ja"))}
    site.gather(books, target)
    return target


def test_the_site_is_the_book_with_what_a_class_needs(made):
    assert {path.name for path in made.iterdir()} == {
        *("index.html", "api", site.JAPANESE),
        CLASS,
        site.NO_JEKYLL,
    }
    pages = {
        path.relative_to(made / CLASS).as_posix()
        for path in (made / CLASS).glob("[!_]*/*.html")
    }
    assert pages == {
        "figures/index.html",
        "slides/04-45.html",
        "slides/04-90.html",
        "handouts/04.html",
        "boards/04.html",
    }


def test_pages_ask_for_what_lies_beside_them_and_describe_it(made):
    folder = made / CLASS
    for path in [*folder.glob("*.html"), *folder.glob("[!_]*/*.html")]:
        html = path.read_text("utf-8")
        for address in re.findall(r'(?:src|href)="(?!data:)([^"#]+)', html):
            assert not is_foreign(address), f"{path}: {address}"
            beside = (path.parent / address.partition("?")[0]).resolve()
            assert beside.is_file(), f"{path}: {address}"
            assert beside.is_relative_to(made)
        for image in re.findall("<svg viewBox[^>]*>", html):
            assert re.search(r'aria-label="[^"]+"', image), path


def test_a_handout_asks_with_what_it_takes_and_does_not_answer(made):
    text = (made / CLASS / "handouts/04.html").read_text("utf-8")
    drawn = re.findall('data-tex="(.*?)"', text)
    words = bare(re.sub("<[^>]*>", "", text))
    deck = Deck(PLAN, PLAN.units["04"], 45, {})
    for topic in deck.unit.core:
        asked = bare(deck.question(topic).split("$")[0])
        assert asked in words
        assert bare(deck.answer(topic).split("$")[0]) not in words
    for number in re.findall(r"\$(.*?)\$", deck.unit.core[0].given):
        assert number in drawn


@pytest.mark.skipif(not shutil.which("pandoc"), reason="no pandoc here")
def test_each_slide_for_powerpoint_can_be_read(made):
    """All of them, with the notes apart from what the class sees."""
    source = made / CLASS / "slides/04-90.md"
    path = source.with_suffix(".pptx")
    present(source.read_text("utf-8"), path)
    with ZipFile(path) as parts:
        names = [n for n in parts.namelist() if n.endswith(".xml")]
        roots = {name: fromstring(parts.read(name)) for name in names}
    path.unlink()
    slides = [name for name in names if name.startswith("ppt/slides/slide")]
    titles = source.read_text("utf-8").count("\n## ")
    assert len(slides) > titles
    said = ["".join(roots[name].itertext()) for name in slides]
    assert not any(":::" in one or "caption goes on" in one for one in said)


def test_the_board_has_the_chapter_s_own_numbers(made):
    text = (made / CLASS / "boards/04.html").read_text("utf-8")
    assert "tensor([10.00,  1.00,  9.00])" in text


def test_pages_of_both_editions_link_one_another(made):
    assert site.PLACE in (made / "index.html").read_text("utf-8")
    for name, other in (("", "../ja/api"), ("ja/", "../../api")):
        html = (made / name / "api/models.html").read_text("utf-8")
        tree = lxml.html.fromstring(html)
        [link] = tree.xpath("//a[@class='other-edition']/@href")
        languages = tree.xpath("//link[@rel='alternate']/@hreflang")
        assert link == f"{other}/models.html"
        assert languages == ["en", "ja", "x-default"]


def test_a_site_that_cannot_be_made_leaves_the_earlier_one(tmp_path):
    target, book = tmp_path / "site", tmp_path / "book"
    for each in (target, book):
        each.mkdir()
        (each / "index.html").write_text(each.name)
    with pytest.raises(FileNotFoundError):
        site.gather({"en": book, "ja": tmp_path / "none"}, target)
    assert (target / "index.html").read_text() == "site"


def test_what_sphinx_warns_of_is_an_error(tmp_path):
    with pytest.raises(BadPlan, match="no_role"):
        build(tmp_path, "html", {"index": "# A title\n\n{no_role}`x`"})
