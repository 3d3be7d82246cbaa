"""Marks in a student's kernel, and the process that runs a notebook."""

import sys
import textwrap

import pytest
import torch
from jupyter_client.launcher import launch_kernel
from jupyter_client.provisioning import local_provisioner
from nbformat.v4 import new_code_cell, new_notebook

from course_exercises.contents import by_chapter, find
from course_grading import course, run
from course_grading.mark import MIME, PARTIAL, mark

IMPORTS = """
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.models.attention import scaled_dot_product_attention
"""
BACKWARDS = """
def causal_mask(length):
    import torch
    ones = torch.ones(length, length, dtype=torch.bool)
    return ones.triu()[None, None]
"""


def namespace(*sources):
    """The names of a notebook with these cells."""
    names = {"__name__": "__main__"}
    for source in (IMPORTS, *sources):
        exec(source, names)
    return names


@pytest.mark.parametrize(("share", "points"), [(None, 0.0), ("0.5", 1.0)])
def test_a_known_mistake_has_the_share_that_the_lecturer_gives(
    monkeypatch, share, points
):
    if share:
        monkeypatch.setenv(PARTIAL, share)
    found = mark("causal_mask", namespace(BACKWARDS))
    assert found.points == points
    assert found.verdict.mistake == "causal_backwards"
    shown = found._repr_mimebundle_()
    assert float(shown["text/plain"]) == points
    assert shown[MIME]["mistake"] == "causal_backwards"
    assert f"torch {torch.__version__}" in shown["text/html"]


def test_a_mistake_in_an_earlier_exercise_is_not_counted_twice():
    sources = {
        e.name: e.source for e in by_chapter()["07_multi_head_attention"]
    }
    broken = "def split_heads(x, n_heads):\n    return x"
    cells = sources | {"split_heads": broken}
    names = namespace(*cells.values())
    assert mark("split_heads", names).points == 0
    found = mark("MultiHead", names)
    assert found.points == find("MultiHead").points
    assert "course's split_heads" in " ".join(found.verdict.text.split())
    assert names["split_heads"].__module__ == "__main__"


def test_an_exercise_that_is_not_there_has_no_points():
    found = mark("causal_mask", {})
    assert (found.points, found.verdict.kind) == (0, "unwritten")


def test_a_cell_that_ends_the_kernel_or_does_not_end_costs_itself(monkeypatch):
    monkeypatch.setattr(run, "CELL_SECONDS", 4)
    # the tests' kernels are forks; a student's is a process of its own
    monkeypatch.setattr(local_provisioner, "launch_kernel", launch_kernel)
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


def graded_cell(source):
    """A cell that marks an exercise."""
    role = {"grade": True, "solution": False, "grade_id": "x-test"}
    return new_code_cell(source, metadata={"nbgrader": role})


@pytest.mark.parametrize(
    "source",
    ["3.0", "pass", "import os, signal\nos.kill(os.getppid(), 9)"],
)
def test_a_test_without_a_verdict_has_no_points(source):
    notebook = new_notebook(cells=[graded_cell(source)])
    done, _ = course.Isolated().preprocess(notebook, {})
    (output,) = done.cells[0].outputs
    assert output.output_type == "error"


def test_code_cannot_write_into_the_notebook_that_comes_back():
    source = "import os\nos.write(1, b'no JSON')\nprint('well')"
    notebook = new_notebook(cells=[new_code_cell(source)])
    ((output,),) = course.run_isolated(notebook, "", 0.0)
    assert "well" in output.text


def test_an_engine_that_does_not_run_is_no_fault_of_the_student(tmp_path):
    engine = tmp_path / "docker"
    engine.write_text(
        f"#!{sys.executable}\nimport sys\nsys.exit('no daemon is running')"
    )
    engine.chmod(0o755)
    with pytest.raises(course.GradingError, match="no daemon is running"):
        course.run_isolated(new_notebook(), str(engine), 0.0)
    with pytest.raises(course.GradingError, match="Build the image first"):
        course.require_image(str(engine))


def test_a_container_has_no_network_and_no_files_of_this_machine():
    command = course.container_command("docker", "one", 0.5)
    assert command[:2] == ["docker", "run"]
    assert command[command.index("--network") + 1] == "none"
    assert f"{PARTIAL}=0.5" in command
    assert not {"--volume", "-v", "--mount"} & {*command}
    assert command[-1] == course.IMAGE
