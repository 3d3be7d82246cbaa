"""What a student's notebook says, and nothing else of it.

Of a submission only this is taken: the code of each exercise, and the text of
each answer. All the rest, checks and tests among it, comes from the course
again. So it does not matter whether a student has changed, renamed or removed
other cells. What a student wrote and nothing of it is taken has a note.
"""

import ast
import copy
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from nbformat import NotebookNode

from tools.grading.assignment import Released
from tools.grading.notebooks import Cell, name_of
from tools.grading.terms import bare
from tools.grading.texts import fenced, shortened

CODE_LIMIT = 100_000
"""Characters; a cell with more is not looked at."""
ALL_CODE = 300_000
"""The same, for all cells together."""
WORDS_LIMIT = 50_000
"""Characters of an answer; what is more is cut off."""
RUN_ON = ("%%time", "%%capture")
"""First lines of cells that are Python all the same."""


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
        loose: text that stands at no question.
        notes: what student and lecturer should know of what was taken.
    """

    programs: dict[str, Program | None] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    loose: str = ""
    notes: list[str] = field(default_factory=list)


def answers_in(cells: Sequence[Cell], assignment: Released) -> Answers:
    """Take the answers out of a student's notebook.

    A cell is known by the name that nbgrader gave it. Where that is gone, code
    is known by the function that it defines, and words by the question that
    they stand at; so a notebook in which somebody has moved, copied, added or
    renamed cells is graded all the same.
    """
    answers = Answers(notes=_changes(cells, assignment))
    sorted_ = _sorted(cells, assignment)
    for question in assignment.questions:
        pieces = sorted_.words[question.name]
        if not pieces and not _named(cells, question.name):
            answers.notes.append(f"no cell for the answer {question.name}")
        text = _joined(pieces, f"the answer {question.name}", answers.notes)
        answers.texts[question.name] = text
    if loose := sorted_.words[""]:
        answers.loose = _joined(loose, "the rest", answers.notes)
        answers.notes.append(
            f"text of {_count(len(loose))} stands at no question: the "
            "lecturer can read it, but it is no answer"
        )
    if files := sum(cell.files for cell in cells):
        answers.notes.append(
            f"pictures or files in {_count(files)} were not taken"
        )
    answers.programs = _programs(sorted_.code, assignment, answers.notes)
    return answers


def restored(assignment: Released, answers: Answers) -> NotebookNode:
    """The course's own notebook, with the student's answers in it.

    Words are fenced: nbgrader's pages show Markdown as it is, with any
    script that is in it, to a lecturer who is logged in.
    """
    notebook = copy.deepcopy(assignment.notebook)
    for cell in notebook.cells:
        name = name_of(cell)
        if program := answers.programs.get(name):
            cell.source = "\n\n\n".join((*program.helpers, program.cell))
        if text := answers.texts.get(name):
            cell.source = fenced(text)
    return notebook


# --- words -------------------------------------------------------------------


class Sorted(NamedTuple):
    """A notebook's own cells.

    Args:
        words: texts by the question that they stand at, or by "".
        code: the others.
    """

    words: dict[str, list[str]]
    code: list[Cell]


def _sorted(cells: Sequence[Cell], assignment: Released) -> Sorted:
    """Go through a notebook, and see what stands where."""
    exercises = {exercise.name for exercise in assignment.exercises}
    words: dict[str, dict[str, None]] = defaultdict(dict)
    code: list[Cell] = []
    question = ""
    for cell in cells:
        given = assignment.name_of_given(cell)
        if given:
            question = assignment.question_at(given)
        if given in exercises:
            code.append(cell)
        elif cell.kind == "code" and not bare(cell.source):
            continue  # of the course, or empty
        elif cell.kind == "code" and given not in assignment.question_names:
            if not given and question and _is_prose(cell.source):
                words[question][cell.source.strip()] = None
            elif not given or cell.source != assignment.cells[given].source:
                code.append(cell)
        elif text := assignment.added(cell, given):
            words[question][text] = None
    texts = {name: list(found) for name, found in words.items()}
    return Sorted(defaultdict(list, texts), code)


def _is_prose(source: str) -> bool:
    """Whether words were typed into a cell that is for code."""
    text = plain(source)
    if (tree := _parse(text)) is None:
        return True
    words = [getattr(part, "value", None) for part in tree.body]
    return bool(text.strip()) and all(
        isinstance(word, ast.Name | ast.Constant) for word in words
    )


def _joined(pieces: Sequence[str], what: str, notes: list[str]) -> str:
    text = "\n\n".join(pieces)
    if len(text) > WORDS_LIMIT:
        notes.append(
            f"{what} has {len(text):,} characters: all after the first "
            f"{WORDS_LIMIT:,} were cut off"
        )
    return shortened(text, WORDS_LIMIT)


def _named(cells: Sequence[Cell], name: str) -> list[Cell]:
    return [cell for cell in cells if cell.name == name]


def _count(cells: int) -> str:
    return f"{cells:,} cell{'' if cells == 1 else 's'}"


def _changes(cells: Sequence[Cell], assignment: Released) -> list[str]:
    """What there is to know of cells that are the course's."""
    notes = []
    sources = {cell.source for cell in cells}
    for name, source in assignment.locked.items():
        found = _named(cells, name)
        if found and found[-1].source != source:
            notes.append(f"the cell {name} was changed; put back")
        elif source not in sources:
            notes.append(f"the cell {name} was removed; put back")
    return notes


# --- code --------------------------------------------------------------------


class Statement(NamedTuple):
    """A statement at the top of a cell that defines something."""

    text: str
    binds: frozenset[str]
    uses: frozenset[str]
    cell: int


