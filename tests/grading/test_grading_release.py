"""What students get, and what they do not."""

import importlib
import re
import textwrap

import nbformat
import pytest

from course_exercises import check
from course_exercises.answers import model_answers
from course_exercises.contents import EXERCISES
from course_exercises.engine.diagnose import diagnose
from course_grading.__main__ import main
from course_grading.assignment import (
    WHOLE,
    find_assignments,
    source_notebook,
)
from tools.exercise_notebooks import ROOT, SOURCES, Question, read_parts

NAMES = find_assignments()
NOTEBOOKS = [name for name in NAMES if name != WHOLE]


def questions(name):
    """The questions of an assignment, and their points."""
    parts = read_parts(SOURCES / f"{name}.md") if name != WHOLE else []
    return {p.name: p.points for p in parts if isinstance(p, Question)}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Every assignment as students get it, without solutions."""
    folder = tmp_path_factory.mktemp("course")
    site = ["--site", "https://example.org/course/"]
    assert main(["release", "--to", str(folder), "--no-solutions", *site]) == 0
    return {
        path.stem: nbformat.read(path, as_version=4)
        for path in folder.glob("release/*/*.ipynb")
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_release_holds_no_solution_no_test_and_no_model_answer(
    release, name
):
    cells = {cell.id: cell for cell in release[name].cells}
    text = "\n".join(cell.source for cell in cells.values())
    for exercise in (EXERCISES[n] for n in cells if n in EXERCISES):
        assert cells[exercise.name].source == exercise.stub
        assert f"{exercise.name}-test" in cells
    assert "course_grading" not in text
    for answer in model_answers(name).values():
        assert not any(p in text for p in answer.split("\n\n") if len(p) > 40)


@pytest.mark.parametrize("name", NAMES)
def test_the_points_of_the_cells_are_those_of_the_exercises(release, name):
    found = {
        cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.points
        for cell in release[name].cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    }
    own = (EXERCISES[c.id] for c in release[name].cells if c.id in EXERCISES)
    tests = {f"{one.name}-test": one.points for one in own}
    assert found == tests | questions(name)
    (terms,) = (c for c in release[name].cells if c.id == "handing-in")
    assert f"| **total** | {sum(found.values())} |" in terms.source


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_solutions_off_and_links_to_the_site(release, name):
    text = "\n".join(cell.source for cell in release[name].cells)
    assert "solution(...)" not in text
    assert "without_solutions()" in text
    assert f"](https://example.org/course/{name}.html)" in text
    assert "solution(...)" in "\n".join(
        cell.source for cell in source_notebook(name).cells
    )


def test_without_solutions_the_calls_say_so(monkeypatch):
    monkeypatch.setattr(check, "_withheld", False)
    check.without_solutions()
    assert check.solution("causal_mask").text == check.WITHHELD


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_question_has_a_model_answer_with_its_points(name):
    answers = model_answers(name)
    assert answers.keys() == questions(name).keys()
    for question, points in questions(name).items():
        assert f"**{points} point" in answers[question]


def test_an_assignment_that_there_is_not_is_refused(capsys, tmp_path):
    assert main(["release", "99_nothing", "--to", str(tmp_path)]) == 2
    assert "There are: 01_sequence_to_sequence" in capsys.readouterr().err


def test_the_variant_on_the_lecturers_page_is_an_exercise(
    tmp_path, monkeypatch
):
    page = (ROOT / "book/en/lecturers.md").read_text(encoding="utf-8")
    dropdown = r"\{dropdown\} (window\S+)\n   (`+)\w+\n(.*?)^   \2\n"
    for name, _, text in re.findall(dropdown, page, re.S | re.M):
        (tmp_path / name).write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    exercise = importlib.import_module("window_mask").EXERCISE
    for right in (exercise.solution, *exercise.others):
        assert diagnose(exercise, right).is_correct
    for wrong in exercise.mistakes:
        verdict = diagnose(exercise, wrong.implementation)
        assert verdict.mistake == wrong.name
