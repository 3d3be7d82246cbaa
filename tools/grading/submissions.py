"""Who handed in what, whichever way the files came.

Folders are what students made of them: deep, full, closed, or with names that
no text can hold. What cannot be looked at is told to student and lecturer.
"""

import os
import re
import stat
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tools.grading.roster import Roster, label_of
from transformer_course.errors import CourseError

SIZE_LIMIT = 20_000_000
"""Bytes; larger files are not read. A notebook with figures has 1 million."""
DEEPEST = 20
"""Folders in folders of a student that are looked into."""
MOST = 10_000
"""Files and folders of a student that are looked at."""
NOBODYS = {"__MACOSX", "__pycache__"}
"""Folders that systems put beside those of people."""
COURSE_FILES = {"gradebook.db", "nbgrader_config.py"}
STEPS = set(
    "source release submitted autograded feedback records verdicts".split()
)
"""Folders of a course that nbgrader, or this tool, has made."""
TOLD = 10
"""Notes on one submission, at most."""
NOT_HANDED_IN = {"timestamp.txt"}
"""Files that nbgrader lays beside a notebook."""
COPY = re.compile(r"(?:\((\d+)\)|-(\d+)|[ _-]*[Cc]opy *\(?(\d*)\)?)$")
"""How systems call a later copy: ``(2)``, ``-2``, ``-Copy2``, `` copy 2``."""
_MOVING = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


class SubmissionsError(CourseError):
    """A folder in which no submission can be found."""


@dataclass(frozen=True)
class Submission:
    """One student's answer to one assignment.

    Args:
        student: as the folder or the file is called.
        assignment: such as ``06_masks``.
        path: the file; None if nothing was handed in.
        notes: what student and lecturer should know, such as a second file.
    """

    student: str
    assignment: str
    path: Path | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """All that lies in a folder of submissions.

    Args:
        submissions: one for each student and assignment.
        ignored: files that belong to nobody, or to no assignment.
        strangers: students who are not on the list of the class.
        exported: whether names are those of a learning platform.
    """

    submissions: list[Submission]
    ignored: list[Path]
    strangers: list[str]
    exported: bool


def find_submissions(
    folder: Path,
    known: Sequence[str],
    wanted: Sequence[str] = (),
    roster: Roster | None = None,
    recognised: Callable[[Path], str | None] = lambda path: None,
) -> Found:
    """Find the submissions of a class.

    Understood are a folder for each student with notebooks anywhere in it
    (nbgrader's own ``student/assignment/notebook.ipynb`` too), files
    ``STUDENT_06_masks.ipynb``, and what Moodle and Canvas export.

    Args:
        folder: where they lie.
        known: the names of all assignments.
        wanted: those to grade; if empty, every one that somebody handed in.
        roster: the class; who is in it and handed in nothing is found too.
        recognised: the assignment of a notebook by what is in it, for one
            that has been renamed.

    Raises:
        SubmissionsError: there is no such folder, or nothing in it.
    """
    folder = _inside(folder)
    look = _Look(folder, known, roster, recognised)
    look.at_all()
    given = sorted({assignment for _, assignment in look.files})
    if not any(name in wanted or not wanted for name in given):
        raise SubmissionsError(_nothing(folder, known, wanted, look.ignored))
    return Found(
        [
            _pick(
                student,
                assignment,
                look.files[student, assignment],
                look.notes[student],
            )
            for assignment in (wanted or given)
            for student in sorted(look.students)
        ],
        look.ignored,
        sorted(look.strangers),
        look.exported,
    )


