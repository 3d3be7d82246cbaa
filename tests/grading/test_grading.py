"""A class, graded from end to end. Needs nbgrader: ``make test-grading``."""

import shutil
from pathlib import Path

import nbformat
import pytest

pytest.importorskip(
    "nbgrader",
    reason="nbgrader is not installed: make test-grading installs it",
)

from nbgrader.nbgraderformat import MetadataValidator

from course_exercises.contents import by_chapter
from tests.grading import platform_class as platform
from tests.grading.grading_class import (
    CELLS,
    INVERTED,
    NAME,
    QUESTION,
    SOLUTIONS,
    filled,
    hand_in,
    line,
    table,
    tampered,
)
from tools.grading import platforms
from tools.grading.__main__ import main
from tools.grading.gradebook import Course
from tools.grading.judge import Judge

OPTIONS = ("--seconds", "2", "--drawn", "4")
POINTS = {
    exercise.name: exercise.points for exercise in by_chapter()["06_masks"]
}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The notebook that students get."""
    folder = tmp_path_factory.mktemp("release")
    assert main(["release", NAME, "--to", str(folder)]) == 0
    return nbformat.read(folder / NAME / f"{NAME}.ipynb", as_version=4)


def build(folder: Path, release: nbformat.NotebookNode) -> Path:
    """The submissions of a class, in three layouts at once."""

    def give(path: str, **what):
        hand_in(filled(release, **what), folder / path)

    def with_cells(**changed: str) -> dict[str, str]:
        return SOLUTIONS | {k: CELLS[v] for k, v in changed.items()}

    give(f"anna/{NAME}.ipynb", code=SOLUTIONS, answer="It <b>copies</b>.")
    give(f"ben/{NAME}/{NAME}.ipynb")
    give(f"carl_{NAME}.ipynb", code=with_cells(padding_mask="inverted"))
    give(f"dora/{NAME}.ipynb", code=with_cells(padding_mask="exits"))
    give(f"emil/{NAME}.ipynb", code=with_cells(padding_mask="loops"))
    give(
        f"fay/{NAME}.ipynb",
        code=with_cells(padding_mask="prints without end"),
    )
    give(
        f"greta/{NAME}.ipynb",
        code=with_cells(padding_mask="raises at the top"),
    )
    hand_in(tampered(release), folder / "hugo [x]" / f"{NAME}.ipynb")
    (folder / "ina").mkdir()
    (folder / "ina" / f"{NAME}.ipynb").write_text("not a notebook")
    (folder / "jan").mkdir()
    return folder


@pytest.fixture(scope="module")
def graded(tmp_path_factory, release):
    """The folder of a graded class."""
    folder = tmp_path_factory.mktemp("class")
    submissions = build(folder / "submissions", release)
    arguments = ["grade", str(submissions), "--to", str(folder / "out")]
    assert main([*arguments, *OPTIONS]) == 0
    return folder / "out"


# --- what is handed out ------------------------------------------------------


def test_the_release_has_stubs_and_no_hidden_test(release):
    text = nbformat.writes(release)
    for exercise in by_chapter()["06_masks"]:
        cell = next(c for c in release.cells if c.id == exercise.name)
        assert cell.source == exercise.stub
    assert "HIDDEN" not in text
    assert "SOLUTION" not in text
    assert "with_more" not in text


def test_the_release_is_one_that_nbgrader_understands(release):
    validator = MetadataValidator()
    for cell in release.cells:
        validator.validate_cell(cell)
    graded = [
        cell.metadata.nbgrader.grade_id
        for cell in release.cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    ]
    assert graded == [f"{name}-test" for name in POINTS] + [QUESTION]


# --- marks -------------------------------------------------------------------


@pytest.mark.parametrize("exercise", POINTS)
def test_correct_answers_have_all_points(graded, exercise):
    found = line(graded, "anna", exercise)
    assert (found["points"], found["verdict"]) == (
        str(POINTS[exercise]),
        "correct",
    )
    assert found["of"] == found["points"]


@pytest.mark.parametrize("exercise", [*POINTS, QUESTION])
def test_an_untouched_notebook_has_none(graded, exercise):
    found = line(graded, "ben", exercise)
    assert (found["points"], found["verdict"]) == ("0", "unwritten")


@pytest.mark.parametrize(
    ("student", "verdict"),
    [
        ("carl", "misconception"),
        ("dora", "limit: crash"),
        ("emil", "limit: time"),
        ("fay", "limit: time"),
        ("greta", "error: ValueError"),
    ],
)
def test_what_is_wrong_costs_its_own_points_only(graded, student, verdict):
    found = line(graded, student, "padding_mask")
    assert (found["points"], found["verdict"]) == ("0", verdict)
    for exercise in ("causal_mask", "masked_softmax"):
        assert line(graded, student, exercise)["verdict"] == "correct"


def test_a_known_mistake_is_named(graded):
    found = line(graded, "carl", "padding_mask")
    assert found["misconception"] == "padding_inverted"


def test_tampering_gains_nothing_and_is_noted(graded):
    assert line(graded, "hugo [x]", "padding_mask")["points"] == "0"
    for exercise in ("causal_mask", "masked_softmax"):
        found = line(graded, "hugo [x]", exercise)
        assert found["points"] == str(POINTS[exercise])
    (total,) = [
        one
        for one in table(graded / "totals.csv")
        if one["student"] == "hugo [x]"
    ]
    assert "padding_mask-test was changed" in total["notes"]
    assert "masked_softmax-test was removed" in total["notes"]
    assert "names course_exercises" in total["notes"]


@pytest.mark.parametrize(
    ("student", "state"), [("ina", "unreadable"), ("jan", "missing")]
)
def test_nothing_to_grade_is_said(graded, student, state):
    for exercise in POINTS:
        found = line(graded, student, exercise)
        assert (found["points"], found["verdict"]) == ("0", state)


def test_nbgrader_has_the_same_marks(graded):
    course = Course(graded)
    marks = course.marks(NAME, "carl")
    assert {name: mark.points for name, mark in marks.items()} == {
        "padding_mask-test": 0,
        "causal_mask-test": POINTS["causal_mask"],
        "masked_softmax-test": POINTS["masked_softmax"],
        QUESTION: 0,
    }


# --- pages -------------------------------------------------------------------


def test_feedback_has_the_text_of_the_mistake(graded):
    page = (graded / "feedback" / "carl" / f"{NAME}.html").read_text()
    assert "Your mask is True at padding and False at words" in page
    assert "5 of 9" in page


def test_everybody_has_feedback(graded):
    folders = [path.name for path in (graded / "feedback").iterdir()]
    students = [one["student"] for one in table(graded / "totals.csv")]
    assert len(folders) == len(students) == 10


def test_what_students_write_is_text_and_not_html(graded):
    for page in (
        graded / "feedback" / "anna" / f"{NAME}.html",
        graded / "answers.html",
    ):
        text = page.read_text()
        assert "It &lt;b&gt;copies" in text
        assert "<b>copies" not in text


def test_the_report_counts_and_names_nobody(graded):
    page = (graded / "report.html").read_text()
    assert "9 of 10 handed in, 1 of these" in page
    assert "padding_inverted" in page
    assert "wait for marks by hand: 1." in page
    for student in ("anna", "carl", "hugo"):
        assert student not in page


def test_no_page_loads_anything(graded):
    for page in graded.rglob("*.html"):
        text = page.read_text()
        assert "<script" not in text
        assert "http" not in text


# --- marks by hand, and grading again ----------------------------------------


@pytest.fixture(scope="module")
def one_student(tmp_path_factory, release):
    """One student with an answer in words, graded."""
    folder = tmp_path_factory.mktemp("one") / "class"
    notebook = filled(release, SOLUTIONS, "It copies.")
    hand_in(notebook, folder / "in" / "anna" / f"{NAME}.ipynb")
    again(folder)
    return folder


@pytest.fixture
def small(tmp_path, one_student):
    """The same, to be changed."""
    return Path(shutil.copytree(one_student, tmp_path / "class"))


def again(folder: Path, *options: str) -> None:
    """Grade, for the first time or once more."""
    out = str(folder / "out")
    arguments = ["grade", str(folder / "in"), "--to", out, *OPTIONS]
    assert main([*arguments, *options]) == 0


def give_mark(folder: Path, points: str, comment: str = "") -> None:
    """What a lecturer does in a spreadsheet: fill in the last line."""
    path = folder / "out" / "manual_marks.csv"
    text = path.read_text(encoding="utf-8-sig").rstrip()
    waiting = '"",""'
    assert text.endswith(waiting)
    text = text.removesuffix(waiting) + f'"{points}","{comment}"\n'
    path.write_text(text, encoding="utf-8")


def test_an_answer_in_words_waits_for_its_mark(small):
    found = line(small / "out", "anna", QUESTION)
    assert (found["verdict"], found["needs marks"]) == ("to mark", "yes")


def test_a_mark_by_hand_is_taken_and_kept(small):
    give_mark(small, "1.5", "Half of it")
    again(small)
    again(small, "--again")
    found = line(small / "out", "anna", QUESTION)
    assert (found["points"], found["verdict"]) == ("1.5", "marked")
    assert not found["needs marks"]
    page = small / "out" / "feedback" / "anna" / f"{NAME}.html"
    assert "Half of it" in page.read_text()


def test_a_changed_answer_asks_for_a_new_mark(small, release):
    give_mark(small, "2")
    again(small)
    notebook = filled(release, SOLUTIONS, "It sees the future.")
    hand_in(notebook, small / "in" / "anna" / f"{NAME}.ipynb")
    again(small)
    found = line(small / "out", "anna", QUESTION)
    assert found["needs marks"] == "yes"
    assert found["verdict"] == "marked before, changed since"
    give_mark(small, "1")
    again(small)
    found = line(small / "out", "anna", QUESTION)
    assert (found["points"], found["needs marks"]) == ("1", "")


@pytest.mark.parametrize("points", ["3", "two"])
def test_a_mark_that_cannot_be_is_refused(small, points, capsys):
    give_mark(small, points)
    arguments = ["grade", str(small / "in"), "--to", str(small / "out")]
    assert main([*arguments, *OPTIONS]) == 2
    assert "manual_marks.csv, line 2" in capsys.readouterr().err


def test_a_share_of_the_points_for_a_known_mistake(tmp_path, release):
    code = SOLUTIONS | {"padding_mask": INVERTED}
    notebook = filled(release, code)
    hand_in(notebook, tmp_path / "in" / "anna" / f"{NAME}.ipynb")
    again(tmp_path, "--partial", "0.5")
    found = line(tmp_path / "out", "anna", "padding_mask")
    assert found["points"] == f"{POINTS['padding_mask'] / 2:g}"


def test_who_cannot_be_graded_stops_nobody(
    small, release, monkeypatch, capsys
):
    """A fault of ours, with one submission of two; the next run mends it."""
    for name, cell in (("carl", "BOOM = 1"), ("zoe", "pass")):
        code = SOLUTIONS | {"padding_mask": cell}
        path = small / "in" / name / f"{NAME}.ipynb"
        hand_in(filled(release, code), path)
    verdict = Judge.verdict

    def fail(judge, name, program):
        if program and "BOOM" in program.cell:
            raise RuntimeError("a fault")
        return verdict(judge, name, program)

    arguments = ["grade", str(small / "in"), "--to", str(small / "out")]
    with monkeypatch.context() as patch:
        patch.setattr(Judge, "verdict", fail)
        assert main([*arguments, *OPTIONS]) == 2
    assert f"carl ({NAME})" in capsys.readouterr().err
    found = {
        one["student"]: one for one in table(small / "out" / "totals.csv")
    }
    assert found["carl"]["status"] == "failed"
    assert "RuntimeError: a fault" in found["carl"]["notes"]
    assert found["anna"]["status"] == found["zoe"]["status"] == "graded"
    page = (small / "out" / "feedback" / "carl" / f"{NAME}.html").read_text()
    assert "could not be graded" in page
    assert "RuntimeError" not in page
    again(small)
    assert line(small / "out", "carl", "causal_mask")["verdict"] == "correct"


@pytest.mark.parametrize(
    ("export", "place", "file", "key", "column"),
    [
        (
            platform.worksheet,
            platform.moodle_place,
            platforms.WORKSHEET,
            "Full name",
            "Grade",
        ),
        (
            platform.gradebook,
            platform.canvas_file,
            platforms.CANVAS,
            "Student",
            NAME,
        ),
    ],
    ids=["moodle", "canvas"],
)
def test_a_platform_gets_its_own_table_back_with_marks(
    tmp_path, release, export, place, file, key, column
):
    notebook = filled(release, SOLUTIONS, "It copies.")
    path = tmp_path / "in" / place(platform.MEMBERS[0], f"{NAME}.ipynb")
    hand_in(notebook, path)
    roster = export(tmp_path / "export.csv")
    again(tmp_path, "--roster", str(roster))
    give_mark(tmp_path, "2")
    again(tmp_path, "--roster", str(roster))
    before = {row[key] for row in table(roster)}
    marks = {
        row[key]: row[column]
        for row in table(tmp_path / "out" / file)
        if "Points Possible" not in row[key] and row[column]
    }
    assert marks.keys() <= before
    assert list(marks.values()) == [f"{sum(POINTS.values()) + 2:g}"]


# --- errors ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["release", "99_no"], "There are: "),
        (["grade", "nowhere"], "no folder of submissions"),
        (["grade", ".", "99_no"], "There are: "),
        (["grade", ".", "--partial", "2"], "from 0 to 1"),
        (["grade", "tests", "--to", "tests"], "name another folder"),
        (["grade", "a/submitted", "--to", "a"], "name another folder"),
    ],
)
def test_an_error_says_what_to_do(arguments, said, capsys, monkeypatch):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
