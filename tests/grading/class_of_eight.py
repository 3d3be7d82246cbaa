"""Eight students who hand in what students hand in, through Moodle."""

import copy
import csv
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_exercises.contents import by_chapter

NAME = "06_masks"
QUESTION = "why_accuracy_does_not_warn"
ANSWER = "It has seen the answers, so it copies, and the accuracy does too."
SOLUTIONS = {e.name: e.source for e in by_chapter()[NAME]}
MOST = SOLUTIONS | {"masked_softmax": "1 / 0"}
"""What all hand in but the one who is right: a process less for each."""
INVERTED = """\
def padding_mask(ids, pad_id=0):
    return (ids == pad_id)[:, None, None, :]"""
LOOPS = """\
def padding_mask(ids, pad_id=0):
    import time
    while True:
        time.sleep(1)"""
WRITTEN = {
    "inverts": {"padding_mask": INVERTED},
    "loops": {"padding_mask": LOOPS},
    "is right": SOLUTIONS,
    "sees the future": {
        "causal_mask": SOLUTIONS["causal_mask"].replace("tril()", "triu()")
    },
    "changes the tests": {"padding_mask": INVERTED},
}
"""What some write otherwise."""
STUDENTS = [
    *WRITTEN,
    "hands in nothing new",
    "loses cells",
    "hands in no notebook",
]
"""By what they do."""


def filled(release: NotebookNode, cells: dict[str, str]) -> NotebookNode:
    """The release with other sources in some cells, by id."""
    notebook = copy.deepcopy(release)
    for cell in notebook.cells:
        cell.source = {**cells, QUESTION: ANSWER}.get(cell.id, cell.source)
    return notebook


def handed_in(student: str, release: NotebookNode) -> NotebookNode | str:
    """The notebook of a student, or the text in its place."""
    notebook = filled(release, MOST | WRITTEN.get(student, {}))
    match student:
        case "hands in nothing new":
            return release
        case "changes the tests":
            for cell in notebook.cells:
                if cell.id == "padding_mask-test":
                    cell.source = "2.0"
                    cell.metadata.nbgrader["points"] = 100
        case "loses cells":
            lost = ("padding_mask", "causal_mask-test")
            notebook.cells = [c for c in notebook.cells if c.id not in lost]
            for cell in notebook.cells:
                cell.metadata = {}
        case "hands in no notebook":
            return "def padding_mask(ids, pad_id=0): ..."
    return notebook


def hand_in(folder: Path, release: NotebookNode) -> None:
    """Write what they hand in, as Moodle's download has it."""
    for number, student in enumerate(STUDENTS):
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
