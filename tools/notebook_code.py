"""What the code of the notebooks does, found by reading it.

    python -m tools.notebook_code corpora     those with a cell that needs one
    python -m tools.notebook_code training    those in which a model is trained
    python -m tools.notebook_code shared      those with one that others share,
                                              which do not measure time

prints the paths of these notebooks, one a line: so the Makefile knows what to
run without a corpus, and what on another kind of processor.
"""

import argparse
import ast
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Set
from functools import partial

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from tools.refresh_outputs import ROOT, corpora_of, find_notebooks

SHARED = frozenset({"trained"})
"""What gives a model that is trained on first use, then kept and shared."""
TRAINING = SHARED | {"fit", "train_step", "step"}
"""What gives such a model, or changes a model's weights."""
CLOCKS = {
    *("time", "perf_counter", "process_time", "thread_time", "monotonic"),
    *("time_ns", "perf_counter_ns", "process_time_ns", "thread_time_ns"),
    *("monotonic_ns", "cpu_times", "default_timer", "timeit"),
}
"""Functions that read a clock."""
KEEPING = {"append", "extend", "insert", "add", "update", "setdefault"}
"""Methods that put what they are given into what they belong to."""


def code_of(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells that are code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def needs_corpus(notebook: NotebookNode) -> bool:
    """Whether the notebook, or a cell of it, says that it needs a corpus."""
    return any(corpora_of(part) for part in (notebook, *notebook.cells))


def called(tree: ast.AST) -> Iterator[str]:
    """The last part of the name of every function that is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute):
                yield node.func.attr


def calls(functions: Set[str], notebook: NotebookNode) -> bool:
    """Whether any of these functions is called, or a method of that name."""
    return any(
        not functions.isdisjoint(called(ast.parse(cell.source)))
        for cell in code_of(notebook)
    )


# --- names from cells that may be skipped ------------------------------------


def undefined(cells: list[NotebookNode]) -> set[tuple[str, str]]:
    """Names that nothing defines when these cells run: (cell's id, name).

    Ruff reads them: it knows in what order a notebook's names come to be, and
    which names are a function's own.
    """
    notebook = new_notebook(cells=cells)
    notebook.metadata.language_info = {"name": "python"}
    words = "check --isolated --select F821 --output-format json -"
    found = subprocess.run(
        [sys.executable, "-m", "ruff", *words.split()]
        + ["--stdin-filename", "notebook.ipynb"],
        input=nbformat.writes(notebook),
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    return {
        (cells[one["cell"] - 1].id, one["message"].split("`")[1])
        for one in json.loads(found.stdout)
    }


def lost_names(notebook: NotebookNode) -> set[tuple[str, str]]:
    """Names that are not there where a corpus is not: (cell's id, name).

    That is, a cell uses a name that is defined only in cells that need a
    corpus, and does not say that it needs that corpus too. Every set of
    corpora is taken away once, as the tests would skip the cells.
    """
    cells = code_of(notebook)
    corpora = sorted({name for cell in cells for name in corpora_of(cell)})
    lost = set()
    for size in range(1, len(corpora) + 1):
        for missing in itertools.combinations(corpora, size):
            kept = [c for c in cells if not {*missing} & {*corpora_of(c)}]
            lost |= undefined(kept)
    return lost - undefined(cells) if lost else lost


# --- assertions on a clock ---------------------------------------------------


def clock_assertions(source: str) -> list[str]:
    """Assertions about the time that something took, as they are written.

    As far as reading from top to bottom finds them: the assertion calls a
    clock, or has a name in it that was last given what a clock said, by way
    of other names, lists and functions too.
    """
    return list(_read(ast.parse(source).body, set()))


def _read(statements: list[ast.stmt], timed: set[str]) -> Iterator[str]:
    """The assertions among these; ``timed`` are the names that say a time."""
    for statement in statements:
        match statement:
            case ast.FunctionDef(name=name, args=args, body=body):
                inner = timed - {each.arg for each in args.args}
                yield from _read(body, inner)
                parts = [n for n in ast.walk(statement) if _returns(n)]
                _give(ast.Name(name), parts, inner, timed)
                continue
            case ast.ClassDef(body=body):
                yield from _read(body, set(timed))
                continue
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _give(target, [value], timed, timed)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                _give(target, [value], timed, timed)
            case ast.AugAssign(target=target, value=value):
                _give(target, [target, value], timed, timed)
            case ast.For(target=target, iter=value):
                _give(target, [value], timed, timed)
            case ast.Expr(ast.Call(ast.Attribute(kept, attr), args)):
                if attr in KEEPING:
                    _give(kept, [kept, *args], timed, timed)
        if _asserts(statement) and _says_time(statement, timed):
            yield ast.unparse(statement)
        for part in ("body", "handlers", "orelse", "finalbody"):
            yield from _read(getattr(statement, part, []), timed)


def _give(
    target: ast.AST, values: list[ast.AST], known: set[str], timed: set[str]
) -> None:
    """Note whether the names of a target say a time from now on."""
    says_time = any(_says_time(value, known) for value in values)
    match target:
        case ast.Name(id=name):
            (timed.add if says_time else timed.discard)(name)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                _give(part, values, known, timed)
        case ast.Starred(value=part):
            _give(part, values, known, timed)
        case ast.Subscript(value=held):
            _give(held, [held, *values], known, timed)


def _says_time(node: ast.AST, timed: set[str]) -> bool:
    """Whether a clock is called in it, or a name that says a time is read.

    The names that a comprehension gives are its own.
    """
    parts = ast.walk(node)
    inner = [p.target for p in parts if isinstance(p, ast.comprehension)]
    own = {name for target in inner for name in _plain_names(target)}
    read = _plain_names(node) - own
    return not timed.isdisjoint(read) or not CLOCKS.isdisjoint(called(node))


def _plain_names(node: ast.AST) -> set[str]:
    """The names in it, but not what follows a dot."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _returns(node: ast.AST) -> bool:
    """Whether this is how a function hands out what it has found."""
    return isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom))


def _asserts(node: ast.AST) -> bool:
    """Whether it is an assertion, or calls one such as assert_close."""
    match node:
        case ast.Assert():
            return True
        case ast.Expr(value=ast.Call() as call):
            return next(called(call), "").startswith("assert")
    return False


# --- the lists that the Makefile asks for ------------------------------------


def is_quick(notebook: NotebookNode) -> bool:
    """Whether no clock is read: what measures time takes most of it, and
    prints least that could differ."""
    return not calls(CLOCKS, notebook)


KINDS: dict[str, Callable[[NotebookNode], bool]] = {
    "corpora": needs_corpus,
    "training": partial(calls, TRAINING),
    "shared": lambda notebook: calls(SHARED, notebook) and is_quick(notebook),
}


def main() -> None:
    """Print the notebooks of one kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    wanted = KINDS[parser.parse_args().kind]
    for path in find_notebooks():
        if wanted(nbformat.read(path, as_version=4)):
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