@dataclass
class _Look:
    """What is seen in a folder of submissions."""

    folder: Path
    known: Sequence[str]
    roster: Roster | None
    recognised: Callable[[Path], str | None]
    files: dict[tuple[str, str], list[Path]] = field(
        default_factory=lambda: defaultdict(list)
    )
    notes: dict[str | None, list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )
    others: dict[str, list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )
    students: set[str] = field(default_factory=set)
    strangers: set[str] = field(default_factory=set)
    ignored: list[Path] = field(default_factory=list)
    exported: bool = False

    def at_all(self) -> None:
        """Look at every file and folder of the first level, and into it."""
        if self.roster:
            self.students |= {one.called for one in self.roster.people}
        for path in sorted(self.folder.iterdir()):
            if _is_hidden(path):
                continue
            if os.path.isdir(path):  # False where it cannot be seen
                student = self._called(path.name)
                self.students.add(student)
                self._at_folder(path, student)
            else:
                self._at_file(path, None)
        for student, names in self.others.items():
            self.notes[student].append(_told_of(names))

    def _called(self, name: str, otherwise: str = "") -> str:
        """The student whose folder or file is called so."""
        label = label_of(name)
        self.exported |= bool(label.number)
        person = self.roster.find(label) if self.roster else None
        student = (
            person.called
            if person
            else readable(label.called if label.number else otherwise or name)
        )
        if self.roster and not person:
            self.strangers.add(student)
        if label.late:
            self.notes[student].append(
                f"{readable(label.file)} came late, says the learning platform"
            )
        return student

    def _at_folder(self, folder: Path, student: str) -> None:
        if folder.is_symlink():
            self.notes[student].append("a link, which is not followed")
            return
        for path in _files_in(folder, self.notes[student]):
            self._at_file(path, student)

    def _at_file(self, path: Path, student: str | None) -> None:
        """Put a file where it belongs; links and devices belong nowhere."""
        try:
            if not stat.S_ISREG(path.lstat().st_mode):
                if path.suffix == ".ipynb":
                    self.notes[student].append(
                        f"{readable(path.name)} is a link, or no file at "
                        "all: not read"
                    )
                return
        except OSError as error:
            what = readable(path.name)
            self.notes[student].append(f"{what}: {error.strerror}")
            return
        parts = path.relative_to(self.folder).parts
        assignment = _assignment_of(parts, self.known)
        is_notebook = path.suffix == ".ipynb"
        renamed = not assignment and is_notebook
        if renamed:
            assignment = self.recognised(path)
        student = student or self._owner(path, assignment)
        what = readable(path.name)
        if student:
            self.students.add(student)
        if student and assignment:
            self.files[student, assignment].append(path)
            if renamed:
                self.notes[student].append(
                    f"{what} was taken as {assignment}, because of its cells. "
                    f"It should be called {assignment}.ipynb"
                )
        elif is_notebook or not student:
            self.ignored.append(path)
            self.notes[student].append(
                f"{what} was handed in, and belongs to no "
                "assignment by its name: not graded. It should be called as "
                f"it was handed out, such as {self.known[0]}.ipynb"
            )
        elif path.name not in NOT_HANDED_IN:
            self.others[student].append(what)

    def _owner(self, path: Path, assignment: str | None) -> str:
        """The student of a file that lies in no folder, or ""."""
        rest = _student_of(path.stem, assignment)
        if label_of(path.name).number or rest:
            return self._called(path.name, rest)
        return ""


def _told_of(names: Sequence[str]) -> str:
    """The line about files that nobody looks at."""
    some = ", ".join(names[:5])
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return f"handed in too, and not looked at: {some}{more}"


def readable(name: str) -> str:
    """The name of a file or folder as text that can be written anywhere.

    Bytes that are no UTF-8, and signs that move a cursor or turn a line, are
    written as ``\\xe9``. Names that differ stay different.
    """
    content = os.fsencode(name).replace(b"\\", b"\\\\")
    text = content.decode("utf-8", "backslashreplace")
    return _MOVING.sub(lambda sign: ascii(sign[0])[1:-1], text)


def _inside(folder: Path) -> Path:
    """The folder itself, or ``submitted`` in a course folder of nbgrader.

    In any other folder it is a student who is called so.
    """
    if not folder.is_dir():
        raise SubmissionsError(
            f"there is no folder of submissions at {folder}. Give one that "
            "holds a folder for each student, or files such as "
            "ANNA_06_masks.ipynb; unpack an archive before: make grade "
            "SUBMISSIONS=FOLDER"
        )
    submitted = folder / "submitted"
    seen = [path for path in folder.iterdir() if not _is_hidden(path)]
    names = {path.name for path in seen}
    folders = {path.name for path in seen if os.path.isdir(path)}
    is_course = names & COURSE_FILES or folders <= STEPS
    return submitted if is_course and submitted.is_dir() else folder


