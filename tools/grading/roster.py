"""Who is in the class: a list that a learning platform has exported.

Read are, by the names of their columns:

- Moodle's list of participants (Participants, "Download table data as: CSV"):
  First name, Last name or Surname, ID number, Email address
  (docs.moodle.org/en/Participants);
- Moodle's offline grading worksheet of one assignment: Identifier, Full name,
  ID number, Email address, Status, Grade, ... Its ``Participant 12345`` is the
  number that stands in the names of what was handed in
  (mod/assign/feedback/offline/importgradeslib.php in Moodle's source);
- Canvas' gradebook (Grades, "Export"): Student, ID, SIS User ID, SIS Login ID,
  Section. Its ID is the number in the names of what was handed in
  (lib/gradebook_importer.rb and lib/content_zipper.rb in Canvas' source);
- any other table with a name, and an id or an e-mail address.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tools.grading.spreadsheets import Row, Table, read_table
from transformer_course.errors import CourseError

NAMES = ("full name", "fullname", "name", "student")
FIRST = ("first name", "firstname", "given name")
LAST = ("last name", "lastname", "surname", "family name")
IDS = ("id number", "idnumber", "sis user id", "student id", "id")
EMAILS = ("email address", "email", "e-mail", "e-mail address", "mail")
NOT_PEOPLE = ("points possible", "student, test")
"""Lines of Canvas' export that are about no student."""
MOODLE = re.compile(
    r"(?P<name>.+)_(?P<number>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)"
)
"""How Moodle names a folder or a file of its download of all submissions."""
CANVAS = re.compile(
    r"(?P<name>\w+?)(?P<late>_LATE)?_(?P<number>\d+)_\d{3,}_(?P<file>.+)"
)
"""The same of Canvas; the second number is that of the file. An assignment's
own number, as in ``anna_1234_06_masks``, has two digits."""


class RosterError(CourseError):
    """A list of the class that cannot be understood."""


@dataclass(frozen=True)
class Label:
    """What the name of a folder or a file says of its student.

    Args:
        name: the student's, or the whole.
        number: the platform's own for this student, or "".
        file: how the student called the file, or "".
        late: whether the platform says that it came late.
    """

    name: str
    number: str = ""
    file: str = ""
    late: bool = False

    @property
    def called(self) -> str:
        """What a student is called of whom no more is known."""
        return f"{self.name} {self.number}".strip()


def label_of(name: str) -> Label:
    """Read the name of a folder or a file as learning platforms make it."""
    if found := MOODLE.fullmatch(name) or CANVAS.fullmatch(name):
        parts = found.groupdict()
        late = bool(parts.get("late"))
        return Label(parts["name"], parts["number"], parts["file"], late)
    return Label(name)


@dataclass(frozen=True)
class Person:
    """A student of the class.

    Args:
        name: first name first.
        id: the school's.
        email: the address.
        number: the learning platform's own.
        row: the line of the export.
    """

    name: str
    id: str
    email: str
    number: str
    row: Row

    @property
    def called(self) -> str:
        """What tables and pages call this student; nobody else is."""
        return f"{self.name} {self.id or self.email or self.number}"


@dataclass(frozen=True)
class Roster:
    """The class, as it was exported.

    Args:
        path: the file.
        kind: ``worksheet`` (Moodle's), ``canvas`` or ``list``.
        columns: of the export.
        people: the students, in its order.
        points: of how many points Canvas' assignments are, by column.
    """

    path: Path
    kind: str
    columns: list[str]
    people: list[Person]
    points: dict[str, str] = field(default_factory=dict)

    def find(self, label: Label) -> Person | None:
        """Whose folder or file it is; None if nobody's, or not clear.

        The platform's number goes before the name; an id or an address in
        place of a name is understood too.
        """
        for index, key in (
            (self._by_number, label.number),
            (self._by_key, _plain(label.name)),
            (self._by_name, squeezed(label.name)),
        ):
            if key and len(found := index[key]) == 1:
                return found[0]
        return None

    @cached_property
    def _by_number(self) -> dict[str, list[Person]]:
        return _indexed((p.number, p) for p in self.people)

    @cached_property
    def _by_key(self) -> dict[str, list[Person]]:
        pairs = [(p.id, p) for p in self.people if p.id != p.email]
        pairs += [(p.email, p) for p in self.people]
        return _indexed((_plain(key), p) for key, p in pairs)

    @cached_property
    def _by_name(self) -> dict[str, list[Person]]:
        return _indexed(
            (key, p) for p in self.people for key in turned(p.name)
        )


