"""What students get: the assignment, until when, how, for how many points."""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from tools.exercise_notebooks import Question, Task
from tools.grading import terms as texts
from tools.grading.assignment import Released
from tools.grading.texts import counted


@dataclass(frozen=True)
class Terms:
    """How an assignment is handed out.

    Args:
        due: until when, as it shall stand there.
        how: where to hand in, as it shall stand there.
        solutions: whether they can be asked for in the notebook.
        site: where the book is; else links lead to the course's folder.
    """

    due: str = ""
    how: str = ""
    solutions: bool = True
    site: str = ""


def handed_out(assignment: Released, terms: Terms) -> NotebookNode:
    """The notebook that students get."""
    made = copy.deepcopy(assignment.notebook)
    points = {one.name: one.points for one in assignment.questions}
    for cell, below in zip(made.cells, made.cells[1:], strict=False):
        if cell.cell_type == "markdown":
            cell.source = texts.LINK.sub(
                lambda found: _link(found, terms.site), cell.source
            )
            if not terms.solutions:
                cell.source = cell.source.replace(texts.SOLUTION, "")
        if below.id in points:
            cell.source += f"\n\n*{counted(points[below.id], 'point')}.*"
    about = "\n".join(_about(assignment, terms))
    made.cells.insert(1, new_markdown_cell(about, id="handing-in"))
    if not terms.solutions:
        made.cells.insert(
            3, new_code_cell(texts.NO_SOLUTIONS, id="without-solutions")
        )
    return made


def _link(found: re.Match[str], site: str) -> str:
    page, place = found["page"], found["place"] or ""
    if site:
        return f"]({site.rstrip('/')}/{page}.html{place})"
    return f"](../../book/en/{page}.ipynb{place})"


def _about(assignment: Released, terms: Terms) -> Iterator[str]:
    """The cell about handing in, line by line."""
    file = texts.FILE.format(name=assignment.name)
    where = f", {terms.how}." if terms.how else "."
    due = f" **Due: {terms.due}.**" if terms.due else ""
    yield from (texts.TITLE, "", f"{file}{where}{due}", "")
    yield from ("| | points |", "|---|---|")
    for part in assignment.parts:
        if isinstance(part, Task):
            yield f"| `{part.exercise.name}` | {part.exercise.points} |"
        if isinstance(part, Question):
            yield f"| {texts.IN_WORDS} | {part.points} |"
    yield f"| **in all** | **{sum(assignment.points.values())}** |"
    yield from ("", texts.MARKED)
