"""What is handed out: nbgrader's notebook of an assignment, and its tasks.

It comes from the same sources as the learner's notebook: the prose of
``assignments/NN_name.md``, and the exercises of the package.
"""

import inspect
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_exercises.engine.exercise import Exercise
from tools.exercise_notebooks import (
    PLACE,
    Code,
    Part,
    Prose,
    Question,
    Task,
    find_sources,
    learner_cells,
    read_parts,
)
from tools.grading.notebooks import (
    Cell,
    Unreadable,
    cells_of,
    name_of,
    read_cells,
)
from tools.grading.terms import bare
from tools.grading.texts import counted
from tools.refresh_outputs import FIXED_METADATA
from transformer_course.errors import CourseError

DEFINED = re.compile(r"^(?:def|class) (\w+)", re.M)
SCHEMA = 3
"""The version of nbgrader's metadata."""
TEST = """\
# {name}, {points}. It is marked here, on other inputs than in the cell
# above: leave this cell as it is."""


class AssignmentError(CourseError):
    """An assignment that there is not."""


@dataclass(frozen=True)
class Assignment:
    """An assignment, as it is marked.

    Args:
        name: such as ``06_masks``; its notebook is called so, too.
        parts: what stands in it, in order.
    """

    name: str
    parts: Sequence[Part]

    @cached_property
    def exercises(self) -> list[Exercise]:
        """What is programmed. Its cell has the name of the exercise."""
        return [p.exercise for p in self.parts if isinstance(p, Task)]

    @cached_property
    def questions(self) -> list[Question]:
        """What is answered in words. Its cell has the question's name."""
        return [part for part in self.parts if isinstance(part, Question)]

    @property
    def title(self) -> str:
        """What its first line says."""
        first = self.parts[0]
        text = first.text if isinstance(first, Prose) else ""
        return text.partition("\n")[0].lstrip("# ") or self.name

    def asked(self, question: Question) -> str:
        """The text above the place for an answer."""
        above = self.parts[self.parts.index(question) - 1]
        return above.text if isinstance(above, Prose) else ""

    @property
    def points(self) -> dict[str, int]:
        """By the name of the graded cell, in the order of the notebook."""
        return {test_cell(e.name): e.points for e in self.exercises} | {
            question.name: question.points for question in self.questions
        }

    @cached_property
    def given(self) -> list[str]:
        """Code that is given, such as imports."""
        return [p.source for p in self.parts if isinstance(p, Code)]


@dataclass(frozen=True)
class Released(Assignment):
    """An assignment that has been handed out.

    Args:
        notebook: what students got.
    """

    notebook: NotebookNode

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """What was in the notebook, by name, in order."""
        return {cell.name: cell for cell in cells_of(self.notebook)}

    @cached_property
    def locked(self) -> dict[str, str]:
        """The course's own cells that students should leave alone."""
        return {
            name_of(cell): cell.source
            for cell in self.notebook.cells
            if cell.metadata.get("nbgrader", {}).get("locked")
        }

    @cached_property
    def question_names(self) -> set[str]:
        """The names of the cells for answers in words."""
        return {question.name for question in self.questions}

    def name_of_given(self, cell: Cell) -> str:
        """Which cell of the notebook a student's cell was, or "".

        Names can be lost; then what stands in a cell, or begins it, tells.
        """
        if cell.name in self.cells:
            return cell.name
        there = bare(cell.source)
        return self._by_source.get(there) or next(
            (
                name
                for source, name in self._by_source.items()
                if cell.kind == self.cells[name].kind == "markdown"
                and there.startswith(source)
            ),
            "",
        )

    def question_at(self, given: str) -> str:
        """The question that one of the notebook's cells asks, or ""."""
        names = list(self.cells)
        below = names[names.index(given) :][:2]
        asks = self.cells[given].kind == "markdown"
        found = [name for name in below if name in self.question_names]
        return found[0] if asks and found else ""

    def added(self, cell: Cell, given: str) -> str:
        """What a student wrote into a cell for text.

        Args:
            cell: the student's.
            given: which cell of the notebook it was, or "".
        """
        before = bare(self.cells[given].source).strip() if given else ""
        text = bare(cell.source).strip().removeprefix(before)
        return text.strip().removeprefix(PLACE).strip()

    @cached_property
    def _by_source(self) -> dict[str, str]:
        """Names by what stands in a cell, the longest first."""
        found = {
            bare(cell.source): name
            for name, cell in self.cells.items()
            if cell.source.strip() not in ("", PLACE)
        }
        return dict(sorted(found.items(), key=lambda one: -len(one[0])))


