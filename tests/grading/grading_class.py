"""A class of students that hand in what students hand in."""

import copy
import csv
import os
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from tools.grading.assignment import (
    Released,
    find_assignments,
    source_notebook,
)
from tools.grading.handover import written
from tools.grading.policy import Hidden
from tools.refresh_outputs import ROOT
from transformer_course.exercises.catalogue import by_chapter
from transformer_course.exercises.engine.exercise import Implementation

NAME = "06_masks"
QUESTION = "why_accuracy_does_not_warn"
SOLUTIONS = {e.name: e.source for e in by_chapter()["06_masks"]}
INVERTED = """
def padding_mask(ids, pad_id=0):
    return (ids == pad_id)[:, None, None, :]
"""
FORGED = """
import torch
from transformer_course.exercises.engine import diagnose, outcome, values
diagnose.is_right = values.same = lambda *a, **k: True
torch.equal = lambda *a: True
torch.isclose = lambda a, *b, **k: torch.ones(a.shape, dtype=torch.bool)

def check(function):
    return "correct"

def padding_mask(ids, pad_id=0):
    return torch.zeros(len(ids), 1, 1, ids.shape[1], dtype=torch.bool)
"""
CELLS = {
    "inverted": INVERTED,
    "raises": "def padding_mask(ids, pad_id=0):\n    return 1 / 0",
    "raises at the top": "raise ValueError('here')",
    "exits": "import os\n\ndef padding_mask(ids, pad_id=0):\n    os._exit(0)",
    "ends the runner": (
        "import os\n\ndef padding_mask(ids, pad_id=0):\n"
        "    os.kill(os.getppid(), 9)\n    os.kill(os.getpid(), 9)"
    ),
    "exits at the top": "import os\nos._exit(3)",
    "loops": "def padding_mask(ids, pad_id=0):\n    while True:\n        pass",
    "loops at the top": "while True:\n    pass",
    "hungry": (
        "import torch\n\ndef padding_mask(ids, pad_id=0):\n"
        "    return torch.ones(10**11)"
    ),
    "hungry at the top": "x = bytearray(10**12)",
    "no Python": "def padding_mask(:\n    pass",
    "forged": FORGED,
}
"""Cells for the exercise padding_mask."""


def assignment(name: str = NAME) -> Released:
    """An assignment, with a notebook that nbgrader has not been through."""
    (found,) = find_assignments([name])
    return Released(name, found.parts, source_notebook(found))


def carried(implementation: Implementation, name: str) -> str:
    """One of the catalogue's, as the function that was asked for."""
    content = written(implementation, implementation)
    return f"import cloudpickle\n\n{name} = cloudpickle.loads({content!r})"


def packed_without_hook(name: str, hidden: Hidden) -> bytes:
    """What a try is given, from a process that does not check annotations.

    The hook of these tests puts checks into functions inside of functions
    too, where they cannot be left out.
    """
    script = (
        "import sys\n"
        "from tools.grading import handover\n"
        "from tools.grading.policy import Hidden\n"
        "from transformer_course.exercises.catalogue import find\n"
        f"exercise = find({name!r}).with_more({hidden.seed}, {hidden.drawn})\n"
        "sys.stdout.buffer.write(handover.packed(exercise))\n"
    )
    command = [sys.executable, "-c", script]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE
    ).stdout


def filled(
    release: NotebookNode,
    code: dict[str, str] | None = None,
    answer: str | None = None,
) -> NotebookNode:
    """A notebook with answers in it."""
    notebook = copy.deepcopy(release)
    answers = {**(code or {}), **({QUESTION: answer} if answer else {})}
    for cell in notebook.cells:
        cell.source = answers.get(cell.id, cell.source)
    return notebook


def tampered(release: NotebookNode) -> NotebookNode:
    """Tests changed, renamed, removed and worth more; a check of one's own."""
    notebook = filled(release, SOLUTIONS | {"padding_mask": FORGED})
    kept = []
    for cell in notebook.cells:
        if cell.id == "padding_mask-test":
            cell.source = "print('all is well')"
        if cell.id == "causal_mask-test":
            cell.metadata["nbgrader"]["points"] = 100
        if cell.id == "causal_mask":
            cell.metadata.clear()
            cell.id = "other"
        if cell.id != "masked_softmax-test":
            kept.append(cell)
    notebook.cells = [new_code_cell("def check(f): return 'fine'"), *kept]
    return notebook


def hand_in(notebook: NotebookNode, path: Path) -> None:
    """Write a submission."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def table(path: Path) -> list[dict[str, str]]:
    """The lines of a table."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def line(folder: Path, student: str, exercise: str) -> dict[str, str]:
    """The line of marks.csv about one answer."""
    (found,) = [
        line
        for line in table(folder / "marks.csv")
        if (line["student"], line["exercise"]) == (student, exercise)
    ]
    return found
