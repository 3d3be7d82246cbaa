"""The marks of answers, the sandbox, and what runs a notebook there."""

import ast
import io
import re
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import cloudpickle
import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from course_exercises import catalogue
from course_exercises.candidate import handed, plain
from course_exercises.candidate.findings import study
from course_exercises.candidate.handed import hand_over
from course_exercises.contents import EXERCISES, by_chapter, find
from course_exercises.engine.diagnose import judge, task_of
from course_exercises.engine.messages import finished
from course_exercises.engine.verdict import Verdict
from course_exercises.path.parts import needs, text_of
from course_grading import mark, run, sandbox
from course_grading.assignment import find_assignments, source_notebook
from course_grading.course import _answers, _as_shown, run_notebook
from course_grading.given import course_folder
from course_grading.sandbox import Limits, SandboxError, find_sandbox

IMPORTS = """
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
"""


HEADS = {e.name: e.source for e in by_chapter()["07_multi_head_attention"]}
ATTENTION = text_of(needs("scaled_dot_product_attention"))
ATTENTION += EXERCISES["scaled_dot_product_attention"].source
"""What the answers in ``HEADS`` use."""


@pytest.fixture
def answers(monkeypatch):
    """Ask what a notebook with some cells hands over."""

    def ask(*sources, exercises):
        notebook = ModuleType("__main__")
        monkeypatch.setitem(sys.modules, "__main__", notebook)
        names = vars(notebook)
        for source in (IMPORTS, *sources):
            exec(source, names)
        return {
            name: mark.Answer.read(hand_over(name, names)._about)
            for name in exercises
        }

    return ask


@pytest.fixture(scope="module")
def marker():
    """Marks in a sandbox, with what an assignment without imports sees."""
    with course_folder(new_notebook()) as folder:
        yield mark.Marker(find_sandbox(), folder)


def test_a_known_mistake_has_the_share_that_the_lecturer_gives():
    known = Verdict("", "misconception", "causal_mask", "causal_backwards")
    assert mark.points(known, 0.0) == 0
    assert mark.points(known, 0.5) == 1
    assert mark.points(replace(known, kind="unknown"), 0.5) == 0
    assert mark.points(replace(known, kind="correct"), 0.0) == 2


def test_a_mistake_in_another_exercise_is_not_counted_twice(marker, answers):
    """Nor does what ends the process cost those after it."""
    broken = "def split_heads(x, n_heads):\n    return x"
    ends = "def merge_heads(x):\n    import os\n    os._exit(0)"
    cells = HEADS | {"split_heads": broken, "merge_heads": ends}
    exercises = [*cells, "causal_mask"]
    found = marker.verdicts(
        answers(ATTENTION, *cells.values(), exercises=exercises)
    )
    assert not found.pop("split_heads").is_correct
    kinds = {name: verdict.kind for name, verdict in found.items()}
    assert kinds == {
        "merge_heads": "limit",
        "MultiHead": "correct",
        "causal_mask": "unwritten",
    }
    text = " ".join(found["MultiHead"].text.split())
    assert "with the course's merge_heads and split_heads in place" in text


def test_what_stands_in_gives_nothing_away(marker, answers):
    """Neither the answer that it is made of, nor its code in print."""
    steal = """def split_heads(x, n_heads):
    names = MultiHead.forward.__globals__
    return names["split_heads"](x, n_heads)"""
    tells = "print(merge_heads)\n        super()."
    cells = HEADS | {
        "merge_heads": "def merge_heads(x):\n    return x",
        "MultiHead": HEADS["MultiHead"].replace("super().", tells),
    }
    handed = answers(ATTENTION, *cells.values(), exercises=cells)
    verdict = marker.verdicts(handed)["MultiHead"]
    assert verdict.is_correct and "printed" not in verdict.text
    broken = "class MultiHead:\n    forward = lambda self: None"
    handed = answers(broken, steal, exercises=["split_heads", "MultiHead"])
    found = marker.verdicts(handed)
    assert not any(verdict.is_correct for verdict in found.values())


def test_two_answers_are_not_made_of_each_other(answers):
    one = "def padding_mask(*_):\n    return causal_mask"
    other = "def causal_mask(*_):\n    return {}"
    exercises = ["padding_mask", "causal_mask"]
    for uses, allowed in (("1", ["causal_mask"]), ("padding_mask", [])):
        given = answers(one, other.format(uses), exercises=exercises)
        assert mark.stand_ins("padding_mask", given, exercises) == allowed


