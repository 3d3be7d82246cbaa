"""A class of twenty, from the release to the tables of marks.

With ``--all``, all hand in; else twelve stay away.
"""

import re
import sqlite3

import nbformat
import pytest

from course_exercises.contents import find
from course_grading import course
from course_grading.__main__ import main
from course_grading.course import Course
from tests.grading.class_of_twenty import (
    CELLS,
    NAME,
    NIGHTLY,
    QUESTION,
    STUDENTS,
    canvas,
    hand_in,
    read,
    worksheet,
)

PADDING = {
    "inverts": ("misconception", "padding_inverted"),
    "imports ours": ("unwritten", ""),
    "breaks the syntax": ("unwritten", ""),
    "raises at the top": ("unwritten", ""),
    "loops at the top": ("unwritten", ""),
    "exits at the top": ("unwritten", ""),
    "prints a lot": ("correct", ""),
    "raises": ("error", "ZeroDivisionError"),
    "loops": ("limit", "time"),
    "exits": ("limit", "crash"),
    "segfaults": ("limit", "crash"),
    "eats memory": ("limit", "memory"),
    "prints without end": ("limit", "time"),
    "returns nothing": ("generic", "returned_none"),
    "is right": ("correct", ""),
    "sees the future": ("correct", ""),
    "hands in nothing new": ("unwritten", ""),
    "changes the tests": ("misconception", "padding_inverted"),
    "loses cells": ("unwritten", ""),
    "hands in no notebook": ("unwritten", ""),
}
"""Verdict and mistake in ``padding_mask``."""
REASONS = {
    "loops at the top": "ran for more than",
    "exits at the top": "ended Python",
    "breaks the syntax": "SyntaxError",
    "loses cells": "This cell was missing.",
    "hands in no notebook": "cannot be read as a notebook",
}
"""What the feedback says."""
NOTHING = ("hands in nothing new", "hands in no notebook")


def each(*names):
    """These students, some of whom hand in only with ``--all``."""
    marks = dict.fromkeys(NIGHTLY, pytest.mark.exhaustive)
    return [pytest.param(n, marks=marks.get(n, ())) for n in names]


def student(name):
    """The school's id."""
    return f"s{STUDENTS.index(name)}"


def grade(folder, roster):
    """Grade the class once more."""
    command = ["grade", str(folder / "in"), "--to", str(folder / "g")]
    return main([*command, "--roster", str(roster)])


@pytest.fixture(scope="module")
def students(pytestconfig):
    """Those who hand in."""
    everybody = pytestconfig.getoption("all")
    return [name for name in STUDENTS if everybody or name not in NIGHTLY]


@pytest.fixture(scope="module")
def graded(tmp_path_factory, students):
    """The folder of a class that has been graded."""
    folder = tmp_path_factory.mktemp("class")
    assert main(["release", NAME, "--to", str(folder / "g")]) == 0
    release = folder / "g" / "release" / NAME / f"{NAME}.ipynb"
    hand_in(folder / "in", nbformat.read(release, as_version=4), students)
    assert grade(folder, worksheet(folder / "worksheet.csv")) == 0
    return folder


@pytest.fixture(scope="module")
def marked(graded, students):
    """The same after marking by hand, graded again for Canvas."""
    with Course(graded / "g").gradebook() as book:
        for name in students:
            found = book.find_submission_notebook(NAME, NAME, student(name))
            for mark in found.grades:
                if mark.needs_manual_grade:
                    mark.manual_score = 1.5
                    mark.needs_manual_grade = False
                    (comment,) = (
                        c for c in found.comments if c.name == mark.name
                    )
                    comment.manual_comment = "What does it copy?"
        book.db.commit()
    before = autograded(graded)
    assert grade(graded, canvas(graded / "canvas.csv")) == 0
    assert autograded(graded) == before  # nothing is graded twice
    return graded


def autograded(folder):
    """When each graded notebook was written."""
    paths = (folder / "g").glob("autograded/*/*/*.ipynb")
    return {path: path.stat().st_mtime_ns for path in paths}


def rows(folder, exercise):
    """The rows of ``marks.csv`` about an exercise, by student."""
    table = read(folder / "g" / "marks.csv")
    return {r["student"]: r for r in table if r["exercise"] == exercise}


def feedback(folder, name):
    """The page of a student."""
    place = folder / "g" / "feedback" / student(name) / NAME
    return (place / f"{NAME}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", each(*STUDENTS))
def test_each_gets_the_verdict_and_the_points_that_are_due(graded, name):
    row = rows(graded, "padding_mask")[student(name)]
    assert (row["verdict"], row["mistake"]) == PADDING[name]
    assert row["points"] == ("2" if row["verdict"] == "correct" else "0")


@pytest.mark.parametrize("name", each(*CELLS, "changes the tests"))
def test_what_breaks_costs_its_own_exercise_only(graded, name):
    assert rows(graded, "causal_mask")[student(name)]["points"] == "2"


