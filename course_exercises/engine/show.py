"""Values as a reader can take them in: short, rounded, side by side."""

import inspect
import re
import textwrap
from typing import Any

import numpy as np
from torch import Tensor, nn

from course_exercises.engine.values import apart

WIDTH = 76
COLUMN = 36
FEW = 40
"""Numbers that are printed one by one; of more, the shape is said."""


def kind(value: Any) -> str:
    """The kind of a value, in words."""
    if isinstance(value, Tensor):
        return f"a tensor of {dtype(value)}, shape {shape(value)}"
    if isinstance(value, np.ndarray):
        return "a NumPy array"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    if value is None:
        return "None"
    if isinstance(value, str | int | float | bool):
        name = type(value).__name__
        return f"an {name}" if name == "int" else f"a {name}"
    return f"an object of class {type(value).__name__}"


def dtype(tensor: Tensor) -> str:
    """The kind of its numbers: ``float32``."""
    return str(tensor.dtype).removeprefix("torch.")


def shape(tensor: Tensor) -> str:
    """``(2, 3)``, as it is written in code."""
    return str(tuple(tensor.shape))


def short(value: Any, width: int = WIDTH, digits: int = 3) -> str:
    """A value in a few lines."""
    if isinstance(value, Tensor):
        return _short_tensor(value, width, digits)
    if isinstance(value, nn.Module):
        return f"a {type(value).__name__}"
    if callable(value):
        return f"the function {getattr(value, '__name__', 'given')}"
    if isinstance(value, float):
        return f"{value:.{digits + 1}g}"
    if isinstance(value, list | tuple) and any(
        isinstance(part, Tensor) or callable(part) for part in value
    ):
        return "\n".join(
            f"{number}. {_indent(short(part, width - 3, digits), 3)}"
            for number, part in enumerate(value, start=1)
        )
    if isinstance(value, dict):
        return "\n".join(
            f"{key}: {_indent(short(part, width - 4, digits), 4)}"
            for key, part in value.items()
        )
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", _repr(value))
    text = " ".join(text.split())
    # not textwrap.shorten, which leaves nothing of one long word
    return text if len(text) <= 5 * width else text[: 5 * width - 2] + " …"


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # such as that of a number of 10,000 digits
        return "something that cannot be shown"


def _indent(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by)


def _short_tensor(tensor: Tensor, width: int, digits: int) -> str:
    about = f"shape {shape(tensor)}, {dtype(tensor)}"
    if tensor.numel() > FEW:
        return about
    return f"{numbers(tensor, width, digits)}\n{about}"


def numbers(tensor: Tensor, width: int = WIDTH, digits: int = 3) -> str:
    """The numbers alone; axes of size 1 in front are left out."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if tensor.is_floating_point():
        tensor = tensor.double()
    while tensor.dim() > 2 and tensor.size(0) == 1:
        tensor = tensor[0]
    text = np.array2string(
        tensor.numpy(),
        max_line_width=width,
        precision=digits,
        suppress_small=_plain(tensor),
        separator=" ",
        floatmode="maxprec",
    )
    return text.replace("\n\n", "\n")


def _plain(tensor: Tensor) -> bool:
    """Whether no number needs an exponent."""
    if not tensor.is_floating_point():
        return True
    finite = tensor[tensor.isfinite()].abs()
    return finite.numel() == 0 or bool(finite.max() < 1e6)


def beside(expected: Any, found: Any) -> str:
    """Two results, with as many digits as show that they differ."""
    for digits in (3, 6, 9):
        columns = [short(v, COLUMN, digits) for v in (expected, found)]
        if columns[0] != columns[1]:
            break
    text = side_by_side("expected", columns[0], "yours", columns[1])
    return text + _first_difference(expected, found)


def side_by_side(left: str, a: str, right: str, b: str) -> str:
    """Two texts in two columns, or one below the other if they are wide."""
    rows = [a.splitlines(), b.splitlines()]
    if max(len(line) for row in rows for line in row) > COLUMN:
        return f"{left}\n{_block(a)}\n{right}\n{_block(b)}"
    height = max(map(len, rows))
    one, two = ([*row, *[""] * (height - len(row))] for row in rows)
    pairs = zip([left, *one], [right, *two], strict=True)
    return "\n".join(f"{a:{COLUMN + 2}}{b}".rstrip() for a, b in pairs)


def _block(text: str) -> str:
    return textwrap.indent(text, "  ")


def _first_difference(expected: Any, found: Any, tolerance=1e-5) -> str:
    """The first place where two tensors differ, too large to be printed."""
    if not (isinstance(expected, Tensor) and isinstance(found, Tensor)):
        return ""
    if expected.shape != found.shape or expected.numel() <= FEW:
        return ""
    if expected.dtype != found.dtype:
        return ""
    where = apart(expected, found, tolerance).nonzero()
    if not len(where):
        return ""
    place = tuple(where[0].tolist())
    one, other = (numbers(v[place], digits=6) for v in (expected, found))
    index = ", ".join(map(str, place))
    return (
        f"\n{len(where)} of {expected.numel()} numbers differ, first "
        f"[{index}]: expected {one}, yours {other}"
    )


def assignments(values: dict[str, Any]) -> str:
    """Arguments, as ``name = value``."""
    lines = []
    for name, value in values.items():
        if isinstance(value, Tensor) and value.numel() <= FEW:
            text = numbers(value)
            if value.dim() > 2:
                text += f"   shape {shape(value)}"
        else:
            text = short(value)
        lines.append(f"{name} = {_indent(text, len(name) + 3)}")
    return "\n".join(lines)


def signature(function: Any) -> str:
    """``name(a, b=0)``, without annotations."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "self"
    ]
    bare = inspect.Signature(parameters)
    return f"{function.__name__}{bare}"
