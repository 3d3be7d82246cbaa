"""Break the solutions at random, and see what the checks say.

    python -m tools.mutate_exercises                   some 300 mutants
    python -m tools.mutate_exercises --only causal_mask --show unknown

A mutant is a solution with one thing changed: an operator, a comparison, a
constant, an axis, a call left out, two arguments swapped. It is run on the
check's cases and on many more random ones. The exit status is 1 if the check
calls a mutant correct that differs from the solution on any of them.

``equivalent``  does what the solution does, everywhere
``escaped``     differs, and is called correct: the check needs a case
``named``       is one of the catalogue's misconceptions
``slip``        is a mistake of form: a shape, a kind of number, a gradient
``error``       raises an error, ends in no time or wants too much memory
``unknown``     is wrong in a way that the catalogue does not know
"""

import argparse
import ast
import copy
import multiprocessing
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import torch

from course_exercises.contents import EXERCISES, find
from course_exercises.engine.diagnose import diagnose
from course_exercises.engine.exercise import Exercise, Implementation
from course_exercises.engine.match import is_right
from course_exercises.engine.outcome import observe

POOL = 200
"""Random inputs, none of which a check tries."""
FIRST_SEED = 10_000
SECONDS = 20.0
MEMORY = 8 << 30  # bytes of a process, torch included
KINDS = ("equivalent", "escaped", "named", "slip", "error", "unknown")
OTHERS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
NAMES = {
    "tril": "triu",
    "any": "all",
    "all": "any",
    "sum": "mean",
    "mean": "sum",
    "max": "min",
    "amax": "amin",
    "argmax": "argmin",
    "softmax": "log_softmax",
    "log_softmax": "softmax",
    "sin": "cos",
    "cos": "sin",
    "sqrt": "square",
    "ones": "zeros",
    "zeros": "ones",
    "view": "transpose",
    "transpose": "view",
    "exp": "log",
    "log": "exp",
    "var": "std",
    "std": "var",
}
"""A method or function, and what it is taken for."""


@dataclass(frozen=True)
class Mutant:
    """One change of one solution."""

    exercise: str
    source: str
    change: str
    """The line that was changed, before and after."""


# --- making them -------------------------------------------------------------


def mutants_of(exercise: Exercise) -> list[Mutant]:
    """Every mutant of a solution that differs from it in its text."""
    tree = ast.parse(exercise.source)
    plain = ast.unparse(tree)
    found = {}
    for changed in _changed_trees(tree):
        try:
            source = ast.unparse(ast.fix_missing_locations(changed))
            compile(source, "<mutant>", "exec")
        except (SyntaxError, ValueError):
            continue
        if source != plain:
            change = _difference(plain, source)
            found[source] = Mutant(exercise.name, source, change)
    return list(found.values())


def _difference(before: str, after: str) -> str:
    one, other = set(before.splitlines()), set(after.splitlines())
    gone = " ".join(s.strip() for s in before.splitlines() if s not in other)
    come = " ".join(s.strip() for s in after.splitlines() if s not in one)
    return f"{gone}  ->  {come or '(nothing)'}"


def _changed_trees(tree: ast.Module) -> Iterator[ast.Module]:
    """The tree with each of its changeable nodes changed, one at a time."""
    places = [
        number
        for number, node in enumerate(ast.walk(tree))
        if id(node) in _in_bodies(tree)
    ]
    for number in places:
        count = len(_changes(_nodes(tree)[number]))
        for which in range(count):
            changed = copy.deepcopy(tree)
            node = _nodes(changed)[number]
            _replace(changed, node, _changes(node)[which])
            yield changed


def _nodes(tree: ast.AST) -> list[ast.AST]:
    return list(ast.walk(tree))


def _in_bodies(tree: ast.Module) -> set[int]:
    """Nodes of what functions do: no signatures, no docstrings."""
    inside: set[int] = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        start = 1 if ast.get_docstring(function) else 0
        for statement in function.body[start:]:
            inside |= {id(node) for node in ast.walk(statement)}
    return inside


def _changes(node: ast.AST) -> list[ast.AST]:
    """What may stand in a node's place."""
    match node:
        case ast.Constant():
            return [ast.Constant(value) for value in _constants(node.value)]
        case ast.BinOp() | ast.BoolOp():
            swapped = [_with(node, op=other()) for other in _others(node.op)]
            if isinstance(node, ast.BinOp):
                swapped += [
                    _with(node, left=node.right, right=node.left),
                    node.left,
                    node.right,
                ]
            return swapped
        case ast.Compare():
            [first, *rest] = node.ops
            return [
                _with(node, ops=[other(), *rest]) for other in _others(first)
            ]
        case ast.UnaryOp():
            return [node.operand]
        case ast.Call():
            return _changed_calls(node)
        case ast.IfExp():
            return [_with(node, body=node.orelse, orelse=node.body)]
        case ast.If():
            return [_with(node, test=ast.UnaryOp(ast.Not(), node.test))]
        case ast.Subscript():
            return [node.value]
        case ast.Slice():
            return [
                _with(node, **{end: None})
                for end in ("lower", "upper")
                if getattr(node, end) is not None
            ]
        case ast.Tuple() if len(node.elts) > 1:
            return [_with(node, elts=elements) for elements in _mixed(node)]
        case ast.AugAssign() | ast.Expr():
            return [ast.Pass()]
    return []


