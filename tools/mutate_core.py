"""Break the package's core at random, and see which tests notice.

    python -m tools.mutate_core draw            write tests/mutants.json
    python -m tools.mutate_core run             run the tests on each
    python -m tools.mutate_core run --only 3 17 on these

A mutant is one small fault in one line: another operator or comparison, a
constant off by one, a condition turned round, a keyword argument left out.
``run`` copies the repository, puts one mutant after another into the copy, and
runs the test files that import its module with ``-x``; only if they all pass,
every test. It prints a line for each mutant, and stores nothing. A mutant that
changes no result at all is moved to ``equivalent`` in the list, by hand, with
the reason, and the next one drawn takes its place.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

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
    "models/vit",
    "models/bert",
    "models/recurrent",
    "training/loss",
    "training/chunked_loss",
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
    "training/checkpoint",
    "training/int8",
    "training/run/retention",
    "training/run/training",
)
"""Modules of the package, in the order in which mutants are drawn."""
COUNT, SEED = 50, 0
SECONDS = 900
"""After which a test run counts as failed: the mutant loops."""
HARMLESS = ("strict", "non_blocking")
"""Keyword arguments that change no result of a call that is right."""
SWAPS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
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


def places_in(source: str) -> Iterator[tuple[ast.AST, str]]:
    """Nodes inside functions, each with what takes its place."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for statement in function.body:
            for node in reached(statement):
                for text in changes(node, source):
                    yield node, text


