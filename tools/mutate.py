"""Mutation testing: break code at random, and see what notices.

    python -m tools.mutate draw             write tests/mutants.json
    python -m tools.mutate run              run the tests on each
    python -m tools.mutate run --only 3 17  on these
    python -m tools.mutate exercises        check mutants of the solutions

A mutant is one small fault in one line: another operator or comparison, a
constant off by one, a negated condition, a keyword argument left out, two
arguments swapped. ``run`` puts one after another into a copy of the
repository, and runs the test files that import its module with ``-x``; only if
they all pass, every test. A mutant that changes no result at all is moved to
``equivalent`` in the list, by hand, with the reason, and the next one drawn
takes its place. ``exercises`` prints each mutant of a solution that its check
calls correct although a random input shows a difference.
"""

import argparse
import ast
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from course_exercises.contents import EXERCISES, find
from course_exercises.engine.exercise import Exercise, Implementation
from course_exercises.engine.match import is_right
from course_exercises.engine.outcome import observe
from course_exercises.payload import pack
from course_exercises.process import Limits, verdict_on

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "transformer_course"
LIST = ROOT / "tests" / "mutants.json"
CORE = (
    "models/attention",
    "models/masks",
    "models/positional_encoding",
    "models/layers",
    "models/transformer",
    "models/modern",
    "models/modern_parts",
    "models/rolling_cache",
    "models/vit",
    "models/bert",
    "models/recurrent",
    "training/loss",
    "fast/chunked_loss",
    "training/loop",
    "training/optimizers",
    "decoding/search",
    "decoding/generate",
    "decoding/translate",
    "batches/pairs",
    "batches/buckets",
    "batches/masked",
    "data/tokenizer",
    "evaluation/bleu",
    "checkpoints/checkpoint",
    "checkpoints/int8",
    "training/run/checkpoints",
    "training/run/training",
)
"""Modules of the package, in the order in which mutants are drawn."""
COUNT, SEED = 50, 0
TEST_SECONDS = 900
"""Time limit of a test run: beyond it the mutant loops."""
RANDOM_INPUTS = range(10_000, 10_200)
"""Seeds of inputs that no check tries."""
HARMLESS = ("strict", "non_blocking")
"""Keyword arguments that change no result of a call that is right."""
SWAPS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
    ast.MatMult: "*",
    ast.Pow: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}

Mutant = dict[str, Any]
"""A changed line: its number ``line``, and the text ``before`` and
``after``."""


# --- mutants of a source -----------------------------------------------------


def mutants_of(source: str) -> list[Mutant]:
    """Every mutant of a source that is one line long and still Python."""
    lines, found = source.splitlines(), {}
    for node, new in places_in(source):
        if node.lineno != node.end_lineno:
            continue
        line = lines[node.lineno - 1].encode()
        changed = line[: node.col_offset] + new.encode()
        changed = (changed + line[node.end_col_offset :]).decode()
        mutant = {
            "line": node.lineno,
            "before": line.decode().strip(),
            "after": changed.strip(),
        }
        if mutant["before"] != mutant["after"]:
            try:
                compile(mutated(source, mutant), "<mutant>", "exec")
            except (SyntaxError, ValueError):
                continue
            found[changed, node.lineno] = mutant
    return list(found.values())


def mutated(source: str, mutant: Mutant) -> str:
    """The source with a mutant in it, in the line that is nearest.

    Raises:
        ValueError: no line is what it was when the mutant was drawn.
    """
    lines = source.splitlines(keepends=True)
    places = [
        number
        for number, line in enumerate(lines)
        if line.strip() == mutant["before"]
    ]
    if not places:
        raise ValueError(f"there is no line {mutant['before']!r}")
    number = min(places, key=lambda n: abs(n + 1 - mutant["line"]))
    lines[number] = lines[number].replace(mutant["before"], mutant["after"])
    return "".join(lines)


def places_in(source: str) -> Iterator[tuple[ast.AST, str]]:
    """Nodes inside functions, each with a replacement text."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                for node in reached(statement):
                    yield from changes(node, source)


def reached(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, except messages and annotations."""
    if isinstance(node, ast.JoinedStr | ast.Raise):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.keyword) and child.arg in HARMLESS:
                continue
            if isinstance(child, ast.AST):
                yield from reached(child)


def changes(node: ast.AST, source: str) -> Iterator[tuple[ast.AST, str]]:
    """Replacements of a node, or of its condition."""

    def text(part: ast.AST) -> str:
        return ast.get_source_segment(source, part) or ""

    match node:
        case ast.BinOp(left, op, right) if type(op) in SWAPS:
            yield node, f"({text(left)}) {SWAPS[type(op)]} ({text(right)})"
        case ast.Compare(left, [op], [right]) if type(op) in SWAPS:
            yield node, f"({text(left)}) {SWAPS[type(op)]} ({text(right)})"
        case ast.BoolOp(op, values):
            word = " or " if isinstance(op, ast.And) else " and "
            yield node, word.join(f"({text(value)})" for value in values)
        case ast.UnaryOp(ast.Not() | ast.Invert() | ast.USub(), operand):
            yield node, f"({text(operand)})"
        case ast.Constant(value=bool()):
            yield node, str(not node.value)
        case ast.Constant(value=int()):
            yield node, str(node.value + 1)
        case ast.Constant(value=float()):
            yield node, str(2 * node.value)
        case ast.If(test) | ast.IfExp(test):
            yield test, f"not ({text(test)})"
        case ast.Call(function, arguments, keywords):
            if len(arguments) > 1:
                first, second, *rest = map(text, [*arguments, *keywords])
                swapped = ", ".join([second, first, *rest])
                yield node, f"{text(function)}({swapped})"
            for keyword in keywords:
                if keyword.arg and keyword.arg not in HARMLESS:
                    left = [k for k in keywords if k is not keyword]
                    given = ", ".join(map(text, [*arguments, *left]))
                    yield node, f"{text(function)}({given})"


