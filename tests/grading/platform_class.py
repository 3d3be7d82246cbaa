"""A class of forty, as Moodle and Canvas export it and its submissions.

The forms are those of the platforms' own source: Moodle's ``Full name_NUMBER_
assignsubmission_file_`` (mod/assign/locallib.php), Canvas' ``lastfirst_NUMBER_
FILE_name`` (lib/content_zipper.rb), which keeps letters and digits alone.
"""

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FIRST = ["Anna", "José", "Zoë", "太郎", "Mary Ann", "Seán", "Nguyễn", "Li"]
LAST = ["Müller", "O'Neil", "山田", "van den Berg", "Smith-Jones"]
PLAIN = str.maketrans("'’", "__")


class Member(NamedTuple):
    """A student of the class."""

    first: str
    last: str
    number: int

    @property
    def id(self) -> str:
        """The school's."""
        return f"s{2000 + self.number}"

    @property
    def email(self) -> str:
        """An address at a place that there is not."""
        return f"{self.id}@school.invalid"

    @property
    def full(self) -> str:
        """The name, as Moodle writes it."""
        return f"{self.first} {self.last}"

    @property
    def called(self) -> str:
        """What the grading calls them."""
        return f"{self.full} {self.id}"

    @property
    def participant(self) -> int:
        """Moodle's number of them in an assignment."""
        return 51_000 + 7 * self.number

    @property
    def user(self) -> int:
        """Canvas' number of them."""
        return 880_000 + 13 * self.number


MEMBERS = [
    Member(first, last, n)
    for n, (first, last) in enumerate((f, s) for f in FIRST for s in LAST)
]
"""Forty; see ``TWINS`` for two with one name."""
TWIN = Member("Anna", "Müller", 40)
"""Who has the same name as the first."""


def written(path: Path, columns: list[str], rows: list[list]) -> Path:
    """A table in a file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(rows)
    return path


def participants(path: Path, members=MEMBERS) -> Path:
    """Moodle's list of participants."""
    columns = ["First name", "Last name", "ID number", "Email address"]
    rows = [[m.first, m.last, m.id, m.email] for m in members]
    return written(path, columns, rows)


def worksheet(path: Path, members=MEMBERS, maximum: str = "9.00") -> Path:
    """Moodle's worksheet for grading one assignment."""
    columns = (
        "Identifier|Full name|ID number|Email address|Status|Grade|"
        "Maximum grade|Grade can be changed|Last modified (submission)|"
        "Last modified (grade)|Feedback comments"
    )
    rows = [
        [f"Participant {m.participant}", m.full, m.id, m.email]
        + ["Submitted for grading", "", maximum, "Yes"]
        + ["Monday, 8 June 2026, 9:14 PM", "-", ""]
        for m in members
    ]
    return written(path, columns.split("|"), rows)


def gradebook(
    path: Path, members=MEMBERS, assignment: str = "", maximum: str = "9"
) -> Path:
    """Canvas' gradebook; ``assignment`` is one that it has."""
    columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    rows = [
        [f"{m.last}, {m.first}", m.user, m.id, m.email, "Group 1"]
        for m in members
    ]
    points = ["    Points Possible", "", "", "", ""]
    test = ["Student, Test", 1, "", "fd5ab1d04f", "Group 1"]
    table = [points, *rows, test]
    end = ["Current Score", "Final Score"]
    for row in table:
        own = maximum if row is points else ""
        row += ([own] if assignment else []) + ["", ""]
    return written(
        path, columns + ([assignment] if assignment else []) + end, table
    )


def moodle_place(member: Member, file: str) -> str:
    """Where a file lies in Moodle's download, with a folder each."""
    name = member.full.translate(PLAIN)
    return f"{name}_{member.participant}_assignsubmission_file_/{file}"


def moodle_file(member: Member, file: str) -> str:
    """The same, without folders."""
    return moodle_place(member, "").rstrip("/") + file


def canvas_file(member: Member, file: str, late: bool = False) -> str:
    """Where a file lies in Canvas' download."""
    name = re.sub(r"\W", "", f"{member.last}, {member.first}".lower())
    late_too = "_LATE" if late else ""
    return f"{name}{late_too}_{member.user}_{9_000_000 + member.number}_{file}"


Place = Callable[[Member, str], str]
PLACES: list[Place] = [moodle_place, moodle_file, canvas_file]
