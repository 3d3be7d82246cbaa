"""The learner's own Transformer: the file, its check, its laws."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from course_exercises.engine.verdict import Verdict
from course_exercises.path import checking, laws, parts, report
from course_exercises.path.checking import Checker, broken_laws
from course_exercises.path.file import begin, read
from course_exercises.process import Limits
from transformer_course.errors import CourseError
from transformer_course.models.custom import definitions

SOLUTION = parts.solution_text()
CODE_LINES = 302
"""Most lines of the finished file, without blanks, comments, docstrings."""


@pytest.fixture
def learners_file(tmp_path):
    def write(text: str):
        path = tmp_path / parts.FILE
        path.write_text(text, "utf-8")
        return read(path)

    return write


def without(name: str, text: str = SOLUTION) -> str:
    """The finished file without one part."""
    return text.replace(parts.solution(name), "")


# --- the file ----------------------------------------------------------------


def test_the_finished_file_stands_alone():
    """It imports torch and the standard library, and is short."""
    tree = ast.parse(SOLUTION)
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    roots = {name.partition(".")[0] for name in imported}
    assert roots - set(sys.stdlib_module_names) == {"torch"}
    comments = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            comments.update(range(node.lineno, node.end_lineno + 1))
    lines = [
        line
        for number, line in enumerate(SOLUTION.splitlines(), start=1)
        if number not in comments and not re.match(r"\s*(#|$)", line)
    ]
    assert len(lines) <= CODE_LINES


def test_the_finished_file_trains_and_writes_without_the_package(tmp_path):
    path = tmp_path / parts.FILE
    path.write_text(SOLUTION, "utf-8")
    code = (
        "import sys, runpy; sys.modules['transformer_course'] = None; "
        f"runpy.run_path({str(path)!r})['main'](steps=2)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True
    )
    assert "BLEU" in done.stdout, done.stderr


def test_every_part_is_asked_for_by_its_own_chapter():
    for number, names in parts.PARTS.items():
        for name in names:
            assert parts.exercise_of(name).chapter[:2] == number


def test_a_new_file_has_stubs_alone_and_is_never_written_over(tmp_path):
    path = tmp_path / parts.FILE
    assert begin(path) == []
    new = read(path)
    assert new.written == new.missing == []
    path.write_text(without("bleu", new.text) + "mine = 1\n", "utf-8")
    text = path.read_text("utf-8").replace(parts.stub("bleu"), "")
    path.write_text(text, "utf-8")
    assert begin(path) == [parts.stub("bleu")]
    assert path.read_text("utf-8") == text


def test_parts_that_are_not_written_are_the_courses(learners_file):
    stub = parts.stub("AddNorm")
    own = learners_file(
        without("bleu").replace(parts.solution("AddNorm"), stub)
    )
    text, absent = own.completed()
    assert absent == ["AddNorm", "bleu"]
    assert own.text.rstrip() in text
    module = definitions(text, "completed")
    assert module.bleu and module.MyTransformer(9, 4, 2, 8, 1)


@pytest.mark.parametrize("name", ["mine.txt", "mine.ipynb", "not-there.py"])
def test_what_is_no_file_of_a_learner_is_refused(name, tmp_path):
    if "not-there" not in name:
        (tmp_path / name).touch()
    with pytest.raises(CourseError, match=name):
        read(tmp_path / name)


# --- the check ---------------------------------------------------------------


def edited(name: str, old: str, new: str) -> str:
    """A finished part with something else written in it."""
    text = parts.solution(name)
    assert text.count(old) == 1
    return text.replace(old, new)


def test_each_mistake_is_named_and_counts_once(learners_file, monkeypatch):
    """Everything that can be wrong with a part, at once in one file."""
    text = parts.stubs_text()
    for name, code in {
        "padding_mask": parts.solution("padding_mask"),
        "MyEncoderLayer": parts.solution("MyEncoderLayer"),  # uses AddNorm
        "stable_softmax": edited(
            "stable_softmax",
            "def stable_softmax(",
            "def stable_softmax(:\n\ndef other(",
        ),
        "causal_mask": edited(
            "causal_mask", "def causal_mask(", "def casual_mask("
        ),
        "merge_heads": "merge_heads = 3",
        "AddNorm": edited(
            "AddNorm", "self.norm(x + answer)", "self.norm(answer)"
        ),
        "learning_rate": "def learning_rate(step, d_model, warmup):\n"
        "    while True:\n        pass",
        "bleu": "def bleu(counts):\n    import os\n    os._exit(0)",
    }.items():
        text = text.replace(parts.stub(name), code)
    text += "\nwhile True:\n    pass\n"  # a trial run at the end
    own = learners_file(text)
    checker = Checker(Limits(seconds=3))
    found = checker.check(own)
    names = {state: [] for state in report.MARKS}
    for name, verdict in found.items():
        names[report.state_of(verdict)].append(name)
    assert names["right"] == ["padding_mask", "MyEncoderLayer"]
    wrong = ["stable_softmax", "AddNorm", "learning_rate", "bleu"]
    assert names["wrong"] == wrong
    assert found["stable_softmax"].mistake == "SyntaxError"
    assert found["AddNorm"].kind == "misconception"
    assert "casual_mask" in found["causal_mask"].text
    assert found["learning_rate"].mistake == "time"
    assert found["bleu"].mistake == "crash"
    said = report.text(own, found, colours=False)
    last = said.rstrip().splitlines()[-1]
    assert last.startswith(f"2 of {len(found)} parts are right")
    assert "✗ AddNorm" in said and "· split_heads" in said
    monkeypatch.setattr(checking, "_child", None)  # no process is begun
    assert checker.check(own) == found  # what stays is not tried again


def test_what_comes_next_is_said_of_the_translator_and_of_the_decoder(
    learners_file,
):
    own = learners_file(SOLUTION)
    found = {name: Verdict("", "correct", name) for name in parts.NAMES}
    assert "chat smollm2 --decoder" in report.summary(own, found)
    for name, ready in (("MyDecoder", True), ("bleu", False)):
        found[name] = Verdict("", "unwritten", name)
        said = report.summary(own, found)
        assert f"Next: {'MyDecoder' if ready else 'bleu'}, chapter" in said
        assert ("all yours" in said) == ready


def test_the_page_shows_the_picture(learners_file):
    own = learners_file(parts.stubs_text())
    found = Checker().check(own)
    page = report.page(own, found)
    assert page.count('<span class="course">') >= 2 * len(parts.NAMES)


# --- the laws ----------------------------------------------------------------


def test_the_laws_hold_for_the_solution_and_notice_a_mask(learners_file):
    right = definitions(SOLUTION, "right").MyTransformer
    assert laws.broken_laws(right) == {}  # in this process
    seen = "causal_mask(tgt.size(1)).to(tgt.device) & "
    assert SOLUTION.count(seen) == 1
    broken = broken_laws(learners_file(SOLUTION.replace(seen, "")))
    assert set(broken) == {"no_future"}
    said = report.laws_text(broken, len(laws.LAWS))
    assert "no future" in said and "causal mask" in said


def test_the_picture_has_every_part():
    path = Path(report.__file__).with_name("picture.txt")
    boxes = re.findall(r"\[(\w+) *\]", path.read_text("utf-8"))
    assert set(boxes) == set(parts.NAMES)
