"""An assignment as nbgrader's source notebook, with our checks as its tests.

nbgrader cuts the solutions and the hidden tests out of it, and remembers the
tests for the grading.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_exercises.answers import model_answers
from course_exercises.engine.mistakes import source_lines
from course_exercises.path import parts
from course_grading.run import TEST
from tools.exercise_notebooks import (
    SOURCES,
    Code,
    Part,
    Prose,
    Question,
    Task,
    find_sources,
    learner_cells,
    read_parts,
)
from tools.refresh_outputs import FIXED_METADATA
from transformer_course.errors import CourseError

TEST_SOURCE = """\
# {name}, {points}: this cell marks it. Leave it as it is.
### BEGIN HIDDEN TESTS
from course_exercises.candidate.handed import hand_over

hand_over("{name}", globals())
### END HIDDEN TESTS"""
SOLUTION_OFFER = (
    " `solution(...)` shows how it can be written: it is the last thing to "
    "ask for."
)
"""Sentence of every assignment that a release without solutions omits."""
NO_SOLUTIONS = """\
from course_exercises.check import without_solutions

without_solutions()"""
HAND_IN = """\
## Handing in

Hand in this file under its own name, `{name}.ipynb`. Tests mark your code; a \
person marks your answers in words. Run all cells from the top before you \
hand in; you may add cells. Your code \
is marked where it can import `torch` and the standard library, and of this \
course what the first cell imports, nothing more.

| | points |
|---|---|
"""
WHOLE = Path(parts.FILE).stem
"""The assignment that is a file of the student's, not a notebook."""
ABOUT = f"""\
# Your own Transformer

Hand in your `{parts.FILE}`. This notebook shows its parts as they are marked.\
"""


def find_assignments(names: Sequence[str] = ()) -> list[str]:
    """Names of the assignments, such as ``06_masks``.

    Args:
        names: the ones wanted; empty for all.

    Raises:
        CourseError: there is no assignment of that name.
    """
    known = [*(path.stem for path in find_sources()), WHOLE]
    for name in names:
        if name not in known:
            raise CourseError(
                f"there is no assignment {name!r}. There are: "
                f"{', '.join(known)}"
            )
    return list(names) or known


def source_notebook(
    name: str, solutions: bool = True, site: str = ""
) -> NotebookNode:
    """Build the notebook from which nbgrader makes the release.

    Args:
        name: the assignment's.
        solutions: whether the notebook offers them.
        site: address of the book for links; empty for links that work in
            ``my_exercises/`` in the course's folder.
    """
    sections = list(_whole())
    if name != WHOLE:
        sections = read_parts(SOURCES / f"{name}.md")
    answers = model_answers(name)
    cells: list[NotebookNode] = []
    for number, part in enumerate(sections):
        cells += _cells(part, f"part-{number}", answers)
    cells.insert(1, new_markdown_cell(_terms(name, sections), id="handing-in"))
    if not solutions:
        code = next(n for n, c in enumerate(cells) if c.cell_type == "code")
        cells.insert(code + 1, new_code_cell(NO_SOLUTIONS, id="no-solutions"))
    for cell in cells:
        if cell.cell_type == "markdown" and not solutions:
            cell.source = cell.source.replace(SOLUTION_OFFER, "")
        if cell.cell_type == "markdown" and site:
            cell.source = re.sub(
                r"\]\(\.\./book/en/(\w+)\.ipynb",
                rf"]({site.rstrip('/')}/\1.html",
                cell.source,
            )
    return new_notebook(cells=cells, metadata=FIXED_METADATA)


def _whole() -> Iterator[Part]:
    """The parts of the assignment that is a file."""
    yield Prose(ABOUT)
    yield Code(parts.text_of(()))
    for number, names in parts.PARTS.items():
        yield Prose(f"## Chapter {number}")
        yield from (Task(parts.exercise_of(name)) for name in names)


def _cells(
    part: Part, name: str, answers: dict[str, str]
) -> list[NotebookNode]:
    match part:
        case Task(exercise):
            stub, check = learner_cells(part, name)
            stub.source = "\n".join(source_lines(exercise.solution))
            check.metadata["tags"] = ["skip-execution"]  # the test repeats it
            test = TEST_SOURCE.format(
                name=exercise.name, points=_counted(exercise.points)
            )
            cell = new_code_cell(test, id=exercise.name + TEST)
            return [
                _with_role(stub, solution=True),
                check,
                _with_role(cell, points=exercise.points, locked=True),
            ]
        case Question(question, points):
            text = answers.get(question, "")
            cell = new_markdown_cell(text, id=question)
            return [_with_role(cell, points=points, solution=True)]
        case Prose() | Code():
            return learner_cells(part, name)


def _with_role(
    cell: NotebookNode, points: int | None = None, **roles: bool
) -> NotebookNode:
    """The cell with nbgrader's metadata, of its schema 3."""
    cell.metadata["nbgrader"] = {
        "grade_id": cell.id,
        "schema_version": 3,
        "grade": points is not None,
        "solution": False,
        "locked": False,
        "task": False,
        **({} if points is None else {"points": points}),
        **roles,
    }
    return cell


def _terms(name: str, sections: Sequence[Part]) -> str:
    """The cell that says how to hand in, and the points."""
    rows = []
    for part in sections:
        if isinstance(part, Task):
            rows.append((f"`{part.exercise.name}`", part.exercise.points))
        if isinstance(part, Question):
            rows.append(("answer in words", part.points))
    rows.append(("**total**", sum(points for _, points in rows)))
    table = "\n".join(f"| {what} | {points} |" for what, points in rows)
    return HAND_IN.format(name=name) + table


def _counted(points: int) -> str:
    return f"{points} point{'' if points == 1 else 's'}"
