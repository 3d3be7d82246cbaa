"""The parts of ``my_transformer.py``, and the file itself: begun, and done.

Each part is an exercise. The file that a learner begins with holds the
exercises' stubs, and the finished one their solutions, so there is one source
for both. It imports torch and the standard library alone.
"""

import ast
import re
import textwrap
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path

from course_exercises.engine.exercise import Exercise
from course_exercises.language import beside, told
from course_exercises.names import MODULES

FILE = "my_transformer.py"
"""The name that the course gives to the learner's file."""
PARTS = {
    "02": ("Embedding",),
    "03": ("sinusoidal_encoding", "add_positions"),
    "04": ("scaled_dot_product_attention",),
    "05": ("stable_softmax",),
    "06": ("padding_mask", "causal_mask", "masked_softmax"),
    "07": ("split_heads", "merge_heads", "MultiHead"),
    "08": ("LayerNorm", "AddNorm"),
    "09": ("FeedForward",),
    "10": ("MyEncoderLayer", "MyDecoderLayer", "MyStack", "MyTransformer"),
    "11": ("source_batch",),
    "12": ("teacher_forcing", "smoothed_loss", "learning_rate", "train_step"),
    "13": ("greedy_search",),
    "14": ("clipped_matches", "bleu"),
    "22": (
        "RMSNorm",
        "rotary",
        "GatedFeedForward",
        "grouped_attention",
        "GroupedHeads",
        "MyModernLayer",
        "MyDecoder",
    ),
}
"""The parts by chapter, in the order of the file."""
DECODER = "22"
"""The chapter whose parts are a decoder of today; the rest is a translator."""
NAMES = tuple(chain.from_iterable(PARTS.values()))
"""All parts, in the order of the file."""
WIDTH = 100
"""Columns of the file."""
_TENSOR = re.compile(r'(Float|Int|Bool)\[\s*Tensor,\s*"\s*([^"]*?)\s*",?\s*\]')
_DEFAULT = re.compile(r"(\w+: [^=,]+)=")
_KINDS = {"Float": "", "Int": "int ", "Bool": "bool "}


@cache
def exercise_of(name: str) -> Exercise:
    """The exercise of a part."""
    return import_module(_modules()[name]).EXERCISE


def chapter_of(name: str) -> str:
    """The number of the chapter that asks for a part."""
    return next(number for number in PARTS if name in PARTS[number])


def stub(name: str) -> str:
    """What a learner begins a part with."""
    return _plain(exercise_of(name).stub)


def solution(name: str) -> str:
    """A finished part."""
    return _plain(exercise_of(name).source)


def stubs_text() -> str:
    """The text of the file that a learner begins with."""
    return _text(map(stub, NAMES))


@cache
def solution_text() -> str:
    """The text of the finished file."""
    return _text(map(solution, NAMES))


def text_of(names: Iterable[str]) -> str:
    """A module that holds finished parts, and what they import."""
    imports = _frame("begin").partition('"""\n\n')[2]
    return "\n\n\n".join([imports, *map(solution, names)]) + "\n"


@cache
def needs(name: str) -> tuple[str, ...]:
    """The parts that a part's solution uses, also through others.

    They stand in the order in which they can be checked.
    """
    used = {
        node.id
        for node in ast.walk(ast.parse(solution(name)))
        if isinstance(node, ast.Name) and node.id in NAMES and node.id != name
    }
    found = chain.from_iterable((*needs(part), part) for part in sorted(used))
    return tuple(dict.fromkeys(found))


def in_order_of_need() -> list[str]:
    """All parts, each after those that it uses."""
    found = chain.from_iterable((*needs(name), name) for name in NAMES)
    return list(dict.fromkeys(found))


@cache
def _modules() -> dict[str, str]:
    return {
        name: at for found in MODULES.values() for name, at in found.items()
    }


def _text(parts: Iterable[str]) -> str:
    """The file with these texts of all parts, in order."""
    text, sources = [_frame("begin")], iter(parts)
    for number, names in PARTS.items():
        title = f"# --- chapter {number} "
        text.append(title + "-" * (WIDTH - len(title)))
        text += [next(sources) for _ in names]
    return "\n\n\n".join([*text, _frame("end")]) + "\n"


def _frame(name: str) -> str:
    """What stands before the parts, or behind them."""
    path = Path(__file__).with_name(f"{name}.py.txt")
    return told(path.read_text("utf-8"), beside(path)).strip()


def _plain(source: str) -> str:
    """Annotations of shapes as comments: the file needs no jaxtyping."""
    lines = source.splitlines()
    functions = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    ]
    for node in sorted(functions, key=lambda node: -node.lineno):
        first, last = node.lineno - 1, node.body[0].lineno - 1
        lines[first:last] = _header(node)
    return "\n".join(lines)


def _header(node: ast.FunctionDef) -> list[str]:
    """The first lines of a function, with the shapes in comments below."""
    indent, shapes = " " * node.col_offset, []
    for argument in [*node.args.args, node.args.vararg]:
        if argument is not None and argument.annotation:
            argument.annotation, axes = _without_shapes(argument.annotation)
            shapes += [f"{argument.arg}: {axes}"] if axes else []
    returns, axes = _without_shapes(node.returns or ast.Constant(None))
    shapes += [f"returns {axes}"] if axes else []
    arguments = _DEFAULT.sub(r"\1 = ", ast.unparse(node.args))
    end = f") -> {ast.unparse(returns)}:" if node.returns else "):"
    lines = [f"{indent}def {node.name}({arguments}{end}"]
    if len(lines[0]) > WIDTH:
        inner = textwrap.indent(
            textwrap.fill(
                arguments.replace(" ", "\xa0").replace(",\xa0", ", "),
                WIDTH - 8,
            ),
            f"{indent}    ",
        ).replace("\xa0", " ")
        lines = [f"{indent}def {node.name}(", *inner.splitlines()]
        lines.append(indent + end)
    return lines + [f"{indent}    # {shape}" for shape in shapes]


def _without_shapes(annotation: ast.expr) -> tuple[ast.expr, str]:
    """An annotation, and its shapes in words."""
    text = ast.unparse(annotation).replace("'", '"')
    shapes = [
        f"{_KINDS[kind]}({', '.join(axes.split())})"
        for kind, axes in _TENSOR.findall(text)
    ]
    plain = ast.parse(_TENSOR.sub("Tensor", text), mode="eval").body
    is_call = text.startswith("Callable")
    return plain, (" -> " if is_call else ", ").join(shapes)
