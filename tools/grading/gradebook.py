"""nbgrader: what is handed out, the marks, and the marks given by hand.

The folder of a grading is a course folder of nbgrader. Its own steps do the
work, with one change: where it would run a student's notebook in one kernel,
tests and all, it takes the verdicts that stand in ``verdicts/``. So nothing is
executed, and nbgrader's pages still show each notebook with its marks.
"""

import json
import logging
import os
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps import NbGraderAPI
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    NbGraderPreprocessor,
    SaveAutoGrades,
)
from traitlets.config import Config

from course_exercises.engine.exercise import STUB
from tools.exercise_notebooks import PLACE
from tools.grading.assignment import (
    MARKED,
    Assignment,
    Released,
    source_notebook,
    test_cell,
)
from tools.grading.notebooks import name_of
from tools.grading.records import Mark, Tried
from transformer_course import files
from transformer_course.errors import CourseError

COURSE = "transformer"
VERDICTS = "verdicts"
CONFIG = '''\
"""nbgrader's settings for this grading; `make grade` writes them."""

import sys

sys.path.insert(0, {root!r})

from tools.grading.gradebook import settings

c = get_config()  # noqa: F821
c.merge(settings({folder!r}))
'''


class GradebookError(CourseError):
    """nbgrader could not do what it was asked for."""


class ByHand(NamedTuple):
    """A mark that a person gave."""

    assignment: str
    student: str
    cell: str
    points: float
    comment: str


class TakeVerdicts(NbGraderPreprocessor):
    """In place of running a notebook: what was found out beforehand."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Put the verdicts where the tests would have written."""
        where = resources["nbgrader"]
        self._found = files.read_json(
            _verdicts(Path.cwd(), where["student"], where["assignment"])
        )
        return super().preprocess(nb, resources)

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """nbgrader reads the points of a cell from what it put out."""
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        if found := self._found.get(name_of(cell)):
            text = found["text"] + "\n"
            points = {"text/plain": repr(float(found["points"]))}
            cell.outputs = [
                new_output("stream", name="stdout", text=text),
                new_output("execute_result", points, execution_count=1),
            ]
            cell.execution_count = 1
        return cell, resources


def _verdicts(folder: Path, student: str, assignment: str) -> Path:
    """Where the verdicts on a submission are kept for nbgrader."""
    return folder / VERDICTS / student / f"{assignment}.json"


def settings(folder: str | Path) -> Config:
    """nbgrader's settings."""
    config = Config()
    config.CourseDirectory.root = str(Path(folder).resolve())
    config.CourseDirectory.course_id = COURSE
    config.ClearSolutions.code_stub = {"python": STUB}
    config.ClearSolutions.text_stub = PLACE
    config.Autograde.autograde_preprocessors = [
        TakeVerdicts,
        SaveAutoGrades,
        AssignLatePenalties,
        CheckCellMetadata,
    ]
    config.NbGraderAPI.log_level = logging.CRITICAL
    return config


class Course:
    """The folder of a grading, as nbgrader sees it.

    Args:
        folder: where it is, or is to be.
    """

    def __init__(self, folder: Path):
        self.folder = folder.resolve()
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)  # marks are private
        scripts = sysconfig.get_path("scripts")  # nbgrader calls alembic
        path = os.environ.get("PATH", "")
        if scripts not in path.split(os.pathsep):
            os.environ["PATH"] = os.pathsep.join([scripts, path])
        self._api = NbGraderAPI(config=settings(self.folder))

    def write_settings(self, root: Path) -> None:
        """So that nbgrader's own commands and pages work in the folder."""
        text = CONFIG.format(root=str(root), folder=str(self.folder))
        files.write_atomic(self.folder / "nbgrader_config.py", text)

    def release(self, assignment: Assignment) -> Released:
        """Make the notebook that students get; nbgrader remembers the rest.

        Raises:
            GradebookError: nbgrader refuses, above all because cells were
                added or removed after submissions have been graded.
        """
        name = assignment.name
        write(
            source_notebook(assignment),
            self._notebook("source", "", name),
        )
        with quietly():
            said = self._api.generate_assignment(name)
        if not said["success"]:
            raise GradebookError(
                f"nbgrader could not make {name}. If exercises were added or "
                "removed after the first grading, grade into another folder: "
                f"make grade GRADING=...\n\n{said.get('log', '')}"
            )
        path = self._notebook("release", "", name)
        notebook = nbformat.read(path, as_version=4)
        return Released(name, assignment.parts, notebook)

    def mark(
        self,
        name: str,
        student: str,
        notebook: NotebookNode,
        tried: Sequence[Tried],
    ) -> None:
        """Let nbgrader note the marks of one submission.

        Raises:
            GradebookError: it failed.
        """
        path = _verdicts(self.folder, student, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        found = {
            test_cell(one.exercise): {"points": one.points, "text": one.text}
            for one in tried
        }
        files.write_atomic(path, json.dumps(found, indent=1) + "\n")
        write(notebook, self._notebook("submitted", student, name))
        with quietly():
            said = self._api.autograde(name, student)
        if not said["success"]:
            raise GradebookError(
                f"nbgrader could not note the marks of {student} for {name}:"
                f"\n{said.get('log', '')}"
            )

    def marks(self, name: str, student: str) -> dict[str, Mark]:
        """The marks of a submission, by the name of the cell; none of none."""
        with self._book() as book:
            try:
                notebook = book.find_submission_notebook(name, name, student)
            except MissingEntry:
                return {}
            comments = {c.name: c.manual_comment for c in notebook.comments}
            return {
                grade.name: Mark(
                    grade.score,
                    grade.max_score,
                    grade.manual_score is not None,
                    bool(grade.needs_manual_grade),
                    comments.get(grade.name.removesuffix(MARKED)) or "",
                )
                for grade in notebook.grades
            }

    def mark_by_hand(self, marks: Sequence[ByHand]) -> None:
        """Note marks that a person gave: all of them, or none."""
        with self._book() as book:
            for mark in marks:
                where = (mark.assignment, mark.assignment, mark.student)
                grade = book.find_grade(mark.cell, *where)
                grade.manual_score = mark.points
                grade.needs_manual_grade = False
                # it belongs to the cell with the code, not to that of its test
                written = mark.cell.removesuffix(MARKED)
                found = book.find_comment(written, *where)
                found.manual_comment = mark.comment or None
            book.db.commit()

    def settle(self, name: str, student: str, cells: set[str]) -> None:
        """Marks by hand on answers that have not changed hold.

        nbgrader asks for every mark again when a student hands in again.
        """
        with self._book() as book:
            notebook = book.find_submission_notebook(name, name, student)
            for grade in notebook.grades:
                if grade.manual_score is not None and grade.name in cells:
                    grade.needs_manual_grade = False
            book.db.commit()

    def _notebook(self, step: str, student: str, name: str) -> Path:
        return self.folder / step / student / name / f"{name}.ipynb"

    @contextmanager
    def _book(self) -> Iterator[Gradebook]:
        with (
            quietly(),
            Gradebook(
                f"sqlite:///{self.folder / 'gradebook.db'}", COURSE
            ) as book,
        ):
            yield book


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook that is whole afterwards, or as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomic(path, nbformat.writes(notebook) + "\n")


@contextmanager
def quietly() -> Iterator[None]:
    """Keep to itself what nbgrader says of its database."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
