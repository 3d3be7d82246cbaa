"""The plan of the lectures keeps what it promises."""

import json
import math
import re

import pytest
from built_book import BOOK, EDITIONS, ROOT, markdown_of, read

from tools.lectures import page as page_of_plan
from tools.lectures.headings import headings
from tools.lectures.page import assignment, markdown, seconds
from tools.lectures.plan import (
    LENGTHS,
    BadPlan,
    Live,
    Plan,
    Unit,
    linked,
    read_plan,
)
from transformer_course import runs

UNITS = [
    pytest.param(read_plan(edition), unit, id=f"{edition}-{unit.unit}")
    for edition in EDITIONS
    for unit in read_plan(edition).units.values()
]
PLANS = [
    pytest.param(read_plan(edition), number, id=f"{edition}-{number}")
    for edition in EDITIONS
    for number in read_plan(edition).lectures
]
each_unit = pytest.mark.parametrize(("plan", "unit"), UNITS)


# --- the plans ---------------------------------------------------------------


@pytest.mark.parametrize(("plan", "number"), PLANS)
def test_what_may_not_be_left_out_is_in_each_plan(plan: Plan, number: int):
    """In class, at the length that the plan gives a unit, or to be read."""
    lectures = plan.lectures[number]
    met = [name for one in lectures for name in linked(one.read, "")]
    for lecture in lectures:
        for name, length in lecture.units.items():
            met += plan.units[name].known(length)
    for chapter in plan.chapters:
        for section in chapter.must:
            name = f"{chapter.chapter}#{section}"
            assert plan.covers(met, name), f"{number} lectures lack {name}"


@pytest.mark.parametrize(("plan", "number"), PLANS)
def test_a_plan_has_its_lectures_of_ninety_minutes(plan: Plan, number: int):
    lectures = plan.lectures[number]
    assert len(lectures) == number
    for lecture in lectures:
        assert sum(lecture.units.values()) == 90
    units = [name for one in lectures for name in one.units]
    assert len(units) == len({*units})


def test_every_chapter_has_a_unit_and_a_line():
    for edition in EDITIONS:
        plan = read_plan(edition)
        there = {path.name[:2] for path in (BOOK / edition).glob("*.ipynb")}
        assert {unit.chapter for unit in plan.units.values()} == there
        assert {one.chapter for one in plan.chapters} == there


# --- the units ---------------------------------------------------------------


@each_unit
def test_minutes_are_those_of_the_unit(plan: Plan, unit: Unit):
    core = sum(topic.minutes for topic in unit.core)
    assert unit.opening + core == 45
    assert sum(topic.minutes for topic in unit.more) == 45


@each_unit
def test_what_is_asked_and_run_is_shown_in_class(plan: Plan, unit: Unit):
    """At 45 minutes what is for 45, at 90 what comes with 90."""
    for length, ask, live in (
        (45, unit.ask, unit.live),
        (90, unit.ask_more, unit.live_more),
    ):
        shown = unit.sections(length)
        asked = linked(ask, unit.chapter)
        assert asked or not ask, "the question names no section"
        assert {*asked} <= {*shown}
        if live:
            assert f"{unit.chapter}#{live.section}" in shown


@each_unit
def test_a_live_cell_stands_in_its_section(plan: Plan, unit: Unit):
    for live in filter(None, (unit.live, unit.live_more)):
        assert section_of(plan, unit, live) == live.section


def section_of(plan: Plan, unit: Unit, live: Live) -> str:
    """The section of the chapter in which the cell with that line stands."""
    path = plan.path(unit.chapter)
    by_title = {one.title: one.anchor for one in headings(path).values()}
    section, found = "", []
    for cell in read(path).cells:
        if cell.cell_type == "code":
            found += [section] * (live.line in cell.source.splitlines())
            continue
        for title in re.findall(r"^#{2,4} +(.+?) *$", cell.source, re.M):
            section = by_title[title]
    assert len(found) == 1, f"{live.line!r} stands in {found}"
    return found[0]


@each_unit
def test_a_result_is_said_in_the_chapter(plan: Plan, unit: Unit):
    """A rewritten sentence is noticed before the book is built."""
    said = plain(markdown_of(plan.path(unit.chapter)))
    for topic in (*unit.core, *unit.more):
        if topic.result:
            assert plain(topic.result) in said


