"""What is made for a class: plans that hold, slides, handouts, figures."""

import dataclasses
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from built_book import Site

from tools.lectures import reveal
from tools.lectures.covered import fold_results, take_answers
from tools.lectures.plan import (
    LENGTHS,
    BadPlan,
    Plan,
    Unit,
    linked,
    read_plan,
)
from tools.lectures.publish import Publisher
from tools.lectures.words import WORDS

PLAN = read_plan("en")
each_unit = pytest.mark.parametrize("unit", PLAN.units.values(), ids=str)
each_length = pytest.mark.parametrize("length", LENGTHS)


def in_full(unit: Unit, section: str) -> str:
    """``#clocks`` of a unit's own chapter as ``03#clocks``."""
    return section if "#" in section else f"{unit.chapter}#{section}"


@each_unit
@each_length
def test_a_unit_fills_its_time(unit, length):
    shown = sum(topic.minutes for topic in unit.topics(length))
    assert unit.opening + shown == length


@each_unit
@each_length
def test_all_that_a_unit_shows_is_there(unit, length):
    for section in unit.sections(length):
        assert PLAN.heading(section).title


@each_unit
def test_the_live_cell_is_in_the_45_minutes(unit):
    live = in_full(unit, unit.live.section)
    assert PLAN.covers(unit.sections(45), live)


@each_unit
@each_length
def test_homework_rests_on_what_was_met(unit, length):
    for task in unit.tasks(length):
        for section in task.rests:
            assert PLAN.covers(unit.known(length), in_full(unit, section))


def lacking(plan: Plan, number: int) -> list[str]:
    """What may not be left out of the lectured chapters, and is."""
    lectures = plan.lectures[number]
    met = [section for one in lectures for section in linked(one.read, "")]
    for one in lectures:
        for name, length in one.units.items():
            met += plan.units[name].known(length)
    needed = [f"{c.chapter}#{s}" for c in plan.chapters for s in c.must]
    return [name for name in needed if not plan.covers(met, name)]


@pytest.mark.parametrize("number", PLAN.lectures)
def test_no_plan_leaves_out_what_may_not_be_left_out(number):
    assert len(PLAN.lectures[number]) == number
    assert lacking(PLAN, number) == []


def test_a_lecture_is_90_minutes():
    for lectures in PLAN.lectures.values():
        assert {sum(one.units.values()) for one in lectures} == {90}


def test_what_a_plan_leaves_out_is_noticed():
    fewer = {5: PLAN.lectures[5][:-1]}
    assert lacking(dataclasses.replace(PLAN, lectures=fewer), 5)


def test_a_section_that_is_not_there_is_named():
    with pytest.raises(BadPlan, match="04#nowhere"):
        PLAN.heading("04#nowhere")


@each_unit
def test_every_exercise_is_set_by_one_unit(unit):
    of_chapter = [
        exercise
        for one in PLAN.units.values()
        if one.chapter == unit.chapter
        for exercise in PLAN.exercises_of(one)
    ]
    assert sorted(e.name for e in of_chapter) == sorted(
        e.name for e in unit.exercises()
    )


@pytest.fixture
def stand_in(tmp_path) -> Path:
    """A folder with reveal.js's names, which are empty files."""
    folder = tmp_path / "reveal"
    for name in (reveal.SCRIPT, reveal.STYLE, reveal.NOTES[0]):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    return folder


def soup_of(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def referred(soup: BeautifulSoup) -> list[str]:
    """What a page loads."""
    tags = soup.select("[src], link[href]")
    return [tag.get("src") or tag["href"] for tag in tags]


def loads_what_is_there(path: Path) -> None:
    for address in referred(soup_of(path)):
        assert not re.match(r"\w+:|//", address), address
        assert (path.parent / address).is_file(), address


def test_a_deck_of_every_unit_and_length(site: Site, stand_in, tmp_path):
    publisher = Publisher("en", site.folder, tmp_path / "class")
    decks = publisher.slides(str(stand_in))
    assert len(decks) == len(PLAN.units) * len(LENGTHS)
    for path in decks:
        loads_what_is_there(path)
        soup = soup_of(path)
        slides = soup.select(".reveal > .slides > section")
        _, length = path.stem.rsplit("-", 1)
        timed = [int(s["data-timing"]) for s in slides if s.get("data-timing")]
        assert sum(timed) == 60 * int(length), path.name
        assert soup.select("aside.notes")
        for slide in slides:
            assert slide.get_text(strip=True) or slide.select("img")


def test_handouts_give_no_answer_away(site: Site, tmp_path):
    publisher = Publisher("en", site.folder, tmp_path / "class")
    for path in publisher.papers():
        loads_what_is_there(path)
        if path.parent.name == "handouts":
            assert not soup_of(path).select("details, .dropdown")


def test_figures_have_speaking_names(site: Site, tmp_path):
    publisher = Publisher("en", site.folder, tmp_path / "class")
    loads_what_is_there(publisher.figure_page())
    there = {p.name for p in (tmp_path / "class/figures").glob("*.png")}
    assert len(there) > 100
    assert all(re.fullmatch(r"\d\d-[a-z0-9-]+\.png", n) for n in there)


def test_covered_pages_show_no_answer(site: Site):
    words = WORDS["en"]
    soup = soup_of(site.folder / "04_attention.html")
    folds = soup.select("details.sd-dropdown")
    answers = [f for f in folds if f.summary.get_text(strip=True) == "Answer"]
    assert take_answers(soup, words) == len(answers) > 0
    fold_results(soup, words)
    assert not [f for f in soup.select("summary") if f.get_text() == "Answer"]
    assert len(soup.select("details.lecture-fold")) > 3


def test_without_reveal_a_line_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(reveal.NoReveal, match="dist/reveal.js"):
        reveal.find_reveal(str(tmp_path))
    monkeypatch.setattr(reveal, "find_spec", lambda name: None)
    with pytest.raises(reveal.NoReveal, match="REVEAL=folder"):
        reveal.find_reveal()
