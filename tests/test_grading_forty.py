"""Forty students, from a platform's roster to marks in its own table.

An assignment is handed out, filled in with the catalogue's own mistakes,
downloaded as Moodle and as Canvas make files of them, and graded. Needs
nbgrader: ``make test-grading``.
"""

import csv
import re
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest

pytest.importorskip(
    "nbgrader",
    reason="nbgrader is not installed: make test-grading installs it",
)

from tests import platform_class as platform
from tests.grading_class import NAME, QUESTION, carried, filled, hand_in
from tests.platform_class import MEMBERS, Member
from tools.grading import platforms
from tools.grading.__main__ import main
from tools.grading.by_hand import FILE
from transformer_course.exercises.catalogue import by_chapter
from transformer_course.exercises.engine.exercise import mistake_of

EXERCISES = by_chapter()[NAME]
ABSENT = {7, 23}
"""Who hands in nothing."""
FEW = ("--drawn", "4")
"""Hidden inputs: few, so that forty are soon judged."""
FOR_WORDS = 2
"""Points of the question."""


class Try(NamedTuple):
    """What a student hands in for an exercise, and what it is."""

    cell: str | None
    verdict: str
    misconception: str = ""


def tries(exercise) -> list[Try]:
    """Right, unwritten, broken, and each mistake that there is a name for."""
    raises = exercise.stub.replace("raise NotImplementedError", "1 / 0")
    known = {mistake_of(one).__name__: one for one in exercise.mistakes}
    return [
        Try(exercise.source, "correct"),
        Try(None, "unwritten"),
        Try(raises, "error: ZeroDivisionError"),
        *(
            Try(carried(one, exercise.name), "misconception", name)
            for name, one in known.items()
        ),
    ]


def given_by(member: Member) -> dict[str, Try]:
    """What a student tries: each exercise is wrong in every other hand."""
    found = {}
    for place, exercise in enumerate(EXERCISES):
        every = tries(exercise)
        wrong = member.number // 2 % (len(every) - 1) + 1
        right = (member.number + place) % 2 == 0
        found[exercise.name] = every[0 if right else wrong]
    return found


GIVEN = {m: given_by(m) for m in MEMBERS if m.number not in ABSENT}


def mark_of(member: Member, words: float = FOR_WORDS) -> float:
    """The points of a student for the whole assignment."""
    tried = GIVEN[member]
    right = [e for e in EXERCISES if tried[e.name].verdict == "correct"]
    return sum(e.points for e in right) + words


def rows(path: Path) -> list[dict[str, str]]:
    """The lines of a table."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def download(folder: Path, release, place: platform.Place) -> Path:
    """What the class has handed in, as a platform makes files of it."""
    for member, tried in GIVEN.items():
        code = {name: one.cell for name, one in tried.items() if one.cell}
        notebook = filled(release, code, f"It copies, says {member.id}.")
        hand_in(notebook, folder / place(member, f"{NAME}.ipynb"))
    return folder


def give_marks(folder: Path) -> None:
    """What a lecturer does with the table of answers in words."""
    path = folder / FILE
    table = rows(path)
    for row in table:
        row["points"] = str(FOR_WORDS)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Path:
    """A folder with three stages of one class.

    ``moodle`` has the worksheet after the tests, ``marked`` after the marks
    by hand, and ``canvas`` the gradebook of the same class from Canvas.
    """
    folder = tmp_path_factory.mktemp("forty")
    assert main(["release", NAME, "--to", str(folder / "release")]) == 0
    path = folder / "release" / NAME / f"{NAME}.ipynb"
    release = nbformat.read(path, as_version=4)
    out = folder / "out"

    def grade(stage: str, place: platform.Place, roster: Path) -> None:
        submissions = download(folder / place.__name__, release, place)
        arguments = ["grade", str(submissions), "--to", str(out)]
        assert main([*arguments, "--roster", str(roster), *FEW]) == 0
        (folder / stage).mkdir()
        for name in (platforms.WORKSHEET, platforms.CANVAS):
            if (out / name).exists():
                (out / name).rename(folder / stage / name)

    worksheet = platform.worksheet(folder / "worksheet-export.csv")
    grade("moodle", platform.moodle_place, worksheet)
    give_marks(out)
    grade("marked", platform.moodle_place, worksheet)
    gradebook = platform.gradebook(folder / "gradebook-export.csv")
    grade("canvas", platform.canvas_file, gradebook)
    return folder


def test_the_class_has_every_mistake_that_fits_into_it():
    named = {
        one.misconception for tried in GIVEN.values() for one in tried.values()
    }
    kinds = {one.verdict for tried in GIVEN.values() for one in tried.values()}
    assert len(GIVEN) == 38 and len(named) > 30
    assert kinds >= {"correct", "unwritten", "misconception"}


def test_every_student_s_every_mistake_is_named(graded):
    found = {
        (row["student"], row["exercise"]): row
        for row in rows(graded / "out/marks.csv")
    }
    for member, tried in GIVEN.items():
        for name, one in tried.items():
            row = found[member.called, name]
            told = (row["verdict"], row["misconception"])
            assert told == (one.verdict, one.misconception), (member, name)


def test_no_mark_is_given_back_before_the_answers_are_read(graded):
    table = rows(graded / "moodle" / platforms.WORKSHEET)
    assert len(table) == len(MEMBERS)
    assert {row["Grade"] for row in table} == {""}


def test_moodle_gets_its_worksheet_back_with_marks(graded):
    table = rows(graded / "marked" / platforms.WORKSHEET)
    expected = {
        member.id: f"{mark_of(member):g}" if member in GIVEN else ""
        for member in MEMBERS
    }
    assert {row["ID number"]: row["Grade"] for row in table} == expected


def test_canvas_gets_its_gradebook_back_with_marks(graded):
    _, *table = rows(graded / "canvas" / platforms.CANVAS)
    expected = {
        str(member.user): f"{mark_of(member):g}" if member in GIVEN else ""
        for member in MEMBERS
    }
    assert {row["ID"]: row[NAME] for row in table} == expected


def test_each_student_gets_a_page_with_the_own_marks(graded):
    pages = sorted((graded / "out/feedback").glob(f"*/{NAME}.html"))
    texts = [page.read_text("utf-8") for page in pages]
    assert len(texts) == len(MEMBERS)
    said = [re.findall(r"It copies, says (\w+)\.", text) for text in texts]
    assert sorted(filter(None, said)) == [[member.id] for member in GIVEN]


def test_the_class_is_shown_without_names(graded):
    report = (graded / "out/report.html").read_text("utf-8")
    assert QUESTION and not any(m.full in report for m in MEMBERS)
