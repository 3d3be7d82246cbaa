"""Submissions: which file belongs to which student and assignment.

Files may lie as nbgrader has them (``STUDENT/06_masks/06_masks.ipynb``), as
Moodle or Canvas exports them, or be called ``STUDENT_06_masks.ipynb``.
"""

import ast
import copy
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_raw_cell,
)

from course_exercises.path.file import parsed
from course_exercises.path.parts import FILE, NAMES
from course_grading.assignment import WHOLE
from course_grading.roster import Roster, decoded
from transformer_course.errors import CourseError
from transformer_course.files import encodable

PLATFORM = re.compile(
    r"(?P<name>.+?)(_LATE)?_(?P<number>\d+)_(assignsubmission|\d{3,})_.+"
)
"""Name that Moodle gives to a downloaded file or folder
(``mod/assign/locallib.php``), and Canvas to a file
(``lib/content_zipper.rb``). What the student called the file stands at the
end, so the first number that fits is the platform's."""
SUFFIXES = (".ipynb", ".py")
MADE = {"code": new_code_cell, "markdown": new_markdown_cell}
ID = re.compile(r"[\w-]{1,64}", re.A)
"""Of a cell."""
MAX_FILE = 50 << 20
"""Bytes of a file that is read."""
MAX_CELL = 20_000
"""Characters of a cell that are kept."""
MAX_TEXT = 400_000
"""Characters of all cells that are kept."""
MAX_CELLS = 500
LINK = re.compile(r"\](?=:|\((?!attachment:|https?://|\.\./|#))")
"""Of Markdown, to what may be a script."""
PICTURES = ("image/png", "image/jpeg")
CUT = "\n\n[The rest is left out: it is too long.]"


@dataclass(frozen=True)
class Submissions:
    """What was found in a folder."""

    files: dict[tuple[str, str], Path]
    """The newest notebook of each student and assignment."""
    notes: list[str] = field(default_factory=list)
    """What the lecturer should know, a line each."""

    def late(self, due: datetime | None) -> list[str]:
        """A line for each file that is newer, or that Canvas calls late."""
        lines = []
        for (student, name), path in self.files.items():
            changed = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
            if "_LATE_" in path.name or (due and changed > due):
                lines.append(
                    f"late: {student} ({name}), {changed:%d %b %H:%M}"
                )
        return lines


def find_submissions(
    folder: Path, assignments: Sequence[str], roster: Roster | None = None
) -> Submissions:
    """Find the notebooks of a class.

    Args:
        folder: where the files are.
        assignments: names of the assignments.
        roster: the class; without it, students are called as their files are.

    Raises:
        CourseError: there is no such folder, or no submission in it.
    """
    found: dict[tuple[str, str], list[Path]] = defaultdict(list)
    notes, strangers, students = [], set(), set()
    if not folder.is_dir():
        raise CourseError(f"there is no folder of submissions at {folder}")
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_notebook = path.suffix.lower() in SUFFIXES and path.is_file()
        is_student = path.is_dir() and len(parts) == 1
        is_hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
        if is_hidden or path.is_symlink() or not (is_notebook or is_student):
            continue
        assignment = _assignment(parts, assignments) if is_notebook else ""
        if assignment and _is_python(path) != (assignment == WHOLE):
            assignment = None
        student, is_known = _student(parts[0], assignment or "", roster)
        students.add(student)
        if not is_known:
            strangers.add(student)
        if assignment:
            found[student, assignment].append(path)
        elif is_notebook:
            name = printable(path.relative_to(folder))
            notes.append(
                f"not graded: {name} has the name of no assignment, such as "
                f"{assignments[0]}.ipynb"
            )
    files = {}
    for (student, assignment), paths in sorted(found.items()):
        *older, newest = sorted(paths, key=lambda path: path.stat().st_mtime)
        files[student, assignment] = newest
        notes += [f"older, not graded: {printable(path)}" for path in older]
    if not files:
        raise CourseError(
            f"no submission in {folder}. Unpack the download; expected are "
            f"files such as STUDENT/{assignments[0]}.ipynb"
        )
    handed_in = {student for student, _ in files}
    notes += [f"no notebook: {one}" for one in sorted(students - handed_in)]
    if roster:
        notes += [f"not in the class list: {one}" for one in sorted(strangers)]
    return Submissions(files, notes)


