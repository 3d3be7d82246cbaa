"""Marks as tables, in the forms that Moodle and Canvas import.

``class.csv`` goes into Moodle by Grades, Import, CSV file. With a roster that
Canvas or Moodle exported, the same table comes out again with the marks in it:

- ``canvas.csv``, for Grades, Import. Canvas needs the columns up to Section;
  a column that it does not know becomes a new assignment
  (``lib/gradebook_importer.rb``);
- ``worksheet.csv``, for the assignment's "Upload grading worksheet" in Moodle
  (``mod/assign/feedback/offline/importgradeslib.php``).

A mark that is not final is an empty cell.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_grading.course import Result
from course_grading.roster import Person, Roster
from course_grading.submissions import student_id

POINTS_POSSIBLE = "    Points Possible"


def write_tables(
    folder: Path,
    results: dict[str, Sequence[Result]],
    roster: Roster | None = None,
) -> list[Path]:
    """Write the marks of a class.

    Args:
        folder: where the tables go.
        results: by the name of the assignment.
        roster: the class; without it there are ids only.

    Returns:
        The files. A worksheet is written if there is one assignment.
    """
    totals = {name: _totals(every) for name, every in results.items()}
    rows = [
        _marks(name, one) for name, every in results.items() for one in every
    ]
    tables = {"marks": rows, "class": _class(totals, roster)}
    if roster and roster.kind == "canvas":
        tables["canvas"] = _canvas(results, totals, roster)
    if roster and roster.kind == "worksheet" and len(results) == 1:
        (marks,) = totals.values()
        tables["worksheet"] = [
            person.row | {roster.grade: marks.get(student_id(person.id), "")}
            for person in roster.people
        ]
    return [
        _write(folder / f"{name}.csv", rows) for name, rows in tables.items()
    ]


def _totals(results: Iterable[Result]) -> dict[str, str]:
    """The points of each student; empty as long as a mark is missing."""
    by_student = defaultdict(list)
    for result in results:
        by_student[result.student].append(result)
    return {
        student: ""
        if any(one.needs_mark for one in every)
        else f"{sum(one.points for one in every):g}"
        for student, every in by_student.items()
    }


def _marks(assignment: str, result: Result) -> dict[str, str]:
    verdict = result.verdict or {}
    return {
        "student": result.student,
        "assignment": assignment,
        "exercise": result.cell,
        "points": f"{result.points:g}",
        "of": f"{result.max_points:g}",
        "verdict": verdict.get("kind", ""),
        "mistake": verdict.get("mistake", ""),
        "needs mark": "yes" if result.needs_mark else "",
        "ready-made": " ".join(result.ready_made),
    }


def _class(
    totals: dict[str, dict[str, str]], roster: Roster | None
) -> list[dict[str, str]]:
    """A row for each student, of the roster or of the submissions."""
    people: dict[str, Person | None] = {}
    if roster:
        people = {student_id(one.id): one for one in roster.people}
    for marks in totals.values():
        people |= {one: people.get(one) for one in marks}
    return [
        {
            "Name": person.name if person else student,
            "ID number": person.id if person else "",
            "Email address": person.email if person else "",
        }
        | {name: marks.get(student, "") for name, marks in totals.items()}
        for student, person in people.items()
    ]


def _canvas(
    results: dict[str, Sequence[Result]],
    totals: dict[str, dict[str, str]],
    roster: Roster,
) -> list[dict[str, str]]:
    about = roster.columns[: roster.columns.index("Section") + 1]
    columns = {name: _column(name, roster.columns) for name in totals}
    possible = {about[0]: POINTS_POSSIBLE} | {
        columns[name]: _possible(results[name]) for name in totals
    }
    rows = [dict.fromkeys([*about, *columns.values()], "") | possible]
    for person in roster.people:
        student = student_id(person.id)
        rows.append(
            {column: person.row[column] for column in about}
            | {
                columns[n]: marks.get(student, "")
                for n, marks in totals.items()
            }
        )
    return rows


def _possible(results: Sequence[Result]) -> str:
    """The points of an assignment."""
    points = {result.cell: result.max_points for result in results}
    return f"{sum(points.values()):g}"


def _column(name: str, columns: Sequence[str]) -> str:
    """Canvas' column for an assignment: its title contains the name."""
    own = re.compile(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])")
    return next(filter(own.search, columns), name)


def _write(path: Path, rows: list[dict[str, str]]) -> Path:
    """Write a table; Excel reads its letters by the mark at the beginning."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path
