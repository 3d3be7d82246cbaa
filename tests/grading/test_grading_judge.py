"""Grading without nbgrader: whose file, which code, what verdict."""

import importlib
import json
import os
import textwrap
from itertools import chain
from pathlib import Path

import psutil
import pytest
import torch
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_exercises.contents import EXERCISES
from course_exercises.engine.diagnose import diagnose
from course_exercises.engine.exercise import mistake_of
from course_exercises.process import Limits
from tests.grading.grading_class import (
    CELLS,
    INVERTED,
    NAME,
    QUESTION,
    SOLUTIONS,
    assignment,
    filled,
    hand_in,
    tampered,
)
from tools.exercise_notebooks import find_sources, learner_notebook
from tools.grading import handover, results
from tools.grading.answers import Program, answers_in, restored
from tools.grading.assignment import find_assignments
from tools.grading.judge import Judge, graded, judged
from tools.grading.notebooks import Unreadable, cells_of, name_of, read_cells
from tools.grading.oddities import odd_names
from tools.grading.policy import Hidden
from tools.grading.submissions import SubmissionsError, find_submissions
from tools.refresh_outputs import ROOT
from transformer_course.errors import CourseError

KNOWN = ["05_score_functions", NAME]
GIVEN = (
    "import torch",
    "from torch import Tensor, nn",
    "from jaxtyping import Bool, Float, Int",
)
RIGHT = SOLUTIONS["padding_mask"]
SECRET = "SECRET_OF_THE_LECTURER"


each_assignment = pytest.mark.parametrize(
    "name", [assignment.name for assignment in find_assignments()]
)


@pytest.fixture(scope="module")
def handed_out():
    """The assignment."""
    return assignment()


@pytest.fixture(scope="module")
def judge():
    """A process for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECRET, "1")
        with Judge(Hidden(drawn=4), Limits(seconds=2.0)) as judge:
            yield judge


@pytest.fixture
def verdict(judge):
    """The verdict on what stands before a right answer."""
    return lambda cell: judge.verdict("padding_mask", program(cell + RIGHT))


def program(cell):
    """A cell, after the imports that the notebook gives."""
    return Program(cell, given=GIVEN)


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
        "",
        "[]",
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


@each_assignment
def test_solutions_are_correct(judge, name):
    given = assignment(name)
    code = {exercise.name: exercise.source for exercise in given.exercises}
    for exercise, cell in taken(given, code).programs.items():
        verdict = judge.verdict(exercise, cell)
        assert verdict.is_correct, verdict.text


def test_stubs_are_not_written_yet(judge, handed_out):
    stubs = {exercise.name: exercise.stub for exercise in handed_out.exercises}
    for exercise, cell in taken(handed_out, stubs).programs.items():
        assert judge.verdict(exercise, cell).kind == "unwritten"


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda e: e.name)
def test_on_hidden_inputs_right_is_right_and_mistakes_keep_names(exercise):
    hidden = graded(exercise.name, Hidden(drawn=8))
    assert diagnose(hidden, exercise.others[-1]).is_correct
    mistake = exercise.mistakes[-1]
    assert diagnose(hidden, mistake).mistake == mistake_of(mistake).__name__


@pytest.mark.parametrize(
    ("which", "kind", "mistake"),
    [
        ("raises", "error", "ZeroDivisionError"),
        ("raises at the top", "error", "ValueError"),
        ("no Python", "error", "SyntaxError"),
        ("exits", "limit", "crash"),
        ("ends the runner", "limit", "crash"),
        ("loops", "limit", "time"),
        ("prints without end", "limit", "time"),
        ("hungry", "limit", "memory"),
    ],
)
def test_code_that_goes_wrong_is_stopped_and_named(
    judge, which, kind, mistake
):
    verdict = judge.verdict("padding_mask", program(CELLS[which]))
    assert (verdict.kind, verdict.mistake) == (kind, mistake), verdict.text
    assert len(verdict.text) < 20_000
    assert judge.verdict("padding_mask", program(RIGHT)).is_correct


def test_changing_the_tests_does_not_help(judge):
    verdict = judge.verdict("padding_mask", program(CELLS["forged"]))
    assert not verdict.is_correct
    assert judge.verdict("padding_mask", program(RIGHT)).is_correct


def test_knowing_the_visible_answers_does_not_help(judge):
    shown = {case.args[0] for case in EXERCISES["causal_mask"].tried}
    cell = f"""
