"""The class, as a learning platform exports it.

The columns' names say which export it is:

- Moodle's participants: First name, Last name, ID number, Email address;
- Moodle's offline grading worksheet of one assignment: Identifier, Full name,
  ID number, Email address, Grade, ... (Moodle's source,
  ``mod/assign/feedback/offline/importgradeslib.php``);
- Canvas' gradebook: Student, ID, SIS User ID, SIS Login ID, Section (Canvas'
  source, ``lib/gradebook_importer.rb``);
- any other table with a name, and an id or an e-mail address.
"""

import csv
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from transformer_course.errors import CourseError

NAME = ("full name", "name", "student")
FIRST = ("first name", "given name")
LAST = ("last name", "surname", "family name")
ID = ("id number", "sis user id", "student id", "id")
EMAIL = ("email address", "email", "e-mail", "sis login id")
NUMBER = ("identifier", "id")
NOT_STUDENTS = ("points possible", "student, test")
"""Rows of Canvas' gradebook that are about no student."""


@dataclass(frozen=True)
class Person:
    """A student of the class."""

    name: str
    id: str
    """The school's id, or the e-mail address if there is none."""
    email: str
    number: str
    """The platform's own id, which the names of downloaded files contain."""
    row: dict[str, str]
    """The row of the export."""


@dataclass(frozen=True)
class Roster:
    """The class."""

    kind: str
    """``canvas``, ``worksheet`` (Moodle's) or ``list``."""
    columns: list[str]
    """The columns of the export."""
    people: list[Person]
    """The students, in the order of the export."""

    def find(self, name: str, number: str = "") -> Person | None:
        """The student with this number, id, address or name.

        Args:
            name: as in the name of a file or folder; first or last name first.
            number: the platform's id; it counts more than the name.
        """
        keys = (
            lambda one: {one.number} if number else set(),
            lambda one: {_plain(one.id), _plain(one.email)},
            lambda one: _spellings(one.name),
        )
        for key, wanted in zip(
            keys, (number, _plain(name), _letters(name)), strict=True
        ):
            found = [one for one in self.people if wanted in key(one)]
            if wanted and len(found) == 1:
                return found[0]
        return None


def read_roster(path: Path) -> Roster:
    """Read the list of a class.

    Raises:
        CourseError: the file is missing, or has no students with an id.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        dialect = csv.Sniffer().sniff(text.partition("\n")[0], ",;\t")
        rows = list(csv.DictReader(text.splitlines(), dialect=dialect))
    except (OSError, ValueError, csv.Error) as error:
        raise CourseError(
            f"{path} cannot be read as a table: {error}"
        ) from error
    people = [one for one in map(_person, rows) if one is not None]
    ids = [one.id for one in people]
    if not people or not all(ids) or len(set(ids)) < len(ids):
        raise CourseError(
            f"{path} needs a row for each student with a name, and an ID "
            "number or e-mail address of its own. Export it from Moodle "
            "(Participants, or a grading worksheet) or Canvas (Grades)"
        )
    columns = list(rows[0])
    kind = "list"
    if {"Identifier", "Grade"} <= {*columns}:
        kind = "worksheet"
    elif columns[:2] == ["Student", "ID"]:
        kind = "canvas"
    return Roster(kind, columns, people)


def _person(row: dict[str, str]) -> Person | None:
    cells = {name.lower(): text for name, text in row.items() if name and text}

    def cell(names: tuple[str, ...]) -> str:
        return next((cells[name] for name in names if name in cells), "")

    name = cell(NAME) or f"{cell(FIRST)} {cell(LAST)}".strip()
    if not name or name.strip().lower() in NOT_STUDENTS:
        return None
    last, comma, first = name.partition(", ")
    return Person(
        name=f"{first} {last}" if comma else name,
        id=cell(ID) or cell(EMAIL),
        email=cell(EMAIL),
        number=re.sub(r"\D", "", cell(NUMBER)),
        row=row,
    )


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _letters(name: str) -> str:
    """A name's letters and digits, in lower case."""
    return re.sub(r"[\W_]", "", _plain(name))


def _spellings(name: str) -> set[str]:
    """A name with its words rotated: the last name may come first."""
    words = name.split()
    return {
        _letters("".join(words[n:] + words[:n])) for n in range(len(words))
    }
