"""The class, as a learning platform exports it.

The columns' names say which export it is:

- Moodle's participants: First name, Last name, ID number, Email address;
- Moodle's offline grading worksheet of one assignment: Identifier, Full name,
  ID number, Email address, Grade, ... (Moodle's source,
  ``mod/assign/feedback/offline/importgradeslib.php``);
- Canvas' gradebook: Student, ID, SIS User ID, SIS Login ID, Section (Canvas'
  source, ``lib/gradebook_importer.rb``);
- any other table with a name, and an id or an e-mail address.

Moodle's columns may be in Japanese; Canvas' are in English everywhere
(``lib/gradebook_exporter.rb``), with LastName and FirstName for Student if a
lecturer has chosen that.
"""

import csv
import json
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from transformer_course.errors import CourseError

NAME = ("fullname", "name", "student", "フルネーム", "氏名", "名前")
FIRST = ("firstname", "givenname", "名")
LAST = ("lastname", "surname", "familyname", "姓")
ID = ("idnumber", "sisuserid", "studentid", "idナンバー", "学籍番号")
EMAIL = ("emailaddress", "email", "sisloginid", "メールアドレス")
NUMBER = ("identifier", "識別子", "id")
GRADE = ("grade", "評点")
"""Columns, the likeliest first, as :func:`_key` writes them."""
PARTICIPANT = re.compile(r"\D+ ?\d+")
"""Moodle's own number of a student, as a worksheet has it."""
NOT_STUDENTS = ("points possible", "student, test", "student test")
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
    grade: str = ""
    """The column of the mark in a worksheet."""

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
        text = decoded(path.read_bytes())
        head = text.partition("\n")[0]
        separator = max(",;\t", key=head.count)
        table = csv.DictReader(text.splitlines(True), delimiter=separator)
        rows = [{k: v for k, v in row.items() if k} for row in table]
    except (OSError, csv.Error) as error:
        raise CourseError(
            f"{path} cannot be read as a table: {error}"
        ) from error
    columns = [name for name in table.fieldnames or [] if name]
    kinds = {_key(name): name for name in columns}
    number = next((kinds[name] for name in NUMBER if name in kinds), "")
    grade = next((kinds[name] for name in GRADE if name in kinds), "")
    is_worksheet = grade and all(
        PARTICIPANT.fullmatch(row.get(number) or "") for row in rows
    )
    people = [one for row in rows if (one := _person(row, not is_worksheet))]
    ids = [one.id for one in people]
    if not people or not all(ids) or len(set(ids)) < len(ids):
        raise CourseError(
            f"{path} needs a row for each student with a name, and an ID "
            "number or e-mail address of its own; its columns are "
            f"{', '.join(columns) or 'none'}. Export it from Moodle "
            "(Participants, or a grading worksheet) or Canvas (Grades), or "
            "call the columns Name, ID number and Email address"
        )
    kind = "list"
    if is_worksheet:
        kind = "worksheet"
    elif {"ID", "Section"} <= {*columns}:
        kind = "canvas"
    return Roster(kind, columns, people, grade)


def decoded(content: bytes) -> str:
    """The text of a file that a student or a platform wrote.

    It is in UTF-8 or UTF-16, or else in the encoding of a Western or a
    Japanese Windows: Western, if only À to ÿ come out beside ASCII.
    """
    try:
        return content.decode(json.detect_encoding(content))
    except UnicodeDecodeError:
        text = content.decode("latin-1")
        if re.fullmatch(r"[\x00-\x7fÀ-ÿ]*", text):
            return text
    try:
        return content.decode("cp932")
    except UnicodeDecodeError:
        return text


def _key(column: str) -> str:
    """A column's name in one spelling."""
    return re.sub(r"[\s_-]", "", _plain(column))


def _person(row: dict[str, str], id_is_school_s: bool) -> Person | None:
    cells = {_key(name): text for name, text in row.items() if text}

    def cell(names: tuple[str, ...]) -> str:
        return next((cells[name] for name in names if name in cells), "")

    parts = [cells[name] for name in cells if name in (*FIRST, *LAST)]
    name = cell(NAME) or " ".join(parts)
    if not name or name.strip().lower() in NOT_STUDENTS:
        return None
    last, comma, first = name.partition(", ")
    return Person(
        name=f"{first} {last}" if comma else name,
        id=cell((*ID, "id") if id_is_school_s else ID) or cell(EMAIL),
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