def taking_turns(pools: Iterable[list[Mutant]]) -> Iterator[Mutant]:
    """Mutants of each pool in turn, in an order drawn by the seed."""
    draw, pools = random.Random(SEED), list(pools)
    for pool in pools:
        draw.shuffle(pool)
    for row in itertools.zip_longest(*pools):
        yield from filter(None, row)


# --- the package, and its tests ----------------------------------------------


def draw_list() -> None:
    """Write the list; mutants known as equivalent stay in it as such."""
    known = json.loads(LIST.read_text("utf-8"))["equivalent"]
    listed = {(m["file"], m["line"], m["after"]) for m in known}
    files = [f"{PACKAGE}/{module}.py" for module in CORE]
    pools = [
        [{"file": file} | mutant for mutant in mutants_of(source)]
        for file in files
        for source in [(ROOT / file).read_text("utf-8")]
    ]
    fresh = [
        m
        for m in taking_turns(pools)
        if (m["file"], m["line"], m["after"]) not in listed
    ]
    values = {"mutants": fresh[:COUNT], "equivalent": known}
    text = json.dumps(values, indent=1, ensure_ascii=False)
    LIST.write_text(text + "\n", "utf-8")


def tests_of(file: str, root: Path) -> list[str]:
    """The test files that import a module, the one of its name first."""
    package, _, name = (
        file.removesuffix(".py").replace("/", ".").rpartition(".")
    )
    pattern = re.compile(
        rf"(from|import) {re.escape(package)}\.{name}\b|"
        rf"from {re.escape(package)} import [^\n]*\b{name}\b"
    )
    found = [
        path.relative_to(root).as_posix()
        for path in sorted((root / "tests").glob("test_*.py"))
        if path.stem == f"test_{name}"
        or pattern.search(path.read_text("utf-8"))
    ]
    return sorted(found, key=lambda test: f"test_{name}.py" not in test)


def first_failure(root: Path, words: list[str]) -> str:
    """The first test that fails; "" if all pass."""
    environment = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "--tb=no"]
    try:
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", *words],
            cwd=root,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=TEST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "no end"
    if done.returncode == 0:
        return ""
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[0] if failed else done.stdout[-300:]


def run(only: list[str]) -> int:
    """Test the listed mutants; the number that no test notices."""
    mutants = json.loads(LIST.read_text("utf-8"))["mutants"]
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".venv", ".git", "outputs", "__pyc*")
        shutil.copytree(ROOT, root, ignore=ignored)
        for number in map(int, only or range(len(mutants))):
            mutant = mutants[number]
            path = root / mutant["file"]
            source = path.read_text("utf-8")
            path.write_text(mutated(source, mutant), "utf-8")
            files = tests_of(mutant["file"], root)
            failure = files and first_failure(root, files)
            failure = failure or first_failure(root, ["-n", "2"])
            path.write_text(source, "utf-8")
            survived += not failure
            print(f"{number:3} {mutant['file']}:{mutant['line']}")
            print(f"      {mutant['before']}  ->  {mutant['after']}")
            print(f"      {failure or 'SURVIVED'}", flush=True)
    print(f"{survived} survived")
    return survived


# --- the exercises, and their checks -----------------------------------------


def implementation(exercise: Exercise, source: str) -> Implementation:
    """Run a source among the names of the exercise's module."""
    names = dict(vars(sys.modules[exercise.solution.__module__]))
    exec(compile(source, "<mutant>", "exec"), names)
    return names[exercise.name]


def differs(exercise: Exercise, candidate: Implementation) -> bool:
    """Whether a random input tells a mutant from the solution."""
    cases = map(exercise.drawn, RANDOM_INPUTS)
    return not all(
        is_right(
            observe(exercise, candidate, case),
            observe(exercise, exercise.solution, case),
            exercise.tolerance,
        )
        for case in cases
    )


def check_exercises(only: list[str], count: int) -> int:
    """Check mutants of the solutions; the number wrongly called correct."""
    pools = [
        [{"file": name} | mutant for mutant in mutants_of(find(name).source)]
        for name in only or EXERCISES
    ]
    verdicts: Counter[str] = Counter()
    for mutant in itertools.islice(taking_turns(pools), count):
        exercise = find(mutant["file"])
        candidate = implementation(exercise, mutated(exercise.source, mutant))
        verdict = verdict_on(exercise, pack(candidate), {}, Limits())
        kind = verdict.kind
        if verdict.is_correct:
            escaped = differs(exercise, candidate)
            kind = "escaped" if escaped else "equivalent"
        verdicts[kind] += 1
        change = f"{mutant['before']}  ->  {mutant['after']}"
        print(f"{exercise.name}: {change}  [{kind} {verdict.mistake}]")
    print(", ".join(f"{kind}: {n}" for kind, n in verdicts.items()))
    return verdicts["escaped"]


def main() -> int:
    """Draw, run or check; 1 if a mutant survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["draw", "run", "exercises"])
    parser.add_argument(
        "--only", nargs="*", default=[], help="numbers, or exercises"
    )
    parser.add_argument("--count", type=int, default=100, help="of exercises")
    options = parser.parse_args()
    if options.what == "draw":
        draw_list()
        return 0
    if options.what == "run":
        return 1 if run(options.only) else 0
    return 1 if check_exercises(options.only, options.count) else 0


if __name__ == "__main__":
    sys.exit(main())
