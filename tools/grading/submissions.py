"""Who handed in what, whichever way the files came."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer_course.errors import CourseError

SIZE_LIMIT = 20_000_000
"""Bytes; larger files are not read. A notebook with figures has 1 million."""


class SubmissionsError(CourseError):
    """A folder in which no submission can be found."""


@dataclass(frozen=True)
class Submission:
    """One student's answer to one assignment.

    Args:
        student: as the folder or the file is called.
        assignment: such as ``06_masks``.
        path: the file; None if nothing was handed in.
        notes: what a lecturer should know, such as a second file.
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
    files: dict[tuple[str, str], list[Path]] = defaultdict(list)
    students: set[str] = set()
    ignored: list[Path] = []
    for path in _visible_files(folder):
        parts = path.relative_to(folder).parts
        assignment = _assignment_of(parts, known)
        student = _student_of(parts, assignment)
        if student:
            students.add(student)
        if student and assignment:
            files[student, assignment].append(path)
        elif path.suffix == ".ipynb":
            ignored.append(path)
    students |= {path.name for path in folder.iterdir() if _is_student(path)}
    given = sorted({assignment for _, assignment in files})
    if not any(name in wanted or not wanted for name in given):
        raise SubmissionsError(_nothing(folder, known, wanted, ignored))
    return Found(
        [
            _pick(student, assignment, files[student, assignment])
            for assignment in (wanted or given)
            for student in sorted(students)
        ],
        ignored,
    )


def _inside(folder: Path) -> Path:
    """The folder itself, or ``submitted`` in a course folder of nbgrader."""
    if not folder.is_dir():
        raise SubmissionsError(
            f"there is no folder of submissions at {folder}. Give one that "
            "holds a folder for each student, or files such as "
            "ANNA_06_masks.ipynb: make grade SUBMISSIONS=FOLDER"
        )
    submitted = folder / "submitted"
    return submitted if submitted.is_dir() else folder


def _visible_files(folder: Path) -> Iterable[Path]:
    """Every file that a student may have handed in; links are not followed."""
    for path in sorted(folder.rglob("*")):
        hidden = any(
            part.startswith((".", "__"))
            for part in path.relative_to(folder).parts
        )
        if path.is_file() and not path.is_symlink() and not hidden:
            yield path


def _is_student(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith((".", "__"))


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


def _pick(student: str, assignment: str, files: list[Path]) -> Submission:
    """The newest notebook of the right name, or what comes nearest to it.

    Files of one age, as an archive may leave them, go by their names.
    """
    if not files:
        return Submission(student, assignment, None)
    notebooks = [path for path in files if path.suffix == ".ipynb"] or files
    *others, newest = sorted(
        notebooks,
        key=lambda path: (
            assignment in path.stem,
            path.stat().st_mtime,
            path.name,
        ),
    )
    notes = [f"{path.name} was handed in too; not graded" for path in others]
    return Submission(student, assignment, newest, tuple(notes))


def _nothing(
    folder: Path,
    known: Sequence[str],
    wanted: Sequence[str],
    ignored: Sequence[Path],
) -> str:
    what = ", ".join(wanted or known)
    found = ", ".join(path.name for path in ignored[:5]) or "no notebook"
    return (
        f"no submission for {what} in {folder}: found {found}. Expected "
        "STUDENT/06_masks.ipynb, STUDENT/06_masks/06_masks.ipynb or "
        "STUDENT_06_masks.ipynb, with the name of the assignment in that of "
        "the file or of its folder."
    )