def _files_in(folder: Path, notes: list[str]) -> Iterator[Path]:
    """Every entry that is no folder, the upper ones first.

    Links are not followed.
    """
    todo = deque([(folder, 0)])
    seen = 0
    while todo and seen <= MOST:
        inner, depth = todo.popleft()
        if depth > DEEPEST:
            notes.append(f"no folder more than {DEEPEST} deep was looked into")
            return
        try:
            with os.scandir(inner) as entries:
                some = list(islice(entries, MOST - seen + 1))
        except OSError as error:
            where = readable(str(inner.relative_to(folder.parent)))
            notes.append(f"{where} could not be looked into: {error.strerror}")
            continue
        seen += len(some)
        for entry in sorted(some, key=lambda entry: entry.name):
            path = Path(entry.path)
            if _is_hidden(path):
                continue
            if entry.is_dir(follow_symlinks=False):
                todo.append((path, depth + 1))
            else:
                yield path
    if seen > MOST:
        notes.append(f"more than {MOST:,} files; not all were looked at")


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".") or path.name in NOBODYS


def _assignment_of(parts: Sequence[str], known: Sequence[str]) -> str | None:
    """The assignment that a file's name has in it, or else a folder's."""
    for part in (Path(parts[-1]).stem, *parts[1:-1]):
        for name in known:
            own = re.escape(name)
            if re.search(rf"(?<![A-Za-z0-9]){own}(?![A-Za-z0-9])", part):
                return name
    return None


def _student_of(stem: str, assignment: str | None) -> str:
    """What stands before the assignment in a file's name; else all of it."""
    if assignment is None:
        return ""
    return stem.partition(assignment)[0].strip(" _-+.")


def _pick(
    student: str, assignment: str, files: list[Path], notes: list[str]
) -> Submission:
    """The newest notebook of the right name, or what comes nearest to it.

    Files of one age, as an archive may leave them, go by the number that
    systems give to copies, and then by their names.
    """
    if not files:
        return Submission(student, assignment, None, tuple(notes[:TOLD]))
    *others, chosen = sorted(files, key=lambda path: _order(path, assignment))
    what = readable(chosen.name)
    told = [
        f"{readable(path.name)} was handed in too{_why(path, chosen)}; "
        f"graded was {what}"
        for path in others
    ]
    return Submission(
        student, assignment, chosen, tuple([*told, *notes][:TOLD])
    )


def _order(path: Path, assignment: str) -> tuple[bool, bool, int, int, str]:
    """The last one counts."""
    is_notebook, own_name = path.suffix == ".ipynb", assignment in path.stem
    age = path.stat().st_mtime_ns
    return is_notebook, own_name, age, _copy(path), path.name


def _copy(path: Path) -> int:
    """Which copy of a file it is by its name; the first is 0."""
    found = COPY.search(path.stem)
    return int(next(filter(None, found.groups()), 1)) if found else 0


def _why(path: Path, chosen: Path) -> str:
    same = path.stat().st_mtime_ns == chosen.stat().st_mtime_ns
    return ", with the same date" if same else ""


def _nothing(
    folder: Path,
    known: Sequence[str],
    wanted: Sequence[str],
    ignored: Sequence[Path],
) -> str:
    what = ", ".join(wanted or known)
    names = [readable(path.name) for path in ignored[:5]]
    found = ", ".join(names) or "no notebook"
    return (
        f"no submission for {what} in {folder}: found {found}. Expected "
        "STUDENT/06_masks.ipynb, STUDENT/06_masks/06_masks.ipynb or "
        "STUDENT_06_masks.ipynb, with the name of the assignment in that of "
        "the file or of its folder."
    )