def test_no_task_holds_what_a_sandbox_hides():
    ours = rb"transformer_course|course_exercises\.(?!candidate|catalogue)"
    for exercise in EXERCISES.values():
        task = task_of(exercise)
        assert not re.search(ours, mark.by_value(task)), exercise.name
        kept = []

        class Watching(cloudpickle.Pickler):
            def persistent_id(self, one, kept=kept):
                kept.append(one)

        cloudpickle.register_pickle_by_value(catalogue)
        Watching(io.BytesIO()).dump(task)
        cloudpickle.unregister_pickle_by_value(catalogue)
        hidden = (exercise.solution, *exercise.others)
        assert not any(one is right for one in kept for right in hidden)


@pytest.mark.parametrize("name", find_assignments())
def test_nothing_that_is_asked_is_given(name):
    release = source_notebook(name)
    asked = {run.exercise_of(c) for c in release.cells if run.is_test(c)}
    with course_folder(release) as folder:
        for path in folder.glob("course_exercises/catalogue/**/*.py"):
            given = ast.parse(path.read_text("utf-8")).body
            assert not asked & {getattr(one, "name", "") for one in given}


def test_findings_are_the_same_after_a_journey_as_plain_data():
    tried = [(exercise, exercise.solution) for exercise in EXERCISES.values()]
    for name in ("causal_mask", "MyStack", "bleu"):
        wrong = (m.implementation for m in find(name).mistakes[:3])
        tried += [(find(name), code) for code in wrong]
    for exercise, code in tried:
        findings = study(task_of(exercise), code)
        there = plain.loads(plain.dumps(findings))
        verdicts = judge(exercise, findings), judge(exercise, there)
        assert verdicts[0].text == verdicts[1].text


@pytest.mark.parametrize(
    "value",
    [
        {"dtype": "float32", "shape": [1 << 40], "data": ""},
        {"dtype": "float32", "shape": [-1, -1], "data": "AAAAAA=="},
        {"dtype": "float128", "shape": [], "data": "AAAAAA=="},
        {"other": "x"},
        {"type": "\0", "other": "x"},
    ],
)
def test_what_is_no_value_is_refused(value):
    outcome = plain.dumps(study(task_of(find("causal_mask")), len))
    assert plain.loads(outcome)
    with pytest.raises((ValueError, KeyError)):
        plain.decode(value)


@pytest.mark.parametrize(
    "about", [None, 3, {}, {"content": "%"}, {"content": "", "sources": 1}]
)
def test_what_is_no_answer_is_refused(about):
    with pytest.raises(mark.BadAnswer):
        mark.Answer.read(about)


def test_an_exception_s_name_is_no_formula():
    def raises(length):
        raise type("=HYPERLINK(1)", (Exception,), {})("\ud800" * 20_000)

    exercise = find("causal_mask")
    findings = plain.dumps(study(task_of(exercise), raises))
    verdict = finished(judge(exercise, plain.loads(findings)))
    assert (verdict.kind, verdict.mistake) == ("error", "Exception")
    assert len(verdict.text.encode()) < 11_000


@pytest.mark.parametrize(
    "output",
    [
        *(None, 3, [], {}, {"data": ["x"]}, {"data": {handed.MIME: 3}}),
        {"data": {"text/html": "<script>", "text/plain": 3}},
        {"data": {"text/plain": "x" * 300_000}},
        {"name": "stdout", "text": "\ud800"},
        {"traceback": ["\ud800", 3], "ename": {}},
    ],
)
def test_outputs_are_text_and_pictures_whoever_wrote_them(output):
    shown = new_code_cell(outputs=_as_shown([output]))
    notebook = new_notebook(cells=[shown])
    nbformat.validate(notebook)
    text = nbformat.writes(notebook).encode()
    assert b"script" not in text and len(text) < 100_000
    role = {"grade": True, "grade_id": f"causal_mask{run.TEST}"}
    test = new_code_cell(metadata={"nbgrader": role})
    assert _answers(new_notebook(cells=[test]), [[output]]) == {}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("[os.write(file, bytes(1 << 24)) for _ in range(99)]", "memory"),
        ("own = b'x' * (2 << 30)", "memory"),
        ("os.write(1, b'\\n' * 200_000)", "output"),
        ("open('/dev/shm/x', 'wb').write(bytes(600 << 20))", "done"),
        ("open('/x', 'wb')", "done"),
        ("open('/dev/x', 'wb')", "done"),
    ],
)
def test_memory_output_and_what_is_written_have_limits(marker, code, reason):
    code = f"import os, time; file = os.memfd_create('x'); {code}"
    program = ["-c", f"{code}; time.sleep(50)"]
    limits = Limits(60, 1 << 30)
    ending = marker.sandbox.run(marker.course, program, b"", limits)
    assert ending.reason == reason
    assert ("OSError" in ending.errors) == (reason == "done")


