"""The lectures: their plan keeps what it promises, and their files are made.

How decks look and run is tested in tests/browser/test_slides.py; here, empty
files with the names of reveal.js's stand in for it.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bs4 import BeautifulSoup
from built_book import (
    BOOK,
    SITE,
    code_cells,
    is_foreign,
    markdown_of,
    not_ready,
)
from PIL import Image, ImageDraw

from course_exercises.contents import EXERCISES
from tools import site
from tools.lectures import publish
from tools.lectures.builds import cuts_through
from tools.lectures.covered import fold_results, take_answers
from tools.lectures.drawing import DRAWINGS
from tools.lectures.figures import write_figures
from tools.lectures.headings import headings
from tools.lectures.page import assignment
from tools.lectures.parts import DOTS, PANEL, cuts, write_parts
from tools.lectures.plan import BadPlan, Topic, linked, read_plan
from tools.lectures.publish import Publisher
from tools.lectures.reveal import NOTES, SCRIPT, STYLE, NoReveal, find_reveal
from tools.lectures.rounds import BuiltChapter, plain
from tools.lectures.slides import Deck

PLAN = read_plan()
each_unit = pytest.mark.parametrize(
    "unit", PLAN.units.values(), ids=list(PLAN.units)
)

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
            for section in chapter.must:
                name = f"{chapter.chapter}#{section}"
                assert PLAN.covers(met, name), f"{number} lack {name}"


@each_unit
def test_a_unit_has_its_minutes_and_what_it_shows_is_in_the_chapter(unit):
    """A rewritten sentence is noticed before the book is built."""
    core = sum(topic.minutes for topic in unit.core)
    assert unit.opening + core == 45
    assert sum(topic.minutes for topic in unit.more) == 45
    path = PLAN.path(unit.chapter)
    figures = {
        cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        for cell in code_cells(path)
    }
    source = bare(markdown_of(path))
    for topic in (*unit.core, *unit.more):
        assert topic.section in headings(path)
        assert bare(topic.question) in source
        assert bare(topic.result) in source
        assert not topic.show.startswith("fig-") or topic.show in figures
        assert {*topic.before, *topic.also} <= figures | {*DRAWINGS}


def test_what_appears_step_by_step_is_a_picture_that_no_step_cuts(tmp_path):
    write_figures(tmp_path)
    for name, steps in PLAN.builds.items():
        if name in DRAWINGS:
            continue
        write_parts(tmp_path / (re.sub(r"-part-\d$", "", name) + ".png"))
        picture = tmp_path / f"{name}.png"
        for step in steps:
            for at in range(0, len(step), 4):
                part = step[at : at + 4]
                assert not cuts_through(picture, part), (name, part)


def bare(text: str) -> str:
    """As on the page: without marks, with one kind of quotes and spaces."""
    return " ".join(re.sub(r"[*`$]", "", text.replace("’", "'")).split())


def test_each_exercise_is_named_by_one_unit():
    said = [assignment(one, PLAN) for one in PLAN.units.values()]
    for name in EXERCISES:
        assert sum(f"`{name}`" in text for text in said) == 1, name


# --- what a section gives ----------------------------------------------------

GUESS = (
    '<div class="tip admonition"><p class="admonition-title">Guess first</p>'
    "<p>How many?</p></div>"
)
FIGURE = '<figure id="fig-a"><img alt="A." src="a.png"/></figure>'
RESULT = "<p>Three. (So said Dr. Who, twice.) And it goes on:</p>"


def chapter(tmp_path: Path, *parts: str) -> BuiltChapter:
    """A page with one section."""
    page = tmp_path / "04_attention.html"
    body = "".join(parts)
    page.write_text(
        f'<article><section id="s"><h2>Title</h2>{body}</section></article>'
    )
    return BuiltChapter(page)


def test_a_section_gives_question_figure_and_result(tmp_path):
    found = chapter(tmp_path, "<p>Before.</p>", GUESS, FIGURE, RESULT).round(
        Topic("s", 10)
    )
    assert (found.title, plain(found.question)) == ("Title", "How many?")
    assert found.show.img["data-figure"] == "fig-a"
    assert found.result == "Three. (So said Dr. Who, twice.)"
    assert plain(found.whole).endswith("goes on:")


@pytest.mark.parametrize(
    ("parts", "topic", "lacks"),
    [
        ((FIGURE, RESULT), Topic("s", 1), "no question"),
        ((GUESS, RESULT), Topic("s", 1), "no figure"),
        ((GUESS, FIGURE), Topic("s", 1), "no result"),
        ((GUESS, FIGURE, RESULT), Topic("t", 1), "no section t"),
    ],
)
def test_a_section_without_a_part_is_one_line(tmp_path, parts, topic, lacks):
    with pytest.raises(BadPlan, match=f"04_attention.*{lacks}") as told:
        chapter(tmp_path, *parts).round(topic)
    assert "\n" not in str(told.value)


def test_on_pages_to_project_answers_are_gone_and_results_folded():
    page = f"""<article><section>{GUESS}<p>Three.</p>{FIGURE}
    <section><h3>Next</h3><p>Seen.</p></section></section>
    <section><p>1. Why?</p><details class="sd-dropdown">
    <summary>Answer</summary><p>So.</p></details></section></article>"""
    soup = BeautifulSoup(page, "html.parser")
    assert take_answers(soup) == 1
    fold_results(soup)
    assert "So." not in soup.get_text()
    (fold,) = soup.select("details.lecture-fold")
    assert "Three." in fold.get_text() and fold.figure
    assert soup.find("p", string="Seen.").find_parent("details") is None


# --- tall figures, cut between their panels for slides -----------------------


def picture(*panels: tuple[int, int], height: int = 1400) -> Image.Image:
    """Black panels on white, each from a row to another."""
    drawn = Image.new("RGB", (800, height), "white")
    for top, end in panels:
        ImageDraw.Draw(drawn).rectangle((20, top, 780, end - 1), "black")
    drawn.info["dpi"] = (DOTS, DOTS)
    return drawn


def test_a_tall_picture_is_cut_in_the_widest_band_if_there_is_one(tmp_path):
    assert cuts(picture((20, 600), (612, 660), (700, 1380))) == [680]
    assert cuts(picture((20, 1380))) == []
    assert cuts(picture((20, 60), (100, 1380))) == []  # a legend alone
    joined = picture((20, 600), (700, 1380))
    ImageDraw.Draw(joined).rectangle((400, 600, 403, 700), "black")
    assert cuts(joined) == [650]  # an arrow leads from panel to panel
    tall = picture((20, 600), (640, 1200), (1300, 1900), height=2000)
    path = tmp_path / "a.png"
    tall.save(path, dpi=(DOTS, DOTS))
    parts = [Image.open(part) for part in write_parts(path)]
    assert len(parts) == 3
    assert all(part.height >= PANEL * DOTS for part in parts)
    whole = np.concatenate([np.asarray(part) for part in parts])
    assert (whole == np.asarray(tall)).all()


def test_a_step_that_cuts_through_a_drawing_is_noticed(tmp_path):
    picture((20, 600), (640, 1380)).save(path := tmp_path / "a.png")
    assert not cuts_through(path, (0, 44, 100, 100))
    assert cuts_through(path, (0, 50, 100, 100))
    assert cuts_through(path, (50, 0, 100, 44))


# --- the built book ----------------------------------------------------------


@pytest.fixture(scope="module")
def chapters() -> dict[str, BuiltChapter]:
    """The built chapters, by number."""
    if reason := not_ready():
        pytest.skip(reason)
    return {
        unit.chapter: BuiltChapter(SITE / f"{unit.notebook}.html")
        for unit in PLAN.units.values()
    }


@each_unit
def test_a_deck_has_a_picture_and_all_figures_of_its_sections(unit, chapters):
    page = chapters[unit.chapter]
    for length in (45, 90):
        slides = Deck(PLAN, unit, length, page).slides()
        assert sum(slide.seconds for slide in slides) == length * 60
        html = "".join(slide.body for slide in slides)
        images = BeautifulSoup(html, "html.parser").select("img")
        shown = [image["data-figure"] for image in images]
        assert shown
        for topic in unit.topics(length):
            section = page.section(topic.section)
            for figure in section.find_all("figure", recursive=False):
                if figure.img:
                    assert shown.count(figure["id"]) == 1, figure["id"]
            for image in section.select(":scope > .cell figure img"):
                name = image.find_parent("figure")["id"]
                folded = image.find_parent(class_="tag_hide-cell")
                assert folded or shown.count(name) == 1, name


SOME = ("04",)
"""Units whose files are made: each chapter's page takes a second to read."""


