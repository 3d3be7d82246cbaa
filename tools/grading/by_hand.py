"""Marks that a person gives, in a table that a spreadsheet can open.

The tool adds a line for each answer that waits for a mark, and changes none
that is there. nbgrader's own page does the same job; use either.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tools.grading.gradebook import ByHand, Course
from tools.grading.records import Record
from tools.grading.spreadsheets import read_table, write_table
from transformer_course import files
from transformer_course.errors import CourseError

FILE = "manual_marks.csv"
TAKEN = "manual_marks_taken.json"
KEY = ("student", "assignment", "cell", "answer")
COLUMNS = (*KEY, "points", "comment")


class ByHandError(CourseError):
    """A table of marks that cannot be understood."""


class Line(NamedTuple):
    """A line of the table, and where it ends in the file."""

    where: str
    cells: dict[str, str]

    @property
    def key(self) -> str:
        """What the mark is for."""
        return "\t".join(self.cells[column] for column in KEY)

    @property
    def content(self) -> list[str]:
        """The mark."""
        return [self.cells["points"], self.cells["comment"]]


def apply_marks_by_hand(course: Course, records: Sequence[Record]) -> None:
    """Take the marks of the table, and add lines for what waits for one.

    A mark that was taken before is not taken again, so that a later one from
    nbgrader's page holds. A mark belongs to the answer that it was given for:
    when a student hands in another one, a new line asks for a new mark.

    Raises:
        ByHandError: a line cannot be understood; then no mark is taken.
    """
    path = course.folder / FILE
    lines = _read(path)
    taken = _taken(course.folder / TAKEN)
    new = [
        line
        for line in lines
        if line.cells["points"] and taken.get(line.key) != line.content
    ]
    known = {(r.student, r.assignment): r for r in records}
    marks = {line.key: _mark(course, known, line) for line in new}
    course.mark_by_hand([mark for mark in marks.values() if mark])
    taken |= {line.key: line.content for line in new if marks[line.key]}
    text = json.dumps(taken, indent=1)
    files.write_atomic(course.folder / TAKEN, text + "\n")
    _add(path, [line.cells for line in lines], _waiting(course, records))


def answer_id(record: Record, cell: str) -> str:
    """Tells answers apart; ``-`` for code, and for no answer."""
    if not (text := record.answers.get(cell)):
        return "-"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _read(path: Path) -> list[Line]:
    if not path.exists():
        return []
    table = read_table(path)
    missing = [c for c in COLUMNS if c not in table.columns]
    if missing:
        raise ByHandError(
            f"{path} has no column {', '.join(missing)}. Put it back; or "
            "rename the file, and a new one will be made"
        )
    return [
        Line(where, {column: cells[column] for column in COLUMNS})
        for where, cells in table.rows
    ]


def _taken(path: Path) -> dict[str, list[str]]:
    try:
        return files.read_json(path) if path.exists() else {}
    except ValueError as error:
        raise ByHandError(
            f"{path} is damaged ({error}). It says which marks of {FILE} were "
            "taken: delete it, and all of them are taken once more"
        ) from error


def _mark(
    course: Course, known: dict[tuple[str, str], Record], line: Line
) -> ByHand | None:
    """The mark of a line; None if the answer has changed since."""
    cell, points = line.cells["cell"], line.cells["points"]
    record = known.get((line.cells["student"], line.cells["assignment"]))
    if record is None:
        raise ByHandError(
            f"{line.where}: {line.cells['student']} has handed in nothing "
            f"for {line.cells['assignment']}"
        )
    if line.cells["answer"] != answer_id(record, cell):
        return None
    marks = course.marks(record.assignment, record.student_id)
    if cell not in marks:
        raise ByHandError(
            f"{line.where}: there is no cell {cell!r} in "
            f"{record.assignment}. There are: {', '.join(marks)}"
        )
    return ByHand(
        record.assignment,
        record.student_id,
        cell,
        _points(points, marks[cell].of, line.where),
        line.cells["comment"],
    )


def _points(text: str, most: float, where: str) -> float:
    try:
        points = float(text.replace(",", "."))
    except ValueError:
        points = -1.0
    if not 0 <= points <= most:
        raise ByHandError(
            f"{where}: {text!r} is not a number from 0 to {most:g}"
        )
    return points


def _waiting(
    course: Course, records: Sequence[Record]
) -> list[dict[str, str]]:
    """A line for each answer without a mark of its own."""
    return [
        {
            "student": record.student,
            "assignment": record.assignment,
            "cell": cell,
            "answer": answer_id(record, cell),
            "points": "",
            "comment": "",
        }
        for record in records
        if record.status == "graded"
        for cell, mark in course.marks(
            record.assignment, record.student_id
        ).items()
        if mark.waiting and cell in record.answers
    ]


def _add(
    path: Path, lines: list[dict[str, str]], new: list[dict[str, str]]
) -> None:
    """Lines that are not there yet, at the end; the others stay."""

    def key(line: dict[str, str]) -> tuple[str, ...]:
        return tuple(line[column] for column in KEY)

    there = set(map(key, lines))
    new = [line for line in new if key(line) not in there]
    if path.exists() and not new:
        return
    write_table(path, COLUMNS, [*lines, *new])