def reached(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is below it, but for messages and annotations."""
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


def changes(node: ast.AST, source: str) -> list[str]:
    """What may stand in a node's place."""

    def text(part: ast.AST) -> str:
        return ast.get_source_segment(source, part) or ""

    match node:
        case ast.BinOp() if type(node.op) in SWAPS:
            swapped = SWAPS[type(node.op)]
            return [f"({text(node.left)}) {swapped} ({text(node.right)})"]
        case ast.Compare() if type(node.ops[0]) in SWAPS:
            swapped = SWAPS[type(node.ops[0])]
            if len(node.ops) == 1:
                right = text(node.comparators[0])
                return [f"({text(node.left)}) {swapped} ({right})"]
        case ast.BoolOp():
            word = " or " if isinstance(node.op, ast.And) else " and "
            return [word.join(f"({text(value)})" for value in node.values)]
        case ast.UnaryOp() if isinstance(node.op, ast.Not | ast.Invert):
            return [f"({text(node.operand)})"]
        case ast.UnaryOp() if isinstance(node.op, ast.USub):
            return [f"({text(node.operand)})"]
        case ast.Constant(value=bool()):
            return [str(not node.value)]
        case ast.Constant(value=int()):
            return [str(node.value + 1)]
        case ast.Constant(value=float()):
            return [str(2 * node.value)]
        case ast.If() | ast.IfExp():
            return [f"not ({text(node.test)})"]
        case ast.Call() if node.keywords:
            return [
                re.sub(
                    rf",?\s*{re.escape(text(keyword))}(?=\s*[,)])",
                    "",
                    text(node),
                    count=1,
                )
                for keyword in node.keywords
                if keyword.arg and keyword.arg not in HARMLESS
            ]
    return []


def mutants_of(module: str) -> list[dict]:
    """Every mutant of a module that is one line long and still Python."""
    path = f"{PACKAGE}/{module}.py"
    source = (ROOT / path).read_text("utf-8")
    lines = source.splitlines()
    found = {}
    for node, new in places_in(source):
        if isinstance(node, ast.If | ast.IfExp):
            node = node.test
        if node.lineno != node.end_lineno:
            continue
        line = lines[node.lineno - 1].encode()
        changed = line[: node.col_offset] + new.encode()
        changed = (changed + line[node.end_col_offset :]).decode()
        mutant = {
            "file": path,
            "line": node.lineno,
            "before": line.decode().strip(),
            "after": changed.strip(),
        }
        if mutant["before"] != mutant["after"]:
            try:
                compile(mutated(source, mutant), path, "exec")
            except (SyntaxError, ValueError):
                continue
            found[changed, node.lineno] = mutant
    return list(found.values())


def mutated(source: str, mutant: dict) -> str:
    """The source with a mutant in it.

    Raises:
        ValueError: the line is not what it was when the mutant was drawn.
    """
    lines = source.splitlines(keepends=True)
    places = [
        number
        for number, line in enumerate(lines)
        if line.strip() == mutant["before"]
    ]
    if not places:
        raise ValueError(f"{mutant['file']} has no line {mutant['before']!r}")
    number = min(places, key=lambda n: abs(n + 1 - mutant["line"]))
    lines[number] = lines[number].replace(mutant["before"], mutant["after"])
    return "".join(lines)


def drawn() -> Iterator[dict]:
    """Mutants without end of the modules in turn, in the order of the seed."""
    draw = random.Random(SEED)
    pools = []
    for module in CORE:
        mutants = mutants_of(module)
        draw.shuffle(mutants)
        pools.append(mutants)
    while any(pools):
        for pool in pools:
            if pool:
                yield pool.pop()


def draw_list() -> None:
    """Write the list; what is known to be equivalent stays named."""
    known = []
    if LIST.is_file():
        known = json.loads(LIST.read_text("utf-8"))["equivalent"]
    told = {(m["file"], m["line"], m["after"]) for m in known}
    fresh = [
        m for m in drawn() if (m["file"], m["line"], m["after"]) not in told
    ]
    values = {"mutants": fresh[:COUNT], "equivalent": known}
    text = json.dumps(values, indent=1, ensure_ascii=False)
    LIST.write_text(text + "\n", "utf-8")


def tests_of(module: str, root: Path) -> list[str]:
    """The test file named after a module, then those that import it."""
    package, _, name = f"{PACKAGE}/{module}".replace("/", ".").rpartition(".")
    pattern = re.compile(
        rf"(from|import) {re.escape(package)}\.{name}\b|"
        rf"from {re.escape(package)} import [^\n]*\b{name}\b"
    )
    found = [
        path.relative_to(root).as_posix()
        for path in sorted((root / "tests").rglob("test_*.py"))
        if path.stem == f"test_{name}"
        or (
            pattern.search(path.read_text("utf-8"))
            and "browser" not in path.parts
        )
    ]
    return sorted(found, key=lambda file: f"test_{name}.py" not in file)


def first_failure(root: Path, words: list[str]) -> str:
    """The first test that fails; "" if all pass."""
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(root),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no"]
    try:
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", *words],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "no end"
    if done.returncode == 0:
        return ""
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[0] if failed else done.stdout[-300:]


def judge(mutant: dict, root: Path, whole: list[str]) -> str:
    """Which test notices a mutant that is put into the copy."""
    path = root / mutant["file"]
    source = path.read_text("utf-8")
    module = mutant["file"].removeprefix(f"{PACKAGE}/").removesuffix(".py")
    path.write_text(mutated(source, mutant), "utf-8")
    try:
        files = tests_of(module, root)
        failure = first_failure(root, files) if files else ""
        return failure or (first_failure(root, whole) if whole else "")
    finally:
        path.write_text(source, "utf-8")


def run(only: list[int], whole: list[str], source: Path) -> int:
    """Judge the listed mutants; how many no test notices."""
    mutants = json.loads(LIST.read_text("utf-8"))["mutants"]
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".venv", ".git", "outputs", "__pyc*")
        shutil.copytree(source, root, ignore=ignored)
        for number, mutant in enumerate(mutants):
            if only and number not in only:
                continue
            failure = judge(mutant, root, whole)
            survived += not failure
            where = f"{mutant['file']}:{mutant['line']}"
            change = f"{mutant['before']}  ->  {mutant['after']}"
            print(f"{number:3} {where}  {change}", flush=True)
            print(f"      {failure or 'SURVIVED'}", flush=True)
    print(f"{survived} of {len(only or mutants)} survived")
    return survived


def main() -> int:
    """Draw or run; 1 if a mutant survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["draw", "run"])
    parser.add_argument("--only", nargs="*", type=int, default=[])
    parser.add_argument("--root", type=Path, default=ROOT, help="tests of")
    parser.add_argument(
        "--whole",
        nargs="*",
        default=["-n", "2", "--dist", "loadfile"],
        help="what pytest is given for survivors; nothing to leave it out",
    )
    options = parser.parse_args()
    if options.what == "draw":
        draw_list()
        return 0
    return 1 if run(options.only, options.whole, options.root) else 0


if __name__ == "__main__":
    sys.exit(main())
