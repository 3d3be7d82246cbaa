"""Who handed in what, whichever way the files came.

Folders are what students made of them: deep, full, closed, or with names that
no text can hold. What cannot be looked at is told to student and lecturer.
"""

import os
import re
import stat
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

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
COPY = re.compile(r"(?:\((\d+)\)|[ _-]*[Cc]opy *\(?(\d*)\)?)$")
"""How systems call a later copy: ``(2)``, ``-Copy2``, `` copy 2``."""
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
        ignored: files that belong to no assignment.
    """

    submissions: list[Submission]
    ignored: list[Path]


def find_submissions(
    folder: Path, known: Sequence[str], wanted: Sequence[str] = ()
) -> Found:
    """Find the submissions of a class.

    Understood are a folder for each student with notebooks anywhere in it
    (nbgrader's own ``student/assignment/notebook.ipynb`` too, and what
    learning platforms export), and files ``STUDENT_06_masks.ipynb``.

    Args:
        folder: where they lie.
        known: the names of all assignments.
        wanted: those to grade; if empty, every one that somebody handed in.

    Raises:
        SubmissionsError: there is no such folder, or nothing in it.
    """
    folder = _inside(folder)
    look = _Look(folder, known)
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
    )


@dataclass
class _Look:
    """What is seen in a folder of submissions."""

    folder: Path
    known: Sequence[str]
    files: dict[tuple[str, str], list[Path]] = field(
        default_factory=lambda: defaultdict(list)
    )
    notes: dict[str | None, list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )
    students: set[str] = field(default_factory=set)
    ignored: list[Path] = field(default_factory=list)

    def at_all(self) -> None:
        """Look at every file and folder of the first level, and into it."""
        for path in sorted(self.folder.iterdir()):
            if _is_hidden(path):
                continue
            if os.path.isdir(path):  # False where it cannot be seen
                student = readable(path.name)
                self.students.add(student)
                self._at_folder(path, student)
            else:
                self._at_file(path, None)

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
        student = student or readable(_student_of(parts, assignment))
        if student and assignment:
            self.students.add(student)
            self.files[student, assignment].append(path)
        elif path.suffix == ".ipynb":
            self.ignored.append(path)
            self.notes[student].append(
                f"{readable(path.name)} was handed in, and belongs to no "
                "assignment by its name: not graded. It should be called as "
                f"it was handed out, such as {self.known[0]}.ipynb"
            )


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
            "ANNA_06_masks.ipynb: make grade SUBMISSIONS=FOLDER"
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


def _student_of(parts: Sequence[str], assignment: str | None) -> str:
    """The first folder; of a file that lies in none, the rest of its name."""
    if len(parts) > 1:
        return parts[0]
    if assignment is None:
        return ""
    before, _, _ = Path(parts[0]).stem.partition(assignment)
    return before.strip(" _-+.")


def _pick(
    student: str, assignment: str, files: list[Path], notes: list[str]
) -> Submission:
    """The newest notebook of the right name, or what comes nearest to it.

    Files of one age, as an archive may leave them, go by the number that
    systems give to copies, and then by their names.
    """
    if not files:
        return Submission(student, assignment, None, tuple(notes[:TOLD]))
    notebooks = [path for path in files if path.suffix == ".ipynb"] or files
    *others, chosen = sorted(
        notebooks, key=lambda path: _order(path, assignment)
    )
    what = readable(chosen.name)
    told = [
        f"{readable(path.name)} was handed in too{_why(path, chosen)}; "
        f"graded was {what}"
        for path in others
    ]
    return Submission(
        student, assignment, chosen, tuple([*told, *notes][:TOLD])
    )


def _order(path: Path, assignment: str) -> tuple[bool, int, int, str]:
    """The last one counts."""
    own_name = assignment in path.stem
    return own_name, path.stat().st_mtime_ns, _copy(path), path.name


def _copy(path: Path) -> int:
    """Which copy of a file it is by its name; the first is 0."""
    found = COPY.search(path.stem)
    return int(found[1] or found[2] or 1) if found else 0


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
