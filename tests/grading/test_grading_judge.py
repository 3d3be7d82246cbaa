"""Grading without nbgrader: whose file, which code, what verdict."""

import importlib
import json
import os
import textwrap
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.grading.grading_class import (
    CELLS,
    INVERTED,
    NAME,
    QUESTION,
    SOLUTIONS,
    assignment,
    carried,
    filled,
    hand_in,
    packed_without_hook,
    tampered,
)
from tools.exercise_notebooks import find_sources, learner_notebook
from tools.grading import handover
from tools.grading.answers import Program, answers_in, restored
from tools.grading.assignment import find_assignments
from tools.grading.judge import Judge, graded, judged
from tools.grading.notebooks import Unreadable, cells_of, name_of, read_cells
from tools.grading.oddities import odd_names
from tools.grading.policy import Hidden
from tools.grading.submissions import SubmissionsError, find_submissions
from tools.refresh_outputs import ROOT
from transformer_course.errors import CourseError
from transformer_course.exercises.catalogue import EXERCISES
from transformer_course.exercises.engine.diagnose import diagnose
from transformer_course.exercises.engine.exercise import mistake_of
from transformer_course.exercises.process import Limits

KNOWN = ["05_score_functions", NAME]
GIVEN = ("import torch", "from torch import Tensor")


each_assignment = pytest.mark.parametrize(
    "name", [assignment.name for assignment in find_assignments()]
)


@pytest.fixture(scope="module")
def handed_out():
    """The assignment."""
    return assignment()


HIDDEN = Hidden(drawn=4)


@pytest.fixture(scope="module")
def judge():
    """A process for all tests."""
    packed, stack = handover.packed, packed_without_hook("MyStack", HIDDEN)
    with (
        pytest.MonkeyPatch.context() as patch,
        Judge(HIDDEN, Limits(seconds=4.0)) as judge,
    ):
        patch.setattr(
            handover,
            "packed",
            lambda exercise, earlier=(): (
                stack
                if exercise.name == "MyStack"
                else packed(exercise, earlier)
            ),
        )
        yield judge


def program(cell):
    """A cell, after the imports that the notebook gives."""
    given = (*GIVEN, "from jaxtyping import Bool, Float, Int")
    return Program(cell, given=given)


def taken(given, code):
    """What is taken of a notebook with this code in it."""
    return answers_in(cells_of(filled(given.notebook, code)), given)


# --- files -------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        f"anna/{NAME}.ipynb",
        f"anna/{NAME}/{NAME}.ipynb",
        f"submitted/anna/{NAME}/{NAME}.ipynb",
        f"anna_{NAME}.ipynb",
        f"anna/My {NAME} (2).ipynb",
        f"anna/{NAME}/mine.ipynb",
    ],
)
def test_a_submission_is_found_in_any_layout(tmp_path, path):
    hand_in(new_notebook(), tmp_path / path)
    (found,) = find_submissions(tmp_path, KNOWN).submissions
    assert (found.student, found.assignment) == ("anna", NAME)
    assert found.path == tmp_path / path


def test_of_two_files_the_newer_is_taken_and_the_other_named(tmp_path):
    for age, name in [(2, f"{NAME}.ipynb"), (1, f"{NAME} (1).ipynb")]:
        path = tmp_path / "anna" / name
        hand_in(new_notebook(), path)
        os.utime(path, (1000 - age, 1000 - age))
    (found,) = find_submissions(tmp_path, KNOWN).submissions
    assert found.path.name == f"{NAME} (1).ipynb"
    assert f"{NAME}.ipynb was handed in too" in found.notes[0]


def test_who_hands_in_nothing_is_there_too(tmp_path):
    hand_in(new_notebook(), tmp_path / "anna" / f"{NAME}.ipynb")
    (tmp_path / "ben").mkdir()
    found = find_submissions(tmp_path, KNOWN).submissions
    assert [(s.student, s.path is None) for s in found] == [
        ("anna", False),
        ("ben", True),
    ]


def test_files_that_belong_to_nothing_are_named(tmp_path):
    for name in (f"{NAME}.ipynb", "poem.ipynb", f"9{NAME}.ipynb"):
        hand_in(new_notebook(), tmp_path / "anna" / name)
    ignored = [p.name for p in find_submissions(tmp_path, KNOWN).ignored]
    assert sorted(ignored) == [f"9{NAME}.ipynb", "poem.ipynb"]