def plain(text: str) -> str:
    """As on the page: without marks, with one kind of quotes and spaces."""
    return " ".join(re.sub(r"[*`$]", "", text.replace("’", "'")).split())


@each_unit
def test_the_time_of_a_live_cell_was_measured(plan: Plan, unit: Unit):
    """On the machine that the page names."""
    path = runs.folder("cell-times") / f"{unit.notebook}.json"
    stored = json.loads(path.read_text("utf-8"))
    text = (BOOK / plan.edition / "lecturers.md").read_text("utf-8")
    assert stored["machine"] in text
    cells = read(plan.path(unit.chapter)).cells
    for live in filter(None, (unit.live, unit.live_more)):
        (cell,) = [c for c in cells if live.line in c.source.splitlines()]
        assert cell.id in stored["seconds"], stored["command"]
        own, _ = seconds(unit, live, plan)
        assert own == math.ceil(stored["seconds"][cell.id])


@each_unit
def test_homework_rests_on_what_was_read_or_shown(plan: Plan, unit: Unit):
    for task in unit.after:
        known = unit.known(task.length)
        for section in task.rests:
            name = f"{unit.chapter}#{section}"
            assert plan.covers(known, name), f"{task.do}: {name}"


@each_unit
def test_questions_for_homework_are_in_the_chapter(plan: Plan, unit: Unit):
    chapter = markdown_of(plan.path(unit.chapter))
    for task in unit.after:
        if match := re.match(r"questions? (\d)(?: (and|to) (\d))?", task.do):
            first, between, last = match.groups()
            numbers = {int(first), int(last or first)}
            if between == "to":
                numbers = {*range(min(numbers), max(numbers) + 1)}
            for number in numbers:
                assert f"**{number}.**" in chapter


@each_unit
def test_each_unit_names_its_assignment_or_says_none(plan: Plan, unit: Unit):
    source = ROOT / "assignments" / f"{unit.notebook}.md"
    said = assignment(unit, plan)
    earlier = [one.unit for one in plan.before(unit)]
    named = unit.notebook in said or any(one in said for one in earlier)
    assert named == source.is_file(), said


@pytest.mark.parametrize("edition", EDITIONS)
def test_each_exercise_is_named_by_one_unit(edition):
    plan = read_plan(edition)
    said = [assignment(unit, plan) for unit in plan.units.values()]
    for unit in plan.units.values():
        for exercise in unit.exercises():
            naming = [text for text in said if f"`{exercise.name}`" in text]
            assert len(naming) == 1, exercise.name


# --- the page ----------------------------------------------------------------


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_page_has_every_part_and_its_links_lead_somewhere(edition):
    plan = read_plan(edition)
    text = (BOOK / edition / "lecturers.md").read_text("utf-8")
    parts = re.findall(r"^\{lectures\} (\w+)$", text, re.M)
    assert sorted(parts) == sorted(
        ["units", "chapters", *map(str, plan.lectures)]
    )
    for part in parts:
        for file, slug in re.findall(
            r"\]\((\w+\.ipynb)#([^)]+)\)", markdown(part, plan)
        ):
            there = headings(BOOK / edition / file).values()
            assert slug in {one.slug for one in there}, f"{file}#{slug}"


def test_what_is_not_there_is_told_in_a_line():
    plan = read_plan("en")
    with pytest.raises(BadPlan, match="04#nowhere, which is not there"):
        plan.heading("04#nowhere")
    with pytest.raises(BadPlan, match="asks for 'rooms'; the plan has"):
        page_of_plan.markdown("rooms", plan)
    unit = plan.units["04"]
    with pytest.raises(BadPlan, match="stands in 0 cells of chapter 04"):
        seconds(unit, Live("three-tokens-by-hand", "no such line"), plan)
    with pytest.raises(BadPlan, match="stands in"):
        seconds(unit, Live("three-tokens-by-hand", ""), plan)


def test_a_unit_of_ninety_minutes_has_all_that_one_of_45_has():
    for unit in read_plan("en").units.values():
        short, long = (unit.sections(length) for length in LENGTHS)
        assert long[: len(short)] == short
