"""Tables that a spreadsheet can open, and calculates nothing of."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.grading.assignment import Assignment, test_cell
from tools.grading.records import Mark, Marked, Record, Tried, harmless
from tools.grading.spreadsheets import write_table
from tools.grading.texts import one_line

MARKS = "marks.csv"
TOTALS = "totals.csv"
CELL_LIMIT = 4000
"""Characters."""


def write_marks(
    folder: Path, known: dict[str, Assignment], marked: Sequence[Marked]
) -> None:
    """Write the tables of marks, a line an exercise and a line a student."""
    lines = [
        line
        for one in marked
        for line in _marks(one, known[one.record.assignment])
    ]
    totals = [_total(one, known[one.record.assignment]) for one in marked]
    for name, table in ((MARKS, lines), (TOTALS, totals)):
        safe = [
            {key: _safe(value) for key, value in line.items()}
            for line in table
        ]
        write_table(folder / name, list(safe[0]) if safe else [], safe)


def _safe(value: Any) -> str:
    return harmless(one_line(str(value), CELL_LIMIT))


def total(marks: dict[str, Mark]) -> float:
    """The points of all marks."""
    return sum(mark.points for mark in marks.values())


def waiting(marks: dict[str, Mark]) -> int:
    """How many answers wait for a person."""
    return sum(mark.waiting for mark in marks.values())


def _total(one: Marked, assignment: Assignment) -> dict[str, Any]:
    record = one.record
    return {
        "student": record.student,
        "assignment": record.assignment,
        "points": f"{total(one.marks):g}",
        "of": sum(assignment.points.values()),
        "needs marks": waiting(one.marks) or "",
        "status": record.status,
        "notes": "; ".join((*record.remarks, *record.notes)),
    }


def _marks(one: Marked, assignment: Assignment) -> Iterator[dict[str, Any]]:
    """A line for each exercise and question."""
    record = one.record
    by_name = {test_cell(tried.exercise): tried for tried in record.tried}
    for cell, of in assignment.points.items():
        tried, mark = by_name.get(cell), one.marks.get(cell)
        yield {
            "student": record.student,
            "assignment": record.assignment,
            "exercise": tried.exercise if tried else cell,
            "points": f"{mark.points if mark else 0:g}",
            "of": of,
            "verdict": _word(tried) if tried else _state(record, cell, mark),
            "misconception": (
                tried.mistake
                if tried and tried.kind == "misconception"
                else ""
            ),
            "by hand": "yes" if mark and mark.by_hand else "",
            "needs marks": "yes" if mark and mark.waiting else "",
        }


def _word(tried: Tried) -> str:
    if tried.kind in ("slip", "error", "limit") and tried.mistake:
        return f"{tried.kind}: {tried.mistake}"
    return tried.kind


def _state(record: Record, question: str, mark: Mark | None) -> str:
    """Of an answer in words."""
    if mark is None or record.status != "graded":
        return record.status
    if mark.waiting:
        return "marked before, changed since" if mark.by_hand else "to mark"
    return "marked" if mark.by_hand else "unwritten"
