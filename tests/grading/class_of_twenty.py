"""Twenty students who hand in what students hand in, through Moodle."""

import copy
import csv
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_exercises.contents import by_chapter

NAME = "06_masks"
QUESTION = "why_accuracy_does_not_warn"
ANSWER = "It has seen the answers, so it copies, and the accuracy does too."
SOLUTIONS = {e.name: e.source for e in by_chapter()[NAME]}
MOST = SOLUTIONS | {"masked_softmax": "# I had no time for this one."}
"""What all hand in but the one who is right: a process less for each."""
INVERTED = """\
def padding_mask(ids, pad_id=0):
    return (ids == pad_id)[:, None, None, :]"""
FUTURE = SOLUTIONS["causal_mask"].replace("tril()", "triu()")
BODIES = {
    "raises": "return 1 / 0",
    "loops": "import time\n    while True:\n        time.sleep(1)",
    "exits": "import os\n    os._exit(0)",
    "segfaults": "import ctypes\n    ctypes.string_at(0)",
    "eats memory": "return [bytearray(2**28) for _ in range(10**6)]",
    "prints without end": "while True:\n        print('a' * 1000)",
    "returns nothing": "ids != pad_id",
}
"""Of ``padding_mask``."""
CELLS = {
    "inverts": INVERTED,
    "imports ours": "from transformer_course.models.masks import padding_mask",
    "breaks the syntax": "def padding_mask(:\n    pass",
    "raises at the top": "raise ValueError('here')",
    "loops at the top": "import time\n\nwhile True:\n    time.sleep(1)",
    "exits at the top": "import os\n\nos._exit(0)",
    "prints a lot": "print('a' * 10**7)\n" + SOLUTIONS["padding_mask"],
} | {
    name: f"def padding_mask(ids, pad_id=0):\n    {body}"
    for name, body in BODIES.items()
}
"""The cell of ``padding_mask``, by what the student does there."""
LAST = (
    "is right",
    "sees the future",
    "hands in nothing new",
    "changes the tests",
    "loses cells",
    "hands in no notebook",
)
STUDENTS = [*CELLS, *LAST]
"""Twenty, by what they do."""
NIGHTLY = (
    "imports ours",
    "breaks the syntax",
    "raises at the top",
    "loops at the top",
    "exits at the top",
    "prints a lot",
    "raises",
    "exits",
    "segfaults",
    "eats memory",
    "prints without end",
    "returns nothing",
)
"""Those who are stopped, or told, in a way that another one shows too."""


def filled(
    release: NotebookNode, cells: dict[str, str], answer: str = ANSWER
) -> NotebookNode:
    """The release with other sources in some cells, by id."""
    notebook = copy.deepcopy(release)
    for cell in notebook.cells:
        cell.source = {**cells, QUESTION: answer}.get(cell.id, cell.source)
    return notebook


def handed_in(student: str, release: NotebookNode) -> NotebookNode | str:
    """The notebook of a student, or the text in its place."""
    if student in CELLS:
        return filled(release, MOST | {"padding_mask": CELLS[student]})
    notebook = filled(release, MOST)
    match student:
        case "is right":
            return filled(release, SOLUTIONS)
        case "sees the future":
            return filled(release, MOST | {"causal_mask": FUTURE})
        case "hands in nothing new":
            return release
        case "changes the tests":
            notebook = filled(release, MOST | {"padding_mask": INVERTED})
            for cell in notebook.cells:
                if cell.id == "padding_mask-test":
                    cell.source = "2.0"
                    cell.metadata.nbgrader["points"] = 100
        case "loses cells":
            notebook.cells = [
                cell
                for cell in notebook.cells
                if cell.id not in ("padding_mask", "causal_mask-test")
            ]
            for cell in notebook.cells:
                cell.metadata = {}
        case "hands in no notebook":
            return "def padding_mask(ids, pad_id=0): ..."
    return notebook


def hand_in(
    folder: Path, release: NotebookNode, students: Iterable[str]
) -> None:
    """Write what these hand in, as Moodle's download has it."""
    for student in students:
        number = STUDENTS.index(student)
        place = f"{student}_{51_000 + number}_assignsubmission_file_"
        path = folder / place / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        content = handed_in(student, release)
        if not isinstance(content, str):
            content = nbformat.writes(content)
        path.write_text(content, encoding="utf-8")


def worksheet(path: Path) -> Path:
    """Moodle's grading worksheet: the class, and one who hands in nothing."""
    columns = (
        "Identifier|Full name|ID number|Email address|Grade|Maximum grade"
    )
    rows = [
        (f"Participant {51_000 + n}", name, f"s{n}", f"s{n}@x.invalid", "", "")
        for n, name in enumerate([*STUDENTS, "Nobody Else"])
    ]
    return written(path, columns.split("|"), rows)


def canvas(path: Path) -> Path:
    """Canvas' gradebook of the same class."""
    about = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    columns = [*about, f"Week 3: {NAME} (77)", "Final Score"]
    rows = [
        (name, 880_000 + n, f"s{n}", f"s{n}@x.invalid", "A", "", "")
        for n, name in enumerate([*STUDENTS, "Else, Nobody"])
    ]
    possible = ("    Points Possible", "", "", "", "", "9", "")
    test = ("Student, Test", 1, "", "fd5ab1", "A", "", "")
    return written(path, columns, [possible, *rows, test])


def written(path: Path, columns: list[str], rows: list[tuple]) -> Path:
    """A table in a file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(rows)
    return path


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))