@pytest.mark.parametrize(
    ("name", "exercise", "mistake"),
    [
        ("inverts", "padding_mask", "padding_inverted"),
        ("sees the future", "causal_mask", "causal_backwards"),
    ],
)
def test_feedback_explains_the_misconception(graded, name, exercise, mistake):
    (wrong,) = (m for m in find(exercise).mistakes if m.name == mistake)
    begin = wrong.text.split("*")[0].split("\n")[0].strip()
    assert begin in feedback(graded, name)
    assert "Read again: chapter 06" in feedback(graded, name)


@pytest.mark.parametrize("name", each(*REASONS))
def test_feedback_says_why_a_cell_has_no_points(graded, name):
    assert REASONS[name] in feedback(graded, name)


@pytest.mark.exhaustive
def test_output_without_end_is_cut(graded):
    assert len(feedback(graded, "prints a lot")) < 2_000_000


def test_the_report_counts_mistakes_and_names_nobody(graded, students):
    page = (graded / "g" / "report.html").read_text(encoding="utf-8")
    assert f"Submissions: {len(students)}" in page
    assert "2</td><td>known mistake: <code>padding_inverted" in page
    assert "1</td><td>known mistake: <code>causal_backwards" in page
    assert not re.search(r"\bs1?\d\b", page)
    assert "hands in" not in page


def test_a_mark_stays_open_until_a_person_has_given_it(graded):
    table = {r["ID number"]: r for r in read(graded / "g" / "class.csv")}
    assert len(table) == 21
    assert table[student("is right")][NAME] == ""
    assert table[student("hands in nothing new")][NAME] == "0"
    assert table["s20"][NAME] == ""  # nothing handed in
    filled = {r["ID number"]: r for r in read(graded / "g" / "worksheet.csv")}
    assert filled[student("hands in nothing new")]["Grade"] == "0"


def test_after_marking_by_hand_canvas_has_every_mark(marked, students):
    possible, *table = read(marked / "g" / "canvas.csv")
    column = f"Week 3: {NAME} (77)"
    assert possible[column] == "9"
    found = {row["SIS User ID"]: row[column] for row in table}
    assert found.pop("s20") == ""
    for name in students:
        points = 0.0 if name in NOTHING else 3.5
        points += 3 * (name == "is right")
        points += 2 * (PADDING[name][0] == "correct")
        points -= 2 * (name == "sees the future")
        assert found[student(name)] == f"{points:g}", name


def test_feedback_has_the_comment_of_whoever_marked(marked):
    assert "What does it copy?" in feedback(marked, "is right")
    row = rows(marked, QUESTION)[student("is right")]
    assert (row["points"], row["needs mark"]) == ("1.5", "")


def test_a_gradebook_that_was_changed_is_put_right(marked, capsys):
    """And what was interrupted, so that it has no verdicts, is graded."""
    book = marked / "g" / "gradebook.db"
    with sqlite3.connect(book) as changed:
        changed.execute("update grade set auto_score = 2 where auto_score = 0")
    (
        marked / "g" / "verdicts" / NAME / f"{student('sees the future')}.json"
    ).unlink()
    capsys.readouterr()
    assert grade(marked, marked / "canvas.csv") == 0
    told = capsys.readouterr().out
    about = f"{student('inverts')} 2 points for padding_mask"
    assert about in told and "they are 0" in told
    row = rows(marked, "padding_mask")[student("inverts")]
    assert row["points"] == "0"
    assert book.with_name("gradebook.1.db").exists()
    row = rows(marked, "causal_mask")[student("sees the future")]
    assert (row["points"], row["mistake"]) == ("0", "causal_backwards")
    capsys.readouterr()
    assert grade(marked, marked / "canvas.csv") == 0
    assert "gradebook.db gave" not in capsys.readouterr().out


def test_a_new_file_is_graded_again(marked):
    old = next((marked / "in").glob("inverts_*/*.ipynb"))
    new = next((marked / "in").glob("is right_*/*.ipynb")).read_text()
    old.write_text(new, encoding="utf-8")
    assert grade(marked, marked / "canvas.csv") == 0
    row = rows(marked, "padding_mask")[student("inverts")]
    assert row["verdict"] == "correct"
    assert rows(marked, QUESTION)[student("inverts")]["needs mark"] == "yes"


def test_one_who_breaks_grading_keeps_nobody_from_marks(marked, monkeypatch):
    path = marked / "in" / "Nobody Else" / f"{NAME}.ipynb"
    path.parent.mkdir()
    path.write_text("{}")

    def breaks(*_):
        raise RecursionError("too deep")

    monkeypatch.setattr(course, "read_submission", breaks)
    assert grade(marked, marked / "canvas.csv") == 2
    row = rows(marked, "")["s20"]
    assert row["verdict"] == "not graded"
    assert "RecursionError: too deep" in row["mistake"]
    assert rows(marked, "padding_mask")[student("is right")]["points"] == "2"