def stand_in(folder: Path) -> Path:
    """A folder with the names of reveal.js's files, all empty."""
    for name in (SCRIPT, STYLE, NOTES[0]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Publisher:
    """A site with a class's files of some units, in an older one's place."""
    if reason := not_ready():
        pytest.skip(reason)
    plan = read_plan()
    units = {name: plan.units[name] for name in SOME}
    chapters = {unit.chapter for unit in units.values()}
    files = {number: plan.path(number) for number in chapters}
    target = tmp_path_factory.mktemp("server") / "site"
    target.mkdir()
    (target / "stale.html").touch()
    reveal = stand_in(tmp_path_factory.mktemp("reveal"))
    with pytest.MonkeyPatch.context() as patch:
        some = replace(plan, units=units)
        patch.setattr(publish, "read_plan", lambda: some)
        for module in ("publish", "figures"):
            name = f"tools.lectures.{module}.chapter_files"
            patch.setattr(name, lambda: files)
        assert not site.gather(SITE, target, str(reveal))
        publisher = Publisher(SITE, target / site.CLASS)
        assert publisher.plan is some
        yield publisher


def soups(made: Publisher) -> dict[str, BeautifulSoup]:
    """The pages of a class."""
    return {
        path.relative_to(made.target).as_posix(): BeautifulSoup(
            path.read_text("utf-8"), "html.parser"
        )
        for path in sorted(made.target.rglob("*.html"))
    }


def test_the_site_is_the_book_with_what_a_class_needs(made):
    folder = made.target.parent
    for name in ("index.html", "search.html", site.NO_JEKYLL):
        assert (folder / name).is_file(), name
    assert not (folder / "stale.html").exists()
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    pages = {*soups(made)}
    for unit in SOME:
        assert {f"slides/{unit}-45.html", f"slides/{unit}-90.html"} <= pages
        assert {f"handouts/{unit}.html", f"boards/{unit}.html"} <= pages
    assert len(pages) == 4 * len(SOME) + 2


def test_pages_ask_for_what_lies_beside_them_and_describe_it(made):
    for name, soup in soups(made).items():
        asked = [tag["src"] for tag in soup.select("[src]")]
        asked += [tag["href"] for tag in soup.select("[href]")]
        for address in asked:
            if address == "data:,":  # no icon, so that none is asked for
                continue
            assert not is_foreign(address), f"{name}: {address}"
            beside = (made.target / name).parent / address.partition("#")[0]
            assert beside.resolve().is_file(), f"{name}: {address}"
            assert beside.resolve().is_relative_to(made.target.resolve())
        for image in soup.select("img"):
            assert image["alt"].strip(), name
        text = soup.body.get_text()
        formulas = r"\(" in text or r"\[" in text
        assert len(soup.select("script.mathjax[src]")) == formulas, name


def test_a_deck_takes_as_long_as_its_unit_and_says_what_to_do(made):
    for name, soup in soups(made).items():
        if not name.startswith("slides/"):
            continue
        sections = soup.select(".reveal > .slides > section")
        assert len(sections) == len(soup.select("section")) > 4
        minutes = int(re.search(r"-(\d\d)\.", name)[1])
        seconds = [int(section["data-timing"]) for section in sections]
        assert min(seconds) > 0 and sum(seconds) == minutes * 60
        for section in sections:
            notes = section.find("aside", class_="notes", recursive=False)
            assert notes.get_text(strip=True), name


def test_a_handout_asks_and_does_not_answer(made):
    unit = made.plan.units["04"]
    path = made.target / "handouts" / "04.html"
    text = plain(path.read_text("utf-8"))
    for topic in unit.core:
        found = made.page(unit).round(topic)
        assert plain(found.question) in text
        assert plain(found.whole) not in text


def test_the_board_has_the_chapter_s_own_numbers(made):
    text = (made.target / "boards/04.html").read_text("utf-8")
    assert "tensor([10.00,  1.00,  9.00])" in text


def test_a_site_that_cannot_be_made_leaves_the_earlier_one(tmp_path):
    target, book = tmp_path / "site", tmp_path / "book"
    for folder in (target, book):
        folder.mkdir()
        (folder / "index.html").write_text(folder.name)
    with pytest.raises(NoReveal, match="holds no dist/reveal.js"):
        site.gather(book, target, reveal=str(tmp_path))
    assert (target / "index.html").read_text() == "site"


def test_without_reveal_a_line_says_what_to_do(monkeypatch):
    monkeypatch.setattr("tools.lectures.reveal.find_spec", lambda name: None)
    with pytest.raises(NoReveal, match="make slides REVEAL=folder") as told:
        find_reveal()
    assert "\n" not in str(told.value)