def read_roster(path: Path) -> Roster:
    """Read the list of a class.

    Raises:
        RosterError: it has not the columns that are needed, or a student
            stands in it twice.
    """
    if not path.is_file():
        raise RosterError(
            f"there is no list of the class at {path}. Give what Moodle "
            "(Participants, or a grading worksheet) or Canvas (Grades, "
            "Export) writes: make grade ROSTER=FILE.csv"
        )
    table = read_table(path)
    kind = _kind(table.columns)
    people = [
        person for row in table.rows if (person := _person(kind, table, row))
    ]
    if not people:
        raise RosterError(
            f"{path} has no student in it. Expected are a column Full name "
            "(or First name and Last name), and ID number or Email address; "
            f"found: {', '.join(table.columns) or 'nothing'}"
        )
    seen: dict[str, Person] = {}
    for person in people:
        if (other := seen.setdefault(person.called, person)) is not person:
            raise RosterError(
                f"{person.row.where}: {person.called} stands there already, "
                f"in line {other.row.where.rpartition(' ')[2]}. Leave one out"
            )
    points = (
        row.cells
        for row in table.rows
        if row.cells.get("Student", "").lower() == NOT_PEOPLE[0]
    )
    return Roster(path, kind, table.columns, people, next(points, {}))


def _kind(columns: Sequence[str]) -> str:
    if {"Identifier", "Grade"} <= {*columns}:
        return "worksheet"
    if columns[:2] == ["Student", "ID"] and "Section" in columns:
        return "canvas"
    return "list"


def _person(kind: str, table: Table, row: Row) -> Person | None:
    """The student of a line; None where it is about nobody."""

    def cell(*names: str) -> str:
        found = [row.cells[c] for c in table.columns if c.lower() in names]
        return next(filter(None, found), "")

    name = cell(*NAMES) or f"{cell(*FIRST)} {cell(*LAST)}".strip()
    name = name or row.cells.get("Identifier", "")  # marked blind
    if not name or name.lower() in NOT_PEOPLE:
        return None
    if kind == "canvas":
        login = row.cells.get("SIS Login ID", "")
        number, own = row.cells["ID"], row.cells.get("SIS User ID", "")
        email = login if "@" in login else cell(*EMAILS)
        own = own or login
    else:
        number = re.sub(r".*\D", "", row.cells.get("Identifier", ""))
        own, email = cell(*IDS), cell(*EMAILS)
    if not (own or email or number):
        raise RosterError(
            f"{row.where}: {name} has neither an id nor an e-mail address. "
            "Let the platform write one of them into the export"
        )
    last, comma, first = name.partition(", ")
    return Person(
        f"{first} {last}" if comma else name, own, email, number, row
    )


def turned(name: str) -> set[str]:
    """A name as it may stand in that of a file: first name first, or last."""
    words = name.split()
    return {
        squeezed("".join(words[n:] + words[:n])) for n in range(len(words))
    }


def squeezed(name: str) -> str:
    """The letters and digits of a name, small ones, and nothing between."""
    return re.sub(r"[\W_]", "", _plain(name))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _indexed(
    pairs: Iterable[tuple[str, Person]],
) -> dict[str, list[Person]]:
    found: dict[str, list[Person]] = defaultdict(list)
    for key, person in pairs:
        found[key].append(person)
    return found