def test_links_are_not_followed(tmp_path):
    hand_in(new_notebook(), tmp_path / "anna" / f"{NAME}.ipynb")
    (tmp_path / "ben").mkdir()
    link = tmp_path / "ben" / f"{NAME}.ipynb"
    link.symlink_to(tmp_path / "anna" / f"{NAME}.ipynb")
    found = find_submissions(tmp_path, KNOWN).submissions
    assert {s.student: s.path is None for s in found}["ben"]


@pytest.mark.parametrize("what", ["no folder", "nothing", "another"])
def test_a_folder_without_submissions_says_what_is_expected(tmp_path, what):
    folder = tmp_path / "class"
    if what != "no folder":
        folder.mkdir()
    if what == "another":
        hand_in(new_notebook(), folder / "anna" / f"{KNOWN[0]}.ipynb")
    with pytest.raises(SubmissionsError, match=r"06_masks\.ipynb"):
        find_submissions(folder, KNOWN, [NAME])


def test_an_unknown_assignment_says_which_there_are():
    with pytest.raises(CourseError, match="'99_no'.*06_masks"):
        find_assignments(["99_no"])


@pytest.mark.parametrize(
    "content",
    [
        "hello",
        "",
        "{}",
        "[]",
        '{"cells": 3}',
        '{"cells": [{"cell_type": "code"}], "nbformat": 4}',
        "[" * 100_000,
        json.dumps(new_notebook()),
    ],
)
def test_what_is_no_notebook_is_refused_by_name(tmp_path, content):
    path = tmp_path / f"{NAME}.ipynb"
    path.write_text(content)
    with pytest.raises(Unreadable, match=NAME):
        read_cells(path)


def test_a_picture_is_no_notebook(tmp_path):
    path = tmp_path / f"{NAME}.pdf"
    path.write_bytes(b"\xff\xd8\xff")
    with pytest.raises(Unreadable, match=r"\.ipynb is expected"):
        read_cells(path)


# --- what is taken of a notebook ---------------------------------------------


def test_solutions_are_taken_as_they_stand(handed_out):
    found = taken(handed_out, SOLUTIONS)
    cells = {name: p.cell for name, p in found.programs.items()}
    assert cells == SOLUTIONS
    assert not found.notes


def test_helpers_in_other_cells_come_along_and_nothing_else(handed_out):
    cell = "def padding_mask(ids, pad_id=0):\n    return f(ids)"
    notebook = filled(handed_out.notebook, {"padding_mask": cell})
    helper = "SIZE = 3\ndef g(x):\n    return x\ndef f(x):\n    return g(x)"
    for source in (helper, "while True:\n    pass", "%matplotlib inline"):
        notebook.cells.insert(1, new_code_cell(source))
    found = answers_in(cells_of(notebook), handed_out).programs["padding_mask"]
    assert found.helpers == (
        "def g(x):\n    return x",
        "def f(x):\n    return g(x)",
    )


def test_of_what_is_given_only_what_is_used_comes_along(handed_out):
    found = taken(handed_out, SOLUTIONS)
    given = found.programs["causal_mask"].given
    assert "import torch" in given
    assert not any("check" in statement for statement in given)


def test_a_cell_that_lost_its_name_is_known_by_its_function(handed_out):
    notebook = filled(handed_out.notebook, SOLUTIONS)
    for number, cell in enumerate(notebook.cells):
        cell.metadata.clear()
        cell.id = f"cell-{number}"
    found = answers_in(cells_of(notebook), handed_out)
    cells = {name: p.cell for name, p in found.programs.items()}
    assert cells == SOLUTIONS
    assert any("lost its name" in note for note in found.notes)


def test_of_copies_of_a_cell_the_last_counts(handed_out):
    notebook = filled(handed_out.notebook, SOLUTIONS)
    first = next(c for c in notebook.cells if c.id == "padding_mask")
    copied = new_code_cell(INVERTED, metadata=dict(first.metadata))
    notebook.cells.append(copied)
    found = answers_in(cells_of(notebook), handed_out)
    assert found.programs["padding_mask"].cell == INVERTED


def test_the_notebook_of_those_who_learn_alone_is_graded_too(handed_out):
    (source,) = [path for path in find_sources() if path.stem == NAME]
    notebook = filled(learner_notebook(source), SOLUTIONS, "It copies.")
    found = answers_in(cells_of(notebook), handed_out)
    cells = {name: p.cell for name, p in found.programs.items()}
    assert cells == SOLUTIONS
    assert found.texts == {QUESTION: "It copies."}