def asked_of(exercise: Exercise) -> str:
    """What an exercise asks for, in a line."""
    said = inspect.cleandoc(exercise.solution.__doc__ or "")
    return " ".join(said.partition("\n\n")[0].split())


MARKED = "-test"


def test_cell(exercise: str) -> str:
    """The name of the cell in which an exercise is marked."""
    return exercise + MARKED


test_cell.__test__ = False  # pytest, this is none


def find_assignments(names: Sequence[str] = ()) -> list[Assignment]:
    """The assignments of these names; all if there are none.

    Raises:
        AssignmentError: there is no such assignment.
    """
    sources = {path.stem: path for path in find_sources()}
    for name in names:
        if name not in sources:
            raise AssignmentError(
                f"there is no assignment {name!r}. There are: "
                f"{', '.join(sources)}. Give one or more: make release "
                f"NB={next(iter(sources), '06_masks')}"
            )
    return [
        Assignment(name, read_parts(sources[name]))
        for name in names or sources
    ]


def recognised(path: Path, assignments: Sequence[Assignment]) -> str | None:
    """The assignment whose cells a notebook has; None if that is unclear.

    Where the names of cells are lost, functions tell.
    """
    try:
        cells = read_cells(path)
    except Unreadable:
        return None
    there = {cell.name for cell in cells}
    for cell in cells:
        there.update(DEFINED.findall(cell.source))
    counts = {
        one.name: len(there & {e.name for e in one.exercises})
        for one in assignments
    }
    best = max(counts, key=counts.__getitem__)
    alone = list(counts.values()).count(counts[best]) == 1
    return best if counts[best] and alone else None


def source_notebook(assignment: Assignment) -> NotebookNode:
    """The notebook that nbgrader starts from, solutions and all."""
    cells: list[NotebookNode] = []
    for number, part in enumerate(assignment.parts):
        cells += _cells(part, f"part-{number}")
    notebook = new_notebook(cells=cells, metadata=FIXED_METADATA)
    nbformat.validate(notebook)
    return notebook


def _cells(part: Part, name: str) -> list[NotebookNode]:
    if isinstance(part, Task):
        exercise = part.exercise
        _, check = learner_cells(part, name)
        check.metadata["nbgrader"] = _metadata(check.id, locked=True)
        test = test_cell(exercise.name)
        return [
            new_code_cell(
                textwrap.dedent(inspect.getsource(exercise.solution)).rstrip(),
                id=exercise.name,
                metadata={"nbgrader": _metadata(exercise.name, answer=True)},
            ),
            check,
            new_code_cell(
                TEST.format(
                    name=exercise.name,
                    points=counted(exercise.points, "point"),
                ),
                id=test,
                metadata={"nbgrader": _metadata(test, exercise.points)},
            ),
        ]
    if isinstance(part, Question):
        metadata = _metadata(part.name, part.points, answer=True)
        return [
            new_markdown_cell(id=part.name, metadata={"nbgrader": metadata})
        ]
    return learner_cells(part, name)


def _metadata(
    name: str,
    points: int | None = None,
    answer: bool = False,
    locked: bool = False,
) -> dict[str, object]:
    """What nbgrader wants to know of a cell."""
    graded = points is not None
    return {
        "grade_id": name,
        "grade": graded,
        "solution": answer,
        "locked": locked or (graded and not answer),
        "schema_version": SCHEMA,
        "task": False,
    } | ({"points": points} if graded else {})
