"""Marks that a person gives, in a table that a spreadsheet can open.

The tool adds a line for each answer that waits for a mark, and changes none
that is there. nbgrader's own page does the same job; use either.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.grading.gradebook import Course
from transformer_course import files
from transformer_course.errors import CourseError

if TYPE_CHECKING:
    from tools.grading.grade import Record

FILE = "manual_marks.csv"
TAKEN = "manual_marks_taken.json"
COLUMNS = ("student", "assignment", "cell", "answer", "points", "comment")


class ByHandError(CourseError):
    """A table of marks that cannot be understood."""


def apply_marks_by_hand(course: Course, records: "Sequence[Record]") -> None:
    """Take the marks of the table, and add lines for what waits for one.

    A mark that was taken before is not taken again, so that a later one from
    nbgrader's page holds. A mark belongs to the answer that it was given for:
    when a student hands in another one, a new line asks for a new mark.

    Raises:
        ByHandError: a line cannot be understood.
    """
    path = course.folder / FILE
    lines = _read(path)
    known = {(r.student, r.assignment): r for r in records}
    taken = _taken(course.folder)
    for number, line in enumerate(lines, start=2):
        key = "\t".join(line[column] for column in COLUMNS[:4])
        content = [line["points"], line["comment"]]
        record = known.get((line["student"], line["assignment"]))
        if not line["points"] or taken.get(key) == content:
            continue
        if record is None:
            raise ByHandError(
                f"{path}, line {number}: {line['student']} has handed in "
                f"nothing for {line['assignment']}"
            )
        if line["answer"] != answer_id(record, line["cell"]):
            continue
        _take(course, record, line, f"{path}, line {number}")
        taken[key] = content
    text = json.dumps(taken, indent=1)
    files.write_whole(course.folder / TAKEN, text + "\n")
    _add(path, lines, _waiting(course, records))


def answer_id(record: "Record", cell: str) -> str:
    """Tells answers apart; ``-`` for code, which the tests mark."""
    if cell not in record.answers:
        return "-"
    return hashlib.sha256(record.answers[cell].encode()).hexdigest()[:8]


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ByHandError(
            f"{path} is not in UTF-8: save it as CSV UTF-8"
        ) from error
    first = text.partition("\n")[0]
    sign = ";" if first.count(";") > first.count(",") else ","
    table = csv.DictReader(io.StringIO(text), delimiter=sign)
    missing = [c for c in COLUMNS if c not in (table.fieldnames or ())]
    if missing:
        raise ByHandError(
            f"{path} has no column {', '.join(missing)}. Put it back; or "
            "rename the file, and a new one will be made"
        )
    return [
        {column: (line[column] or "").strip() for column in COLUMNS}
        for line in table
    ]


def _taken(folder: Path) -> dict[str, list[str]]:
    path = folder / TAKEN
    return json.loads(path.read_text()) if path.exists() else {}


def _take(
    course: Course, record: "Record", line: dict[str, str], where: str
) -> None:
    marks = course.marks(record.assignment, record.student_id)
    if line["cell"] not in marks:
        raise ByHandError(
            f"{where}: there is no cell {line['cell']!r} in "
            f"{record.assignment}. There are: {', '.join(marks)}"
        )
    try:
        points = float(line["points"].replace(",", "."))
    except ValueError:
        points = -1.0
    most = marks[line["cell"]].of
    if not 0 <= points <= most:
        raise ByHandError(
            f"{where}: {line['points']!r} is not a number from 0 to {most:g}"
        )
    course.mark_by_hand(
        record.assignment,
        record.student_id,
        line["cell"],
        points,
        line["comment"],
    )


def _waiting(
    course: Course, records: "Sequence[Record]"
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
        return tuple(line[column] for column in COLUMNS[:4])

    there = set(map(key, lines))
    new = [line for line in new if key(line) not in there]
    if path.exists() and not new:
        return
    write_table(path, COLUMNS, [*lines, *new])


def write_table(
    path: Path, columns: Sequence[str], lines: Iterable[dict[str, Any]]
) -> None:
    """Write a table so that spreadsheets read its letters right."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.DictWriter(file, columns)
        table.writeheader()
        table.writerows(lines)
