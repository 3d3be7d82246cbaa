"""A grading that was begun before goes on. Needs nbgrader."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip(
    "nbgrader",
    reason="nbgrader is not installed: make test-grading installs it",
)

from tests.grading_class import NAME, QUESTION, line, table
from tools.grading.__main__ import main

FROZEN = Path(__file__).parent / "frozen" / "grading"


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A folder with a grading of before."""
    folder = tmp_path_factory.mktemp("begun") / "out"
    shutil.copytree(FROZEN / "records", folder / "records")
    for name in ("manual_marks.csv", "manual_marks_taken.json"):
        shutil.copy(FROZEN / name, folder)
    with closing(sqlite3.connect(folder / "gradebook.db")) as book:
        book.executescript((FROZEN / "gradebook.sql").read_text())
    return folder


def grade(folder, student, notebook):
    """Hand in a notebook, and grade it."""
    path = folder.parent / student / student / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    shutil.copy(FROZEN / notebook, path)
    arguments = ["grade", str(folder.parent / student), "--to", str(folder)]
    assert main([*arguments, "--drawn", "2", "--seconds", "4"]) == 0


def test_marks_of_before_stay_when_others_are_graded(begun):
    """The class is handed out as before, and one more joins."""
    grade(begun, "ben", "release.json")
    states = {
        one["student"]: one["status"] for one in table(begun / "totals.csv")
    }
    assert states == {"anna": "graded", "ben": "graded"}
    assert_anna_has_her_marks(begun)
    assert line(begun, "ben", "padding_mask")["verdict"] == "unwritten"


def test_a_release_of_before_is_graded_and_its_marks_by_hand_hold(begun):
    grade(begun, "anna", "submission.json")
    assert_anna_has_her_marks(begun)
    found = line(begun, "anna", "causal_mask")
    assert (found["points"], found["verdict"]) == ("0", "misconception")
    page = (begun / "feedback" / "anna" / f"{NAME}.html").read_text()
    assert "Well seen." in page


def test_no_cell_of_before_is_taken_for_a_changed_one(begun):
    notes = {one["notes"] for one in table(begun / "totals.csv")}
    assert notes == {""}


def assert_anna_has_her_marks(folder):
    """Those that a person gave, and those of the tests."""
    assert line(folder, "anna", "padding_mask")["verdict"] == "correct"
    answer = line(folder, "anna", QUESTION)
    given = ("points", "verdict", "by hand", "needs marks")
    assert [answer[key] for key in given] == ["2", "marked", "yes", ""]