def causal_mask(length):
    if length not in {shown}:
        length = 1
    return torch.ones(1, 1, length, length, dtype=torch.bool).tril()
"""
    verdict = judge.verdict("causal_mask", program(cell))
    assert not verdict.is_correct


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


def test_a_verdict_that_code_gives_itself_is_refused():
    exercise = graded("padding_mask", Hidden(drawn=1))
    forged = {"text": "", "kind": "correct", "exercise": "padding_mask"}
    verdict = judged(exercise, program(""), {"verdict": forged})
    assert verdict.kind == "refused"


def test_code_has_none_of_the_grader_s_variables(verdict):
    cell = f"""
import os
if {SECRET!r} in os.environ:
    raise ValueError("seen")
"""
    assert verdict(cell).is_correct


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
    cell = (
        f"""
from pathlib import Path
import os
Path({str(marks)!r}).write_text("100")
"""
        + RIGHT
    )
    with Judge(Hidden(drawn=2), Limits(seconds=10.0), user=65534) as judge:
        verdict = judge.verdict("padding_mask", program(cell))
        assert verdict.mistake == "PermissionError", verdict.text
        assert judge.verdict("padding_mask", program(RIGHT)).is_correct
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


# --- what outlives a try -----------------------------------------------------

DAEMON = """
import os, time

def start_daemon():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    with open({path!r}, "a") as file:
        file.write(f"{{os.getpid()}} ")
    time.sleep(1000)

start_daemon()
while not os.path.exists({path!r}):
    time.sleep(0.01)
"""


def alive(path: Path) -> list[int]:
    """Processes whose numbers are in a file."""
    numbers = map(int, path.read_text().split())
    return [number for number in numbers if psutil.pid_exists(number)]


def test_a_daemon_does_not_outlive_its_try(verdict, tmp_path):
    path = tmp_path / "daemon"
    assert verdict(DAEMON.format(path=str(path))).is_correct
    assert not alive(path)


LOOK = """
import gc, sys, types

NAMES = {names!r}

def padding_mask(ids, pad_id=0, looked=[]):
    mask = (ids != pad_id)[:, None, None, :]
    if looked:
        return mask
    looked.append(True)
    functions = [o for o in gc.get_objects()
                 if isinstance(o, types.FunctionType)]
    codes = [f.__code__ for f in functions]
    frame = sys._getframe()
    while frame is not None:
        codes += [getattr(v, "__code__", None)
                  for v in frame.f_locals.values()]
        frame = frame.f_back
    found = {{code.co_name for code in codes
              if code and "transformer_course" in code.co_filename}} & NAMES
    if found:
        raise ValueError(f"found {{sorted(found)}}")
    return mask
