"""Marks as learning platforms read them: a row a student.

``class.csv`` has a column for each assignment, and goes into Moodle by Grades,
Import, CSV file: there "Email address" or "ID number" is mapped to the user,
and each assignment to its grade item (docs.moodle.org/en/Grade_import;
grade/import/csv/classes/load_data.php: an empty cell is no grade).

From a list of the class that Canvas or Moodle exported, that same table is
made once more with the marks in it, and goes back where it came from:

- ``canvas.csv``, by Grades, Import. Canvas wants Student, ID, SIS User ID, SIS
  Login ID and Section first, then takes every column for an assignment, and
  one that it does not know for a new one; the row "Points Possible" says of
  how many points (lib/gradebook_importer.rb).
- ``worksheet.csv``, by the assignment's "Upload grading worksheet". Moodle
  looks for Identifier, Grade and Last modified (grade), and skips a grade
  above the assignment's greatest
  (mod/assign/feedback/offline/importgradeslib.php and locallib.php).
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.grading.assignment import Assignment
from tools.grading.records import Marked, student
from tools.grading.roster import Person, Roster
from tools.grading.spreadsheets import write_table
from tools.grading.tables import total, waiting

CLASS = "class.csv"
CANVAS = "canvas.csv"
WORKSHEET = "worksheet.csv"
OPEN = "Open"
POINTS = "    Points Possible"


def file_for(roster: Roster | None) -> str | None:
    """The table that goes back to where the list came from, if there is."""
    files = {"canvas": CANVAS, "worksheet": WORKSHEET}
    return files.get(roster.kind) if roster else None


def write_class(
    folder: Path,
    known: dict[str, Assignment],
    marked: Sequence[Marked],
    roster: Roster | None = None,
    only: Sequence[str] = (),
) -> Iterator[str]:
    """Write the marks of a class as platforms read them; say what is odd.

    Args:
        folder: of the grading.
        known: the assignments.
        marked: all marks.
        roster: the class; without one there are names only.
        only: the assignments of this run; a worksheet is of one.
    """
    by_student: dict[str, dict[str, Marked]] = {}
    for one in marked:
        mine = by_student.setdefault(one.record.student_id, {})
        mine[one.record.assignment] = one
    people = {student(p.called).id: p for p in roster.people} if roster else {}
    lines = [
        _line(people.get(who), by_student.get(who, {}), known)
        for who in [*people, *sorted(by_student.keys() - people.keys())]
    ]
    columns = ["Name", "ID number", "Email address", *known, OPEN]
    write_table(folder / CLASS, columns, lines)
    if roster is None or not file_for(roster):
        return
    fill = _fill_canvas if roster.kind == "canvas" else _fill_worksheet
    marks = {who: by_student.get(who, {}) for who in people}
    rows = [(people[who].row.cells, marks[who]) for who in people]
    yield from fill(folder, known, roster, rows, only)


def _line(
    person: Person | None, mine: dict[str, Marked], known: dict[str, Any]
) -> dict[str, str]:
    """The line of one student."""
    left = [f"{name}: {said}" for name in mine if (said := _open(mine[name]))]
    if person is None:
        left.insert(0, "not on the list of the class")
    name = next((one.record.student for one in mine.values()), "")
    return {
        "Name": person.name if person else name,
        "ID number": person.id if person else "",
        "Email address": person.email if person else "",
        OPEN: "; ".join(left),
    } | {name: final(mine.get(name)) for name in known}


def final(one: Marked | None) -> str:
    """The points, or "" as long as something is open."""
    if one is None or _open(one):
        return ""
    return f"{total(one.marks):g}"


def _open(one: Marked) -> str:
    """Why a mark is not final, or ""."""
    if one.record.status == "missing":
        return "nothing handed in"
    if one.record.status != "graded":
        return f"{one.record.status}, see totals.csv"
    count = waiting(one.marks)
    plural = "s" * (count != 1)
    return f"{count} answer{plural} to be marked" if count else ""


Rows = Sequence[tuple[dict[str, str], dict[str, Marked]]]


def _fill_canvas(
    folder: Path,
    known: dict[str, Assignment],
    roster: Roster,
    rows: Rows,
    only: Sequence[str],
) -> Iterator[str]:
    about = roster.columns[: roster.columns.index("Section") + 1]
    columns = {name: _column(name, roster.columns) for name in known}
    first = {"Student": POINTS} | {
        columns[name]: roster.points.get(columns[name]) or _greatest(one)
        for name, one in known.items()
    }
    lines = [
        {column: cells[column] for column in about}
        | {columns[name]: final(mine.get(name)) for name in known}
        for cells, mine in rows
    ]
    table = [*about, *columns.values()]
    write_table(folder / CANVAS, table, [first, *lines], plain=True)
    if new := [n for n in known if columns[n] not in roster.columns]:
        yield (
            f"Canvas will make new assignments of {', '.join(new)}. To fill "
            "one that is there, put that name into its title, and export the "
            "gradebook again"
        )
    for name, one in known.items():
        yield from _differ(name, one, [first[columns[name]]], "Canvas")


def _fill_worksheet(
    folder: Path,
    known: dict[str, Assignment],
    roster: Roster,
    rows: Rows,
    only: Sequence[str],
) -> Iterator[str]:
    (name,) = only
    lines = [cells | {"Grade": final(mine.get(name))} for cells, mine in rows]
    write_table(folder / WORKSHEET, roster.columns, lines, plain=True)
    greatest = [
        cells[column]
        for cells, _ in rows
        for column in roster.columns
        if column.lower() == "maximum grade" and cells[column]
    ]
    yield from _differ(name, known[name], greatest, "Moodle")


def _differ(
    name: str, assignment: Assignment, there: Sequence[str], platform: str
) -> Iterator[str]:
    """A line if an assignment is out of other points on the platform."""
    here = float(_greatest(assignment))
    found = {float(text.replace(",", ".")) for text in there} - {here}
    if found:
        yield (
            f"{name} is out of {here:g} points, and in {platform} out of "
            f"{max(found):g}: change that there"
        )


def _greatest(assignment: Assignment) -> str:
    return str(sum(assignment.points.values()))


def _column(name: str, columns: Sequence[str]) -> str:
    """The column of an assignment, if the platform has one for it."""
    own = re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])")
    return next(filter(own.search, columns), name)