class Code:
    """The code of a cell, parsed once.

    Args:
        source: as it stands in the notebook.
        number: of the cell.
    """

    def __init__(self, source: str, number: int = 0):
        self.text = plain(source)
        self.number = number
        self._tree = _parse(self.text) or ast.Module([], [])

    @cached_property
    def binds(self) -> set[str]:
        """The names that it defines."""
        return {name for part in self._tree.body for name in _bound_by(part)}

    @cached_property
    def uses(self) -> set[str]:
        """The names that it reads."""
        return _used_in(self._tree)

    def statements(self) -> Iterator[Statement]:
        """Its definitions, with their decorators, in order."""
        lines = self.text.split("\n")
        for part in self._tree.body:
            if isinstance(part, DEFINING):
                decorators = getattr(part, "decorator_list", [])
                first = min([part.lineno, *(d.lineno for d in decorators)])
                yield Statement(
                    "\n".join(lines[first - 1 : part.end_lineno]),
                    frozenset(_bound_by(part)),
                    frozenset(_used_in(part)),
                    self.number,
                )


class Definitions:
    """What the statements of some cells define.

    Args:
        cells: parsed.
    """

    def __init__(self, cells: Iterable[Code]):
        self._all = [one for cell in cells for one in cell.statements()]
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for number, statement in enumerate(self._all):
            for name in statement.binds:
                self._by_name[name].append(number)

    def needed(self, names: set[str], but: int = -1) -> list[Statement]:
        """The statements that define names, and those that these need.

        So a helper may stand in a cell of its own, and an earlier exercise
        may be used in a later one. What else those cells do is left out: a
        loop without end beside an exercise does it no harm.

        Args:
            names: what is used.
            but: the number of a cell that is left out.
        """
        chosen: set[int] = set()
        asked, todo = set(names), list(names)
        while todo:
            for number in self._by_name.get(todo.pop(), ()):
                if number in chosen or self._all[number].cell == but:
                    continue
                chosen.add(number)
                new = self._all[number].uses - asked
                asked |= new
                todo += new
        return [self._all[number] for number in sorted(chosen)]


def _programs(
    cells: Sequence[Cell], assignment: Released, notes: list[str]
) -> dict[str, Program | None]:
    """The program of each exercise; none where nothing defines it."""
    cells = _short_enough(
        [cell for cell in cells if cell.name not in assignment.locked], notes
    )
    codes = [Code(cell.source, number) for number, cell in enumerate(cells)]
    given = Definitions(map(Code, assignment.given))
    own = Definitions(codes)
    programs: dict[str, Program | None] = {}
    used: set[int] = set()
    for exercise in assignment.exercises:
        name = exercise.name
        programs[name] = None
        stub = assignment.cells[name].source
        chosen = _choose(name, stub, cells, codes, notes)
        if chosen is None:
            continue
        code = codes[chosen]
        helpers = own.needed(code.uses - code.binds, but=chosen)
        used |= {chosen, *(helper.cell for helper in helpers)}
        bound = code.binds.union(*(helper.binds for helper in helpers))
        uses = code.uses.union(*(helper.uses for helper in helpers))
        programs[name] = Program(
            code.text,
            tuple(helper.text for helper in helpers),
            tuple(one.text for one in given.needed(uses - bound)),
        )
    unused = {n for n, code in enumerate(codes) if code.text.strip()} - used
    if unused:
        notes.append(
            f"{_count(len(unused))} with code belong{'s' * (unused == 1)} "
            "to no exercise: not run"
        )
    return programs


def _short_enough(cells: Sequence[Cell], notes: list[str]) -> list[Cell]:
    """The cells that are looked at; parsing takes memory."""
    kept, taken = [], 0
    for cell in cells:
        if len(cell.source) <= min(CODE_LIMIT, ALL_CODE - taken):
            kept.append(cell)
            taken += len(cell.source)
    if left := len(cells) - len(kept):
        notes.append(
            f"{_count(left)} with code not looked at: more than "
            f"{CODE_LIMIT:,} characters, or {ALL_CODE:,} in all"
        )
    return kept


def _choose(
    name: str,
    stub: str,
    cells: Sequence[Cell],
    codes: Sequence[Code],
    notes: list[str],
) -> int | None:
    """The number of the cell that is the answer to an exercise."""
    own = [n for n, cell in enumerate(cells) if cell.name == name]
    there = [n for n, code in enumerate(codes) if name in code.binds]
    written = [n for n in there if cells[n].source != stub] or there
    chosen = [n for n in own if n in written] or written or own
    if not chosen:
        notes.append(f"{name}: nothing defines it")
        return None
    if len(written) > 1:
        notes.append(
            f"{name}: {len(written)} cells define it; the last one, or that "
            "in its own cell, counts"
        )
    if not own:
        notes.append(f"{name}: its cell has lost its name")
    elif chosen[-1] not in own:
        notes.append(f"{name}: defined in another cell than its own")
    if cells[chosen[-1]].kind != "code":
        notes.append(f"{name}: its cell was not one for code; taken as code")
    if not codes[chosen[-1]].text.strip():
        notes.append(f"{name}: its cell has no Python")
    return chosen[-1]


def plain(source: str) -> str:
    """Python without what only a notebook understands, line by line."""
    first, _, rest = source.lstrip().partition("\n")
    if first.startswith("%%"):
        return plain(rest) if first.startswith(RUN_ON) else ""
    return "\n".join(
        "" if line.startswith(("%", "!", "?")) else line
        for line in source.split("\n")
    )


def _parse(text: str) -> ast.Module | None:
    """The code as a tree; none if it is no Python."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


DEFINING = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
)


def _used_in(tree: ast.AST) -> set[str]:
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


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