"""


def names_of_answers() -> set[str]:
    """Of all solutions and mistakes."""
    return {
        implementation.__name__
        for exercise in EXERCISES.values()
        for implementation in (exercise.solution, *exercise.mistakes)
    }


def test_no_answer_is_in_memory(judge):
    cell = LOOK.format(names=names_of_answers())
    verdict = judge.verdict("padding_mask", program(cell))
    assert verdict.is_correct, verdict.text


def test_such_a_look_finds_what_is_there():
    """The search above is one that can find something."""
    space = {}
    exec(LOOK.format(names=names_of_answers()), space)
    with pytest.raises(ValueError, match="padding_mask"):
        space["padding_mask"](torch.ones(1, 2))


def codes_of(implementation):
    """What a function or class is compiled to."""
    members = [implementation]
    if isinstance(implementation, type):
        members = vars(implementation).values()
    for member in members:
        while hasattr(member, "__wrapped__"):
            member = member.__wrapped__
        if code := getattr(member, "__code__", None):
            yield code.co_code


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda e: e.name)
def test_what_is_handed_over_holds_no_answer(exercise):
    task = handover.packed(graded(exercise.name, Hidden(drawn=1)))
    answers = (exercise.solution, *exercise.others, *exercise.mistakes)
    for code in chain.from_iterable(map(codes_of, answers)):
        assert len(code) < 60 or code not in task


@pytest.mark.parametrize(
    "line",
    [
        "from course_exercises.contents import find",
        "from transformer_course.models.masks import padding_mask",
    ],
)
def test_the_course_cannot_be_imported(verdict, line):
    found = verdict(line + "\n")
    assert found.mistake == "ModuleNotFoundError"
    assert "only what your notebook was handed out" in found.text


@pytest.mark.parametrize(
    "cell",
    [
        "x = " + "(" * 5000 + ")" * 5000 + "\n",
        "raise ValueError('\\ud800 \\x1b[2J' * 1000000)\n",
        "print('\\ud800 \\x1b[2J')\n",
    ],
    ids=["brackets", "raised", "printed"],
)
def test_any_text_is_judged_and_can_be_written(verdict, cell):
    text = verdict(cell).text
    assert len(text.encode()) < 20_000
    assert "\x1b" not in text


# --- results -----------------------------------------------------------------


def test_results_come_back_as_they_were(tmp_path):
    path = tmp_path / "result"
    found = {
        "tensors": [torch.ones(2, 3), torch.tensor(True), torch.ones(0, 2)],
        "pair": (1, -0.5, None, "ü", float("inf")),
        "by key": {3: "x", (1, 2): [torch.arange(3)]},
    }
    with path.open("wb") as file:
        results.write(found, file)
    back = results.read(path)
    for one, other in zip(back["tensors"], found["tensors"], strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)
    assert back["pair"] == found["pair"]
    assert back["by key"][3] == "x"
    assert torch.equal(back["by key"][1, 2][0], torch.arange(3))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x02cos\nsystem\n(S'true'\ntR.",
        bytes(results.LIMIT + 1),
        b"\xff" * 100,
    ],
    ids=["nothing", "pickle", "too large", "no length"],
)
def test_what_is_no_result_is_refused(tmp_path, content):
    path = tmp_path / "result"
    path.write_bytes(content)
    with pytest.raises(Exception):  # noqa: B017
        results.read(path)


# --- errors that follow from others ------------------------------------------

HEADS = {
    name: EXERCISES[name].source
    for name in ("split_heads", "merge_heads", "MultiHead")
}
WRONG = """
def split_heads(x, n_heads):
    batch, length, width = x.shape
    return x.view(batch, n_heads, length, width // n_heads)
"""
HEADS_GIVEN = (
    *GIVEN,
    "from transformer_course.models.attention import "
    "scaled_dot_product_attention",
)


@pytest.mark.parametrize("split", [WRONG, None])
def test_an_earlier_mistake_costs_its_own_points_only(judge, split):
    helpers = [part for part in (split, HEADS["merge_heads"]) if part]
    code = Program(HEADS["MultiHead"], tuple(helpers), HEADS_GIVEN)
    verdict = judge.verdict("MultiHead", code)
    assert verdict.is_correct, verdict.text
    assert "the course's split_heads" in " ".join(verdict.text.split())


def test_a_mistake_of_its_own_still_costs_points(judge):
    cell = HEADS["MultiHead"].replace("self.to_key(source)", "source")
    helpers = (HEADS["split_heads"], HEADS["merge_heads"])
    code = Program(cell, helpers, HEADS_GIVEN)
    assert not judge.verdict("MultiHead", code).is_correct