def test_what_is_missing_is_missing(handed_out):
    notebook = new_notebook(cells=[new_markdown_cell("I give up.")])
    found = answers_in(cells_of(notebook), handed_out)
    assert set(found.programs.values()) == {None}
    assert found.texts == {QUESTION: ""}


def test_the_course_s_own_cells_are_put_back(handed_out):
    found = answers_in(cells_of(tampered(handed_out.notebook)), handed_out)
    notebook = restored(handed_out, found)
    pairs = zip(notebook.cells, handed_out.notebook.cells, strict=True)
    for cell, original in pairs:
        assert cell.metadata == original.metadata
        if name_of(cell) not in {*found.programs, *found.texts}:
            assert cell.source == original.source
    changed = [note for note in found.notes if "put back" in note]
    assert len(changed) == 2


# --- verdicts ----------------------------------------------------------------


def filled_with(name, what):
    """What is taken of a notebook that is filled with solutions or stubs."""
    given = assignment(name)
    code = {e.name: getattr(e, what) for e in given.exercises}
    return taken(given, code).programs


@each_assignment
def test_solutions_are_correct(judge, name):
    for exercise, cell in filled_with(name, "source").items():
        verdict = judge.verdict(exercise, cell)
        assert verdict.is_correct, verdict.text


@each_assignment
def test_stubs_are_not_written_yet(judge, name):
    for exercise, cell in filled_with(name, "stub").items():
        assert judge.verdict(exercise, cell).kind == "unwritten"


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda e: e.name)
def test_on_hidden_inputs_right_is_right_and_mistakes_keep_names(exercise):
    hidden = graded(exercise.name, Hidden(drawn=8))
    for other in exercise.others:
        assert diagnose(hidden, other).is_correct
    for mistake in exercise.mistakes:
        told = mistake_of(mistake).__name__
        assert diagnose(hidden, mistake).mistake == told


def test_mistakes_of_the_catalogue_are_named(judge):
    for mistake in EXERCISES["padding_mask"].mistakes:
        cell = carried(mistake, "padding_mask")
        verdict = judge.verdict("padding_mask", program(cell))
        told = mistake_of(mistake).__name__
        found = (verdict.kind, verdict.mistake)
        assert found == ("misconception", told), verdict.text


@pytest.mark.parametrize(
    ("which", "kind", "mistake"),
    [
        ("raises", "error", "ZeroDivisionError"),
        ("raises at the top", "error", "ValueError"),
        ("no Python", "error", "SyntaxError"),
        ("exits", "limit", "crash"),
        ("exits at the top", "limit", "crash"),
        ("ends the runner", "limit", "crash"),
        ("loops", "limit", "time"),
        ("loops at the top", "limit", "time"),
        ("hungry", "limit", "memory"),
        ("hungry at the top", "limit", "memory"),
    ],
)
def test_code_that_goes_wrong_is_stopped_and_named(
    judge, which, kind, mistake
):
    verdict = judge.verdict("padding_mask", program(CELLS[which]))
    assert (verdict.kind, verdict.mistake) == (kind, mistake), verdict.text


def test_the_next_one_is_not_harmed(judge):
    cell = SOLUTIONS["padding_mask"]
    for which in ("forged", "exits", "hungry", "ends the runner"):
        judge.verdict("padding_mask", program(CELLS[which]))
        assert judge.verdict("padding_mask", program(cell)).is_correct


def test_changing_the_tests_does_not_help(judge):
    verdict = judge.verdict("padding_mask", program(CELLS["forged"]))
    assert not verdict.is_correct


def test_a_result_that_claims_to_be_equal_is_wrong(judge):
    cell = """
class Equal(float):
    def __eq__(self, other):
        return True

def padding_mask(ids, pad_id=0):
    return Equal(1)
"""
    verdict = judge.verdict("padding_mask", program(cell))
    assert verdict.kind == "slip", verdict.text


def test_knowing_the_visible_answers_does_not_help(judge):
    exercise = EXERCISES["causal_mask"]  # causal_mask: its inputs are few
    assert exercise.name == "causal_mask"
    shown = {case.args[0] for case in exercise.tried}
    cell = f"""
def causal_mask(length):
    if length not in {shown}:
        length = 1
    return torch.ones(1, 1, length, length, dtype=torch.bool).tril()
"""
    with Judge(Hidden(), Limits(seconds=10.0)) as judge:
        verdict = judge.verdict("causal_mask", program(cell))
    assert not verdict.is_correct


