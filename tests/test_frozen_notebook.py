"""What a learner has written before is checked as it was then.

How the notebook was made is said in ``frozen/README.md``.
"""

import ast
import linecache
from pathlib import Path

import nbformat
import pytest

from transformer_course.exercises import check as notebook_check
from transformer_course.exercises.process import Worker

NOTEBOOK = Path(__file__).parent / "frozen" / "06_masks.ipynb"


@pytest.fixture
def outputs(monkeypatch, tmp_path):
    """What each cell of code shows, by its id."""
    worker = Worker()
    monkeypatch.setattr(notebook_check, "WORKER", worker)
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "__main__"}
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    try:
        yield {
            cell.id: shown(cell.source, f"<{cell.id}>", space)
            for cell in cells
            if cell.cell_type == "code"
        }
    finally:
        worker.stop()


def shown(source, name, space):
    """The value of a cell's last line, as a kernel finds it."""
    lines = source.splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    *body, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        exec(compile(source, name, "exec"), space)
        return None
    exec(compile(ast.Module(body, []), name, "exec"), space)
    return eval(compile(ast.Expression(last.value), name, "eval"), space)


def test_a_notebook_of_before_is_told_what_it_was_told_then(outputs):
    right = outputs["padding_mask-check"]
    assert right.is_correct
    assert repr(right).startswith("padding_mask: correct.")
    wrong = outputs["causal_mask-check"]
    assert (wrong.kind, wrong.mistake) == ("misconception", "causal_inverted")
    assert repr(wrong).startswith("causal_mask: not right yet.")
    assert wrong.section.startswith("06_masks#")
    assert outputs["masked_softmax-check"].kind == "unwritten"
    assert "1 of " in repr(outputs["part-11"])
