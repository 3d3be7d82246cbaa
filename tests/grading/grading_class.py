"""A class of students that hand in what students hand in."""

import copy
import csv
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from course_exercises.contents import by_chapter
from tools.grading.assignment import (
    Released,
    find_assignments,
    source_notebook,
)

NAME = "06_masks"
QUESTION = "why_accuracy_does_not_warn"
SOLUTIONS = {e.name: e.source for e in by_chapter()["06_masks"]}
INVERTED = """
def padding_mask(ids, pad_id=0):
    return (ids == pad_id)[:, None, None, :]
"""
FORGED = """
import torch
from course_exercises.engine import diagnose, outcome, values
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
    "loops": "def padding_mask(ids, pad_id=0):\n    while True:\n        pass",
    "prints without end": (
        "def padding_mask(ids, pad_id=0):\n    while True:\n"
        "        print('a' * 1000)"
    ),
    "hungry": (
        "import torch\n\ndef padding_mask(ids, pad_id=0):\n"
        "    return torch.ones(10**11)"
    ),
    "no Python": "def padding_mask(:\n    pass",
    "forged": FORGED,
}
"""Cells for the exercise padding_mask."""


def assignment(name: str = NAME) -> Released:
    """An assignment, with a notebook that nbgrader has not been through."""
    (found,) = find_assignments([name])
    return Released(name, found.parts, source_notebook(found))


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
