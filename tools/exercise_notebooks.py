"""Make exercise notebooks from their texts and the package.

    python -m tools.exercise_notebooks            into my_exercises/
    python -m tools.exercise_notebooks --to DIR   into another folder

A file that is there already is left as it is: it holds somebody's work.

``course_exercises/assignments/NN_name.md`` is the prose of a chapter's
notebook. What stands in it between ```` ```python ```` and ```` ``` ````
becomes a code cell; a second-level heading begins a new cell. Two kinds of
line stand for cells:

``::exercise NAME``
    the stub of an exercise of the package, and the cell that checks it
``::answer NAME POINTS``
    an empty cell for the answer, in words, to the question above
"""

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_exercises.contents import find
from course_exercises.engine.exercise import Exercise
from course_exercises.language import (
    VARIABLE,
    beside,
    language,
    say,
    translated,
)
from tools.refresh_outputs import FIXED_METADATA
from transformer_course import files

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "course_exercises/assignments"
TARGET = ROOT / "my_exercises"
PLACE = "*Your answer here.*"


@dataclass(frozen=True)
class Prose:
    """Markdown."""

    text: str


@dataclass(frozen=True)
class Code:
    """Code that is given."""

    source: str


@dataclass(frozen=True)
class Task:
    """An exercise to be programmed."""

    exercise: Exercise


@dataclass(frozen=True)
class Question:
    """A place for an answer in words, marked by hand."""

    name: str
    points: int


Part = Prose | Code | Task | Question
SPLIT = re.compile(
    r"^```python\n(?P<code>.*?)^```$"
    r"|^::exercise (?P<exercise>\w+)$"
    r"|^::answer (?P<answer>\w+) (?P<points>\d+)$"
    r"|^(?=## )",
    re.S | re.M,
)


def find_sources() -> list[Path]:
    """The assignment of each chapter that has one."""
    found = sorted(SOURCES.glob("*.md"))
    return [path for path in found if "." not in path.stem]


def read_parts(path: Path) -> list[Part]:
    """An assignment, cut into what becomes cells."""
    return list(_parts(path.read_text(encoding="utf-8")))


def _parts(text: str) -> Iterator[Part]:
    end = 0
    for match in SPLIT.finditer(text):
        if prose := text[end : match.start()].strip():
            yield Prose(prose)
        end = match.end()
        if match["code"]:
            yield Code(match["code"].strip())
        elif match["exercise"]:
            yield Task(find(match["exercise"]))
        elif match["answer"]:
            yield Question(match["answer"], int(match["points"]))
    if prose := text[end:].strip():
        yield Prose(prose)


def learner_notebook(path: Path) -> NotebookNode:
    """The notebook of an assignment, as a learner gets it."""
    cells: list[NotebookNode] = []
    for number, part in enumerate(read_parts(path)):
        name = f"part-{number}"
        if isinstance(part, Prose):
            part = Prose(translated(beside(path), name, part.text))
        cells += learner_cells(part, name)
    if language() != "en":
        first = next(cell for cell in cells if cell.cell_type == "code")
        first.source = f"%env {VARIABLE}={language()}\n{first.source}"
    notebook = new_notebook(cells=cells, metadata=FIXED_METADATA)
    nbformat.validate(notebook)
    return notebook


def learner_cells(part: Part, name: str) -> list[NotebookNode]:
    """The cells that a part becomes; ``name`` is the id of one without."""
    match part:
        case Prose(text):
            return [new_markdown_cell(text, id=name)]
        case Code(source):
            return [new_code_cell(source, id=name)]
        case Task(exercise):
            return [
                new_code_cell(exercise.stub, id=exercise.name),
                new_code_cell(
                    check_source(exercise), id=f"{exercise.name}-check"
                ),
            ]
        case Question(question, _):
            shown = f'solution("{question}")'
            offer = say("# when yours is written: {solution}", solution=shown)
            return [
                new_markdown_cell(say(PLACE), id=question),
                new_code_cell(offer, id=f"{question}-answer"),
            ]


def check_source(exercise: Exercise) -> str:
    """The cell under a stub: one line, or two where the name is long."""
    check = f"check({exercise.name})"
    stuck = say("# stuck? {hint}", hint=f"hint({exercise.name})")
    line = f"{check}  {stuck}"
    return line if len(line) <= 79 else f"{check}\n{stuck}"


def write_all(folder: Path) -> tuple[list[Path], list[Path]]:
    """Write the notebooks that are not there yet.

    Returns:
        Those written, and those left as they were.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written, left = [], []
    for source in find_sources():
        path = folder / f"{source.stem}.ipynb"
        if path.exists():
            left.append(path)
        else:
            content = nbformat.writes(learner_notebook(source))
            files.write_atomic(path, f"{content}\n")
            written.append(path)
    return written, left


def main() -> int:
    """Write them, and say what was done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=TARGET)
    folder = parser.parse_args().to
    written, left = write_all(folder)
    for path in written:
        print(f"made {path}")
    for path in left:
        print(f"left {path} as it is")
    if left:
        print("To begin one afresh, rename your copy and run this again.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