def test_a_cell_that_ends_the_kernel_or_does_not_end_costs_itself(monkeypatch):
    monkeypatch.setattr(run, "CELL_SECONDS", 4)
    stubborn = """
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass"""
    sources = [
        "value = 3",
        textwrap.dedent(stubborn),
        "import os\nos._exit(0)",
        "print('x' * 10**6)",
        "exit()",
        "value + 4",
    ]
    notebook = new_notebook(cells=list(map(new_code_cell, sources)))
    cells = run.execute(notebook).cells
    assert [cell.source for cell in cells] == sources
    assert "ran for more than 4 s" in cells[1].outputs[0].evalue
    assert "ended Python" in cells[2].outputs[0].evalue
    assert len(str(cells[3].outputs)) < 2 * run.MAX_OUTPUT
    assert cells[3].outputs[-1].text.endswith(run.CUT)
    assert cells[5].outputs[0].data["text/plain"] == "7"


def test_code_cannot_write_into_the_notebook_that_comes_back(marker):
    """It has no network, no files of this machine, and leaves nothing."""
    tried = f"""
        import os, socket, subprocess
        from pathlib import Path

        os.write(1, b'no JSON')
        there = Path({__file__!r}).exists()
        print(f'{{there}} {{Path.home()}}')
        try:
            Path('/usr/mine').write_text('')
        except OSError:
            print('read-only')
        try:
            socket.create_connection(('192.0.2.1', 80), 1)
        except OSError:
            print('no network')
        sleep = ['setsid', 'sleep', '987654']
        subprocess.Popen(sleep, start_new_session=True)"""
    notebook = new_notebook(cells=[new_code_cell(textwrap.dedent(tried))])
    (outputs,) = run_notebook(notebook, marker.sandbox, marker.course)
    printed = "".join(output.get("text", "") for output in outputs)
    for said in ("False /tmp", "read-only", "no network"):
        assert said in printed
    commands = (p.info["cmdline"] for p in psutil.process_iter(["cmdline"]))
    assert not any("987654" in (command or ()) for command in commands)


def test_code_that_breaks_what_runs_it_costs_its_own_notebook(marker):
    code = """
        kernel = get_ipython().kernel
        kernel.session.send(
            kernel.iopub_socket, "stream", {}, parent=kernel.get_parent()
        )"""
    notebook = new_notebook(cells=[new_code_cell(textwrap.dedent(code))])
    assert run_notebook(notebook, marker.sandbox, marker.course) == [[]]


def test_without_a_sandbox_nothing_is_graded(tmp_path, monkeypatch):
    engine = tmp_path / "docker"
    engine.write_text(
        f"#!{sys.executable}\nimport sys\nsys.exit('no daemon is running')"
    )
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    find_sandbox.cache_clear()
    with pytest.raises(SandboxError) as error:
        find_sandbox()
    assert "docker: no daemon is running" in str(error.value)
    assert "apt install bubblewrap" in str(error.value)
    find_sandbox.cache_clear()


def test_a_container_has_no_network_and_only_the_folder_it_is_given():
    command = sandbox._container("docker", Path("/given"), "one")
    assert command[command.index("--network") + 1] == "none"
    assert command.count("--volume") == 1
    given = command[command.index("--volume") + 1]
    assert given == f"/given:{sandbox.COURSE}:ro"
    assert "--mount" not in command and "-v" not in command
    assert command[-1] == sandbox.IMAGE
