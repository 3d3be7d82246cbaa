"""A class of eight, from the release to the tables of marks."""

import re
import sqlite3

import nbformat
import pytest

from course_exercises.contents import find
from course_grading import course
from course_grading.__main__ import main
from course_grading.course import Course
from tests.grading.class_of_eight import (
    NAME,
    QUESTION,
    STUDENTS,
    canvas,
    hand_in,
    read,
    worksheet,
)

PADDING = {
    "inverts": ("misconception", "padding_inverted"),
    "loops": ("limit", "time"),
    "is right": ("correct", ""),
    "sees the future": ("correct", ""),
    "hands in nothing new": ("unwritten", ""),
    "changes the tests": ("misconception", "padding_inverted"),
    "loses cells": ("unwritten", ""),
    "hands in no notebook": ("unwritten", ""),
}
"""Verdict and mistake in ``padding_mask``."""
REASONS = {
    "inverts": "ZeroDivisionError",
    "loses cells": "This cell was missing.",
    "hands in no notebook": "cannot be read as a notebook",
}
"""What the feedback says of a cell without points."""
NOTHING = ("hands in nothing new", "hands in no notebook")


def student(name):
    """The school's id."""
    return f"s{STUDENTS.index(name)}"


def grade(folder, roster):
    """Grade the class once more."""
    command = ["grade", str(folder / "in"), "--to", str(folder / "g")]
    return main([*command, "--roster", str(roster)])


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The folder of a class that has been graded."""
    folder = tmp_path_factory.mktemp("class")
    assert main(["release", NAME, "--to", str(folder / "g")]) == 0
    release = folder / "g" / "release" / NAME / f"{NAME}.ipynb"
    hand_in(folder / "in", nbformat.read(release, as_version=4))
    assert grade(folder, worksheet(folder / "worksheet.csv")) == 0
    return folder


@pytest.fixture(scope="module")
def marked(graded):
    """The same after marking by hand, graded again for Canvas."""
    with Course(graded / "g").gradebook() as book:
        for name in STUDENTS:
            found = book.find_submission_notebook(NAME, NAME, student(name))
            for mark in found.grades:
                if mark.needs_manual_grade:
                    mark.manual_score = 1.5
                    mark.needs_manual_grade = False
            for comment in found.comments:
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


def row(folder, name, exercise="padding_mask"):
    """The row of ``marks.csv`` about a student's exercise."""
    [found] = (
        row
        for row in read(folder / "g" / "marks.csv")
        if (row["student"], row["exercise"]) == (student(name), exercise)
    )
    return found


def feedback(folder, name):
    """The page of a student."""
    place = folder / "g" / "feedback" / student(name) / NAME
    return (place / f"{NAME}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PADDING)
def test_each_gets_the_verdict_and_the_points_that_are_due(graded, name):
    found = row(graded, name)
    assert (found["verdict"], found["mistake"]) == PADDING[name]
    assert found["points"] == ("2" if found["verdict"] == "correct" else "0")


@pytest.mark.parametrize("name", ["inverts", "loops", "changes the tests"])
def test_what_breaks_costs_its_own_exercise_only(graded, name):
    assert row(graded, name, "causal_mask")["points"] == "2"


def test_feedback_explains_the_misconception(graded):
    mistakes = {m.name: m.text for m in find("padding_mask").mistakes}
    begin = mistakes["padding_inverted"].split("*")[0].split("\n")[0].strip()
    assert begin in feedback(graded, "inverts")
    assert "Read again: chapter 06" in feedback(graded, "inverts")


@pytest.mark.parametrize("name", REASONS)
def test_feedback_says_why_a_cell_has_no_points(graded, name):
    assert REASONS[name] in feedback(graded, name)


def test_the_report_counts_mistakes_and_names_nobody(graded):
    page = (graded / "g" / "report.html").read_text(encoding="utf-8")
    assert f"Submissions: {len(STUDENTS)}" in page
    assert "2</td><td>known mistake: <code>padding_inverted" in page
    assert "1</td><td>known mistake: <code>causal_backwards" in page
    assert not re.search(r"\bs\d\b", page)
    assert "hands in" not in page


def test_a_mark_stays_open_until_a_person_has_given_it(graded):
    table = {r["ID number"]: r for r in read(graded / "g" / "class.csv")}
    assert len(table) == 9
    assert table[student("is right")][NAME] == ""
    assert table[student("hands in nothing new")][NAME] == "0"
    assert table["s8"][NAME] == ""  # nothing handed in
    filled = {r["ID number"]: r for r in read(graded / "g" / "worksheet.csv")}
    assert filled[student("hands in nothing new")]["Grade"] == "0"


def test_after_marking_by_hand_canvas_has_every_mark(marked):
    possible, *table = read(marked / "g" / "canvas.csv")
    column = f"Week 3: {NAME} (77)"
    assert possible[column] == "9"
    found = {row["SIS User ID"]: row[column] for row in table}
    assert found.pop("s8") == ""
    for name in STUDENTS:
        points = 0.0 if name in NOTHING else 3.5
        points += 3 * (name == "is right")
        points += 2 * (PADDING[name][0] == "correct")
        points -= 2 * (name == "sees the future")
        assert found[student(name)] == f"{points:g}", name


def test_feedback_has_the_comment_of_whoever_marked(marked):
    assert "What does it copy?" in feedback(marked, "is right")
    found = row(marked, "is right", QUESTION)
    assert (found["points"], found["needs mark"]) == ("1.5", "")


def test_a_gradebook_that_was_changed_is_put_right(marked, capsys):
    """And what was interrupted, so that it has no verdicts, is graded."""
    book = marked / "g" / "gradebook.db"
    with sqlite3.connect(book) as changed:
        changed.execute("update grade set auto_score = 2 where auto_score = 0")
    interrupted = f"{student('sees the future')}.json"
    (marked / "g" / "verdicts" / NAME / interrupted).unlink()
    capsys.readouterr()
    assert grade(marked, marked / "canvas.csv") == 0
    told = capsys.readouterr().out
    about = f"{student('inverts')} 2 points for padding_mask"
    assert about in told and "they are 0" in told
    assert row(marked, "inverts")["points"] == "0"
    assert book.with_name("gradebook.1.db").exists()
    found = row(marked, "sees the future", "causal_mask")
    assert (found["points"], found["mistake"]) == ("0", "causal_backwards")
    capsys.readouterr()
    assert grade(marked, marked / "canvas.csv") == 0
    assert "gradebook.db gave" not in capsys.readouterr().out


def test_a_new_file_is_graded_again(marked):
    old = next((marked / "in").glob("inverts_*/*.ipynb"))
    new = next((marked / "in").glob("is right_*/*.ipynb")).read_text()
    old.write_text(new, encoding="utf-8")
    assert grade(marked, marked / "canvas.csv") == 0
    assert row(marked, "inverts")["verdict"] == "correct"
    assert row(marked, "inverts", QUESTION)["needs mark"] == "yes"


def test_one_who_breaks_grading_keeps_nobody_from_marks(marked, monkeypatch):
    path = marked / "in" / "Nobody Else" / f"{NAME}.ipynb"
    path.parent.mkdir()
    path.write_text("{}")

    def breaks(*_):
        raise RecursionError("too deep")

    monkeypatch.setattr(course, "read_submission", breaks)
    assert grade(marked, marked / "canvas.csv") == 2
    marks = read(marked / "g" / "marks.csv")
    [broken] = (mark for mark in marks if mark["student"] == "s8")
    assert broken["verdict"] == "not graded"
    assert "RecursionError: too deep" in broken["mistake"]
    assert row(marked, "is right")["points"] == "2"