def read_submission(path: Path, release: NotebookNode) -> NotebookNode:
    """Read what was handed in, in the form that nbgrader can grade.

    Cells have the roles and types of the release again, whatever the file
    says; missing ones are put at the end. HTML in answers becomes plain text,
    and what is too long for any answer is cut. A file that is no notebook
    becomes one that says so.

    Args:
        path: of the file.
        release: the notebook that students got.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            raise ValueError(f"it has more than {MAX_FILE >> 20} MB")
        text = decoded(path.read_bytes())
        notebook = _parts(text) if _is_python(path) else _plain(text)
    except Exception as error:  # whatever it is, it cannot be graded
        reason = printable(f"{type(error).__name__}: {error!s:.200}")
        name = printable(path.name)
        text = f"**{name} cannot be read as a notebook** ({reason})."
        notebook = new_notebook(cells=[new_markdown_cell(text)])
    _shorten(notebook)
    roles = {
        cell.id: cell for cell in release.cells if "nbgrader" in cell.metadata
    }
    tags = {cell.id: cell.metadata.get("tags") for cell in release.cells}
    for place, cell in enumerate(notebook.cells):
        name = cell.metadata.pop("nbgrader", "") or cell.get("id")
        if given := roles.pop(name, None):
            if cell.cell_type != given.cell_type:  # one key changes it
                cell = MADE[given.cell_type](cell.source, id=cell.id)
                notebook.cells[place] = cell
            cell.metadata["nbgrader"] = copy.deepcopy(given.metadata.nbgrader)
        if given_tags := tags.get(cell.get("id")):
            cell.metadata["tags"] = given_tags
        if cell.cell_type == "markdown":
            cell.source = _as_pages_bear(cell)
    for missing in map(copy.deepcopy, roles.values()):
        if missing.cell_type == "code" and missing.metadata.nbgrader.solution:
            missing.source = "# This cell was missing."
        notebook.cells.append(missing)
    return notebook


def _plain(text: str) -> NotebookNode:
    """A notebook, with no more of it than is graded.

    So it does not matter what else a program writes, or leaves out.
    """
    text = json.dumps(json.loads(text), ensure_ascii=False)
    notebook = json.loads(encodable(text))
    if notebook.get("nbformat", 4) < 4:
        notebook = nbformat.reads(text, as_version=4)
    cells, ids = [], set()
    for cell in notebook["cells"]:
        make = MADE.get(cell["cell_type"], new_raw_cell)
        plain = make("".join(cell["source"]))  # a text, or lines
        match cell:
            case {"metadata": {"nbgrader": {"grade_id": str(name)}}}:
                plain.metadata["nbgrader"] = name
        match cell:
            case {"attachments": {**pictures}} if make is not new_code_cell:
                plain.attachments = _pictures(pictures)
        name = str(cell.get("id", ""))
        if ID.fullmatch(name) and name not in ids:
            plain.id = name
        ids.add(plain.id)
        cells.append(plain)
    return new_notebook(cells=cells)


def _pictures(attachments: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Pictures that a text shows."""
    return {
        name: {kind: data}
        for name, kinds in attachments.items()
        if isinstance(kinds, dict)
        for kind, data in kinds.items()
        if kind in PICTURES and isinstance(data, str)
    }


def _as_pages_bear(cell: NotebookNode) -> str:
    """A text for nbgrader's pages.

    They would run scripts, also those in links, and fail where a picture is
    missing.
    """

    def named(match: re.Match) -> str:
        is_there = match[1] in cell.get("attachments", {})
        return match[0] if is_there else f"missing:{match[1]}"

    text = re.sub(r"<(?=[a-zA-Z/!?])", "&lt;", cell.source)
    text = LINK.sub("] ", text)
    return re.sub(r"attachment:([^\s)>]*)", named, text)


def _shorten(notebook: NotebookNode) -> None:
    """Cut what is too long for any answer."""
    del notebook.cells[MAX_CELLS:]
    left = MAX_TEXT
    for cell in notebook.cells:
        most = min(MAX_CELL, left)
        if len(cell.source) > most:
            cell.source = cell.source[:most] + CUT
        left = max(0, left - len(cell.source))


def printable(text: object) -> str:
    """A name or a reason as one line that a terminal shows as it is."""
    signs = (sign if sign.isprintable() else "?" for sign in str(text))
    return "".join(signs)


def _is_python(path: Path) -> bool:
    return path.suffix.lower() == ".py"


def _parts(text: str) -> NotebookNode:
    """A student's file as a notebook, with a cell for each part.

    What stands between the parts is in cells of its own; what the file does
    when it is run as a program is left out.
    """
    file = parsed(Path(FILE), text)
    lines = file.text.splitlines()
    cells = [new_code_cell("", id="others-0")]
    for node in ast.parse(file.text).body:
        first = min(
            [
                node.lineno,
                *(d.lineno for d in getattr(node, "decorator_list", ())),
            ]
        )
        source = "\n".join(lines[first - 1 : node.end_lineno])
        name = getattr(node, "name", "")
        if name in NAMES:
            cells.append(new_code_cell(source, id=name))
        elif not _is_program(node):
            if cells[-1].id in NAMES:
                cells.append(new_code_cell("", id=f"others-{len(cells)}"))
            cells[-1].source += f"{source}\n"
    for name, problem in file.broken.items():
        if name in NAMES:
            said = "\n".join(f"# {line}" for line in problem.splitlines())
            cells.append(new_code_cell(said, id=name))
    return new_notebook(cells=cells)


def _is_program(node: ast.stmt) -> bool:
    """Whether it is ``if __name__ == "__main__":``."""
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def student_id(text: str) -> str:
    """An id that can be the name of nbgrader's folder."""
    return re.sub(r"[^\w.@ -]", "_", text).strip("-.@ ") or "_"


def _assignment(parts: Sequence[str], names: Sequence[str]) -> str | None:
    """The assignment that a file's name contains, or else a folder's."""
    for part in reversed(parts):
        for name in names:
            if re.search(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])", part):
                return name
    return None


def _student(
    first: str, assignment: str, roster: Roster | None
) -> tuple[str, bool]:
    """Id of the student whose file or folder it is; whether in the class."""
    match = PLATFORM.fullmatch(first)
    name = (
        match["name"] if match else re.sub(r"\.ipynb$", "", first, flags=re.I)
    )
    number = match["number"] if match else ""
    if assignment and not match:
        name = name.partition(assignment)[0].rstrip("_- ") or name
    person = roster.find(name, number) if roster else None
    if person:
        return student_id(person.id), True
    return student_id(f"{name} {number}"), roster is None
