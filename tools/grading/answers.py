"""What a student's notebook says, and nothing else of it.

Of a submission only this is taken: the code of each exercise, and the text of
each answer. All the rest, checks and tests among it, comes from the course
again. So it does not matter whether a student has changed, renamed or removed
other cells.
"""

import ast
import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.grading.assignment import Assignment, name_of_cell
from tools.grading.submissions import SIZE_LIMIT
from transformer_course.errors import CourseError


class Unreadable(CourseError):
    """A file that is no notebook."""


@dataclass(frozen=True)
class Program:
    """What is run to have a student's function.

    Args:
        cell: the cell of the exercise, as it stands.
        helpers: what it needs of the student's other cells, in order:
            imports, functions, classes and assignments.
        given: what it needs of the cells that the course gives.
    """

    cell: str
    helpers: tuple[str, ...] = ()
    given: tuple[str, ...] = ()


@dataclass
class Answers:
    """The answers of one student to one assignment.

    Args:
        programs: by the name of the exercise; None where it is missing.
        texts: answers to open questions, by the name of their cell.
        notes: what differs from the notebook that was handed out.
    """

    programs: dict[str, Program | None] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_notebook(path: Path) -> NotebookNode:
    """Read what a student handed in.

    Raises:
        Unreadable: it is no notebook, or far too large for one.
    """
    if path.suffix != ".ipynb":
        raise Unreadable(
            f"{path.name} is not a notebook: a file .ipynb is expected"
        )
    if (size := path.stat().st_size) > SIZE_LIMIT:
        raise Unreadable(
            f"{path.name} has {size:,} bytes, more than {SIZE_LIMIT:,}: "
            "clear its outputs"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
        if not isinstance(json.loads(text).get("cells", []), list):
            raise ValueError("its cells are not a list")
        notebook = nbformat.reads(text, as_version=4)
        cells = [(cell.cell_type, cell.source + "") for cell in notebook.cells]
    except (Exception, RecursionError) as error:
        reason = str(error).splitlines()[0][:100] if str(error) else ""
        raise Unreadable(
            f"{path.name} cannot be read as a notebook: "
            f"{type(error).__name__} {reason}".rstrip()
        ) from error
    if not cells:
        raise Unreadable(f"{path.name} is a notebook without a cell")
    return notebook


def answers_in(notebook: NotebookNode, assignment: Assignment) -> Answers:
    """Take the answers out of a student's notebook.

    A cell is known by the name that nbgrader gave it. Where that is gone, code
    is known by the function that it defines, so a notebook in which somebody
    has moved, copied or renamed cells is graded all the same.
    """
    given = {cell.source for cell in assignment.release.cells}
    cells = [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code"
        and (_is_exercise(cell, assignment) or cell.source not in given)
        and name_of_cell(cell) not in assignment.locked
    ]
    answers = Answers(notes=_changes(notebook, assignment))
    for exercise in assignment.exercises:
        answers.programs[exercise.name] = _program(
            exercise.name, cells, assignment.given, answers.notes
        )
    for question in assignment.questions:
        found = _last(notebook.cells, question.name)
        if found is None:
            answers.notes.append(f"no cell for the answer {question.name}")
        answers.texts[question.name] = found.source if found else ""
    return answers


def restored(assignment: Assignment, answers: Answers) -> NotebookNode:
    """The course's own notebook, with the student's answers in it."""
    notebook = copy.deepcopy(assignment.release)
    for cell in notebook.cells:
        name = name_of_cell(cell)
        if program := answers.programs.get(name):
            cell.source = "\n\n\n".join((*program.helpers, program.cell))
        cell.source = answers.texts.get(name) or cell.source
    return notebook


def _is_exercise(cell: NotebookNode, assignment: Assignment) -> bool:
    names = {exercise.name for exercise in assignment.exercises}
    bound = _bound_in(_parse(cell.source))
    return name_of_cell(cell) in names or not names.isdisjoint(bound)


def _last(cells: Sequence[NotebookNode], name: str) -> NotebookNode | None:
    """Of cells with one name, which copying makes, the last one counts."""
    found = [cell for cell in cells if name_of_cell(cell) == name]
    return found[-1] if found else None


def _changes(notebook: NotebookNode, assignment: Assignment) -> list[str]:
    """What a lecturer may want to know of cells that are the course's."""
    notes = []
    for name, source in assignment.locked.items():
        cell = _last(notebook.cells, name)
        if cell is None:
            notes.append(f"the cell {name} was removed; put back")
        elif cell.source != source:
            notes.append(f"the cell {name} was changed; put back")
    return notes


def _program(
    name: str,
    cells: Sequence[NotebookNode],
    given: Sequence[str],
    notes: list[str],
) -> Program | None:
    own = [cell for cell in cells if name_of_cell(cell) == name]
    defining = [
        cell for cell in cells if name in _bound_in(_parse(cell.source))
    ]
    both = [cell for cell in own if any(cell is c for c in defining)]
    chosen = both or defining or own
    if not chosen:
        notes.append(f"{name}: nothing defines it")
        return None
    if not own:
        notes.append(f"{name}: its cell has lost its name")
    elif not any(chosen[-1] is cell for cell in own):
        notes.append(f"{name}: defined in another cell than its own")
    cell = plain(chosen[-1].source)
    others = [c.source for c in cells if c is not chosen[-1]]
    own_needs = _needed(_parse(cell), others)
    return Program(
        cell,
        helpers=_text_of(own_needs),
        given=_text_of(
            _needed(_parse("\n".join([*_text_of(own_needs), cell])), given)
        ),
    )


def plain(source: str) -> str:
    """Python without what only a notebook understands, line by line."""
    if source.lstrip().startswith("%%"):
        return ""
    return "\n".join(
        "" if line.startswith(("%", "!", "?")) else line
        for line in source.split("\n")
    )


def _parse(source: str) -> ast.Module:
    """The cell as a tree; an empty one if it is not Python."""
    try:
        return ast.parse(plain(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _needed(
    tree: ast.Module, sources: Sequence[str]
) -> list[tuple[str, ast.stmt]]:
    """Statements of other cells that define what a cell uses.

    So a helper may stand in a cell of its own, and an earlier exercise may be
    used in a later one. What else those cells do is left out: a loop without
    end beside an exercise does it no harm.
    """
    statements = [
        (source, statement)
        for source in map(plain, sources)
        for statement in _parse(source).body
        if isinstance(statement, DEFINING)
    ]
    missing = _used_in(tree) - _bound_in(tree)
    chosen: set[int] = set()
    while new := {
        number
        for number, (_, statement) in enumerate(statements)
        if number not in chosen
        and not missing.isdisjoint(_bound_by(statement))
    }:
        chosen |= new
        for number in new:
            missing |= _used_in(statements[number][1])
    return [statements[number] for number in sorted(chosen)]


def _text_of(statements: Sequence[tuple[str, ast.stmt]]) -> tuple[str, ...]:
    return tuple(_segment(*statement) for statement in statements)


DEFINING = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
)


def _segment(source: str, statement: ast.stmt) -> str:
    """The text of a statement, decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(d.lineno for d in decorators)])
    return "\n".join(source.split("\n")[first - 1 : statement.end_lineno])


def _used_in(tree: ast.AST) -> set[str]:
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _bound_in(tree: ast.Module) -> set[str]:
    return {name for item in tree.body for name in _bound_by(item)}


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a cell defines."""
    if isinstance(
        statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield (alias.asname or alias.name).partition(".")[0]
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