def _mixed(node: ast.Tuple) -> list[list[ast.expr]]:
    """Neighbours swapped, and each element left out."""
    elements, places = node.elts, range(len(node.elts))
    swapped = [
        [*elements[:i], elements[i + 1], elements[i], *elements[i + 2 :]]
        for i in places[:-1]
    ]
    return swapped + [elements[:i] + elements[i + 1 :] for i in places]


def _constants(value: object) -> list[object]:
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1, value - 1, -value] if value else [1, -1]
        case float():
            return [-value, 2 * value, 0.0]
    return []


def _others(operator: ast.AST) -> tuple[type[ast.AST], ...]:
    return OTHERS.get(type(operator), ())


def _changed_calls(node: ast.Call) -> list[ast.AST]:
    """Left out, under another name, with arguments swapped or dropped."""
    changed: list[ast.AST] = []
    function = node.func
    if isinstance(function, ast.Attribute):
        changed.append(function.value)
        if function.attr in NAMES:
            other = _with(function, attr=NAMES[function.attr])
            changed.append(_with(node, func=other))
    if node.args:
        changed.append(node.args[0])
    if len(node.args) > 1:
        first, second, *rest = node.args
        changed.append(_with(node, args=[second, first, *rest]))
        changed.append(_with(node, args=node.args[:-1]))
    for number in range(len(node.keywords)):
        kept = node.keywords[:number] + node.keywords[number + 1 :]
        changed.append(_with(node, keywords=kept))
    return changed


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return
            if isinstance(value, list) and any(v is old for v in value):
                value[:] = [new if v is old else v for v in value]
                return


def choose(count: int, seed: int, only: list[str]) -> list[Mutant]:
    """As many mutants, spread evenly over the exercises."""
    draw = random.Random(seed)
    waiting = []
    for name in only or EXERCISES:
        mutants = mutants_of(find(name))
        draw.shuffle(mutants)
        waiting.append(mutants)
    chosen: list[Mutant] = []
    while len(chosen) < count and any(waiting):
        for mutants in waiting:
            if mutants and len(chosen) < count:
                chosen.append(mutants.pop())
    return sorted(chosen, key=lambda m: list(EXERCISES).index(m.exercise))


# --- judging them ------------------------------------------------------------


def judge(mutant: Mutant) -> tuple[str, str]:
    """What becomes of a mutant: one of ``KINDS``, and the check's word."""
    exercise = find(mutant.exercise)
    candidate = implementation(exercise, mutant.source)
    verdict = diagnose(exercise, candidate)
    if verdict.is_correct:
        escaped = differs(exercise, candidate)
        return ("escaped" if escaped else "equivalent"), escaped
    kind = {"misconception": "named", "limit": "error"}
    return kind.get(verdict.kind, verdict.kind), verdict.mistake


def implementation(exercise: Exercise, source: str) -> Implementation:
    """What a source defines, among the names of the exercise's module."""
    names = dict(vars(sys.modules[exercise.solution.__module__]))
    exec(compile(source, "<mutant>", "exec"), names)
    return names[exercise.name]


def differs(exercise: Exercise, candidate: Implementation) -> str:
    """A random input on which a mutant is not the solution; else nothing."""
    for seed in range(FIRST_SEED, FIRST_SEED + POOL):
        case = exercise.drawn(seed)
        found, expected = (
            observe(exercise, one, case)
            for one in (candidate, exercise.solution)
        )
        if not is_right(found, expected, exercise.tolerance):
            return f"differs on the random input of seed {seed}"
    return ""


def prepare() -> None:
    """In the process that runs mutants."""
    torch.set_num_threads(1)
    with suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def judge_all(mutants: list[Mutant]) -> Iterator[tuple[Mutant, str, str]]:
    """Judge in a process of its own; one that does not end is stopped."""
    context = multiprocessing.get_context("spawn")
    pool = context.Pool(1, initializer=prepare)
    for mutant in mutants:
        try:
            kind, word = pool.apply_async(judge, [mutant]).get(SECONDS)
        except multiprocessing.TimeoutError:
            pool.terminate()
            pool = context.Pool(1, initializer=prepare)
            kind, word = "error", "time"
        yield mutant, kind, word
    pool.terminate()


def main() -> int:
    """Judge them, print a table; 1 if one has escaped."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], metavar="EXERCISE")
    parser.add_argument(
        "--show", nargs="*", default=[], choices=KINDS, metavar="KIND"
    )
    options = parser.parse_args()
    table: dict[str, Counter[str]] = {}
    mutants = choose(options.count, options.seed, options.only)
    for mutant, kind, word in judge_all(mutants):
        table.setdefault(mutant.exercise, Counter())[kind] += 1
        if kind in ("escaped", *options.show):
            print(f"{kind}: {mutant.exercise}: {mutant.change}  [{word}]")
    return report(table)


def report(table: dict[str, Counter[str]]) -> int:
    """Print how many of each kind there were; 1 if one has escaped."""
    total = sum(table.values(), Counter())
    print(f"{'':28}{'mutants':>9}", *(f"{kind:>11}" for kind in KINDS))
    for name, counts in [*table.items(), ("together", total)]:
        numbers = (f"{counts[kind]:>11}" for kind in KINDS)
        print(f"{name:28}{counts.total():>9}", *numbers)
    wrong = total.total() - total["equivalent"]
    told = total["named"] + total["slip"]
    if wrong:
        print(
            f"of {wrong} that are wrong, {wrong - total['escaped']} were "
            f"refused; {total['named'] / wrong:.0%} were named, "
            f"{told / wrong:.0%} with mistakes of form"
        )
    return 1 if total["escaped"] else 0


if __name__ == "__main__":
    sys.exit(main())
