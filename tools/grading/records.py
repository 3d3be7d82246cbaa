"""What was found out about submissions, kept between runs as JSON.

A record is written whole, after all that it speaks of has been done. One that
is damaged stops nothing: it stands in the tables as such, until the
submission is graded again.
"""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from tools.grading.notebooks import Unreadable, contents
from tools.grading.texts import one_line
from tools.refresh_outputs import ROOT
from transformer_course import files
from transformer_course.errors import CourseError

FOLDER = "records"
CODE = ("tools/grading", "course_exercises", "transformer_course")
"""What marks depend on; a change of it makes kept records stale."""
ID_LENGTH = 60
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet calculates."""
CHANGED = re.compile(r"[-(][0-9a-f]{8}\)?$")
"""How a name ends that :func:`student` has changed, or that looks so."""


class DamagedRecord(CourseError):
    """A record that cannot be read."""


class Student(NamedTuple):
    """How a student is called.

    Args:
        name: in tables and pages.
        id: as the name of a folder, and for nbgrader.
    """

    name: str
    id: str


def student(called: str) -> Student:
    """Names that are fit for tables, and for folders and patterns.

    They follow from the name alone, and two students never have the same: one
    that had to be changed ends with a digest of what it was.

    Args:
        called: as the lecturer's folder or file is.
    """
    digest = hashlib.sha256(called.encode("utf-8", "surrogatepass"))
    digest = digest.hexdigest()[:8]
    name = harmless(one_line(called))
    plain = re.sub(r"[^\w.@ -]", "_", called)[:ID_LENGTH].strip(" .") or "_"
    forged = CHANGED.search(called)
    return Student(
        f"{name} ({digest})" if forged or name != called else name,
        f"{plain}-{digest}" if forged or plain != called else plain,
    )


def harmless(text: str) -> str:
    """The text of a table's cell; spreadsheets calculate nothing of it."""
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text


@dataclass(frozen=True)
class Tried:
    """The verdict on one exercise of one student."""

    exercise: str
    points: float
    of: int
    kind: str
    mistake: str
    text: str
    code: str = ""


@dataclass(frozen=True)
class Record:
    """What was found out about one submission.

    Args:
        student: as tables and pages call them.
        student_id: the same, fit for the name of a folder.
        assignment: its name.
        status: ``graded``, ``unreadable``, ``missing``, ``failed`` (the
            grading, not the student) or ``damaged`` (this record).
        file: what was handed in.
        fingerprint: of the file, and of all that marks depend on.
        tried: the exercises.
        answers: the answers in words, by the name of the question.
        loose: text that stands at no question.
        notes: what student and lecturer should know.
        remarks: what the lecturer alone should know.
    """

    student: str
    student_id: str
    assignment: str
    status: str
    file: str = ""
    fingerprint: str = ""
    tried: tuple[Tried, ...] = ()
    answers: dict[str, str] = field(default_factory=dict)
    loose: str = ""
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Keep it."""
        path = record_path(folder, self.student_id, self.assignment)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        files.write_atomic(path, text + "\n")


def record_path(folder: Path, student: str, assignment: str) -> Path:
    """Where what is known of a submission is kept."""
    return folder / FOLDER / student / f"{assignment}.json"


def read_record(path: Path) -> Record:
    """As it was written.

    Raises:
        DamagedRecord: it is not as it was written.
    """
    place = (path.parent.name, path.stem)
    try:
        content = files.read_json(path)
        tried = tuple(_made(Tried, one) for one in content.pop("tried"))
        record = _made(Record, content, tried=tried)
        if (record.student_id, record.assignment) != place:
            raise ValueError("of another submission")
        return record
    except Exception as error:  # whatever it is, it is no record
        raise DamagedRecord(
            f"the record {'/'.join(place)}.json is damaged "
            f"({type(error).__name__}): grade the submission again"
        ) from error


def _made(kind: type, content: dict[str, Any], **more: Any) -> Any:
    """An object of which each value has the type that it should have."""
    hints = get_type_hints(kind)
    values = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in content.items()
    }
    for name, value in values.items():
        if not _fits(value, hints[name]):
            raise TypeError(f"{name} is {value!r:.50}")
    return kind(**values, **more)


def _fits(value: Any, hint: Any) -> bool:
    kind = get_origin(hint) or hint
    if kind is float:
        return type(value) in (int, float)
    inside = value.values() if isinstance(value, dict) else value
    return type(value) is kind and (
        not get_args(hint) or all(type(one) is str for one in inside)
    )


def read_records(folder: Path) -> list[Record]:
    """All records of a grading, by assignment and student."""
    paths = (folder / FOLDER).glob("*/*.json")
    records = map(_record_or_what_is_left, paths)
    return sorted(records, key=lambda r: (r.assignment, r.student))


def _record_or_what_is_left(path: Path) -> Record:
    """A record; of a damaged one that it is there."""
    try:
        return read_record(path)
    except DamagedRecord as error:
        name = path.parent.name
        return Record(name, name, path.stem, "damaged", remarks=(str(error),))


def fingerprint(path: Path, *depends: object) -> str:
    """Changes with a file, the code that marks it, and what is given."""
    digest = hashlib.sha256(repr(depends).encode())
    digest.update(_code().encode())
    try:
        digest.update(contents(path))
    except Unreadable as error:
        digest.update(str(error).encode("utf-8", "replace"))
    return digest.hexdigest()


@cache
def _code() -> str:
    digest = hashlib.sha256()
    for folder in CODE:
        for module in sorted((ROOT / folder).rglob("*.py")):
            digest.update(module.name.encode() + b"\0" + module.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Mark:
    """What an answer was given.

    Args:
        points: given by the tests, or by hand, which goes before.
        of: the most that there is.
        by_hand: whether a person gave them.
        waiting: whether a person has to look at it, for the first time or
            again.
        comment: what that person wrote.
    """

    points: float
    of: float
    by_hand: bool
    waiting: bool
    comment: str = ""


@dataclass(frozen=True)
class Marked:
    """A record, with the marks that hold."""

    record: Record
    marks: dict[str, Mark]