def test_what_is_displayed_costs_nobody_marks(judge):
    cell = """
def padding_mask(ids, pad_id=0):
    display(ids)
    return (ids != pad_id)[:, None, None, :]
"""
    assert judge.verdict("padding_mask", program(cell)).is_correct


def test_an_error_after_the_function_does_not_count(judge):
    cell = SOLUTIONS["padding_mask"] + "\n\nprint(padding_mask(3))"
    assert judge.verdict("padding_mask", program(cell)).is_correct


def test_a_forged_result_is_refused_and_nothing_of_it_is_run(judge, tmp_path):
    mark = tmp_path / "was-run"
    cell = f"""
import os, pickle, sys

class Bad:
    def __reduce__(self):
        return (os.system, ("touch {mark}",))

frame = sys._getframe()
while "result" not in frame.f_locals:
    frame = frame.f_back
result = frame.f_locals["result"]
pickle.dump(Bad(), result, protocol=2)
result.flush()
os._exit(0)
"""
    verdict = judge.verdict("padding_mask", program(cell))
    assert verdict.kind == "refused", verdict.text
    assert not mark.exists()


def test_a_class_with_other_parameters_is_told_so(judge):
    cell = """
from torch import nn

class CrossAttention(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.only = nn.Linear(sizes[0], sizes[0])

    def forward(self, *given, **more):
        return self.only(given[0])
"""
    verdict = judge.verdict("CrossAttention", program(cell))
    assert verdict.mistake == "wrong_parameters", verdict.text


def test_a_verdict_that_code_gives_itself_is_refused():
    exercise = graded("padding_mask", Hidden(drawn=1))
    forged = {"text": "", "kind": "correct", "exercise": "padding_mask"}
    verdict = judged(exercise, program(""), {"verdict": forged})
    assert verdict.kind == "refused"


def test_code_has_none_of_the_grader_s_variables(judge, monkeypatch):
    cell = """
import os
if "SECRET_OF_THE_LECTURER" in os.environ:
    raise ValueError("seen")
""" + SOLUTIONS["padding_mask"]
    monkeypatch.setenv("SECRET_OF_THE_LECTURER", "1")
    with Judge(Hidden(drawn=1), Limits(seconds=10.0)) as judge:
        assert judge.verdict("padding_mask", program(cell)).is_correct


def test_who_calls_the_course_s_own_code_is_named():
    cell = (
        "from transformer_course import masks\n"
        "def padding_mask(ids, pad_id=0):\n"
        "    return masks.padding_mask(ids, pad_id)"
    )
    assert odd_names(Program(cell)) == ["transformer_course"]
    assert not odd_names(Program(SOLUTIONS["padding_mask"]))


def readable_by_all(path):
    """Whether anybody may read what is in a folder."""
    return all(part.stat().st_mode & 0o005 == 0o005 for part in path.parents)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another")
@pytest.mark.skipif(
    not readable_by_all(Path(os.__file__)),
    reason="another user cannot read this Python",
)
def test_another_user_may_not_touch_the_marks(tmp_path):
    marks = tmp_path / "marks.csv"
    marks.write_text("0")
    cell = f"""
from pathlib import Path
import os
Path({str(marks)!r}).write_text("100")
""" + SOLUTIONS["padding_mask"]
    with Judge(Hidden(drawn=2), Limits(seconds=10.0), user=65534) as judge:
        verdict = judge.verdict("padding_mask", program(cell))
        assert verdict.mistake == "PermissionError", verdict.text
        cell = SOLUTIONS["padding_mask"]
        assert judge.verdict("padding_mask", program(cell)).is_correct
    assert marks.read_text() == "0"


def test_the_variant_that_lecturers_are_shown_is_one(tmp_path, monkeypatch):
    """Its solution, others and mistakes are judged as they should be."""
    page = (ROOT / "book/en/lecturers.md").read_text(encoding="utf-8")
    start = page.index("```python", page.index("{dropdown} window_mask.py"))
    block = page[start : page.index("   ```\n", start)]
    source = textwrap.dedent(block.split("\n", 1)[1])
    (tmp_path / "window_mask.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    exercise = importlib.import_module("window_mask").EXERCISE
    assert len(exercise.mistakes) >= 3
    for right in (exercise.solution, *exercise.others):
        assert diagnose(exercise, right).is_correct
    for mistake in exercise.mistakes:
        assert diagnose(exercise, mistake).mistake == mistake.__name__
