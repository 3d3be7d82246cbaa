"""Format values for a learner: short, rounded, side by side."""

import re
from itertools import zip_longest
from typing import Any

import numpy as np
from torch import Tensor, nn

from course_exercises.candidate.values import differs, same
from course_exercises.language import columns, say

WIDTH = 76
COLUMN = 36
MAX_PRINTED = 40
"""A tensor of more numbers is described by its shape; of more results in a
list, the first are shown."""


def kind(value: Any) -> str:
    """Describe the type of a value."""
    if isinstance(value, Tensor):
        return say(
            "a tensor of {dtype}, shape {shape}",
            dtype=dtype(value),
            shape=shape(value),
        )
    if isinstance(value, np.ndarray):
        return say("a NumPy array")
    if isinstance(value, list | tuple):
        return say(
            "a {kind} of {length}",
            kind=type(value).__name__,
            length=len(value),
        )
    if value is None:
        return "None"
    if isinstance(value, str | int | float | bool):
        name = type(value).__name__
        article = "an {kind}" if name == "int" else "a {kind}"
        return say(article, kind=name)
    return say("an object of class {kind}", kind=type(value).__name__)


def dtype(tensor: Tensor) -> str:
    """Write a dtype: ``float32``."""
    return str(tensor.dtype).removeprefix("torch.")


def shape(tensor: Tensor) -> str:
    """Write a shape: ``(2, 3)``."""
    return str(tuple(tensor.shape))


def short(value: Any, width: int = WIDTH, digits: int = 3) -> str:
    """Format a value in a few lines."""
    if isinstance(value, Tensor):
        about = f"{say('shape')} {shape(value)}, {dtype(value)}"
        if value.numel() > MAX_PRINTED:
            return about
        return f"{numbers(value, width, digits)}\n{about}"
    if isinstance(value, nn.Module):
        return say("a {kind}", kind=type(value).__name__).strip()
    if callable(value):
        name = getattr(value, "__name__", "given")
        return say("the function {name}", name=name)
    if isinstance(value, float):
        return f"{value:.{digits + 1}g}"
    if isinstance(value, list | tuple) and any(
        isinstance(item, Tensor) or callable(item) for item in value
    ):
        return "\n".join(
            f"{number}. {_indent(short(item, width - 3, digits), 3)}"
            for number, item in enumerate(value[:MAX_PRINTED], start=1)
        )
    if isinstance(value, dict):
        return "\n".join(
            f"{key}: {_indent(short(item, width - 4, digits), 4)}"
            for key, item in value.items()
        )
    try:
        text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
    except Exception:  # such as that of a number of 10,000 digits
        text = say("something that cannot be shown")
    text = " ".join(text.split())
    # not textwrap.shorten, which leaves nothing of one long word
    return text if len(text) <= 5 * width else text[: 5 * width - 2] + " …"


def _indent(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by)


def numbers(tensor: Tensor, width: int = WIDTH, digits: int = 3) -> str:
    """Format the numbers alone, without axes of size 1 in front."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    is_plain = True  # no number needs an exponent
    if tensor.is_floating_point():
        tensor = tensor.double()
        is_plain = not (tensor[tensor.isfinite()].abs() >= 1e6).any()
    while tensor.dim() > 2 and tensor.size(0) == 1:
        tensor = tensor[0]
    text = np.array2string(
        tensor.numpy(),
        max_line_width=width,
        precision=digits,
        suppress_small=is_plain,
        separator=" ",
        floatmode="maxprec",
    )
    return text.replace("\n\n", "\n")


def beside(expected: Any, found: Any) -> str:
    """Format two results, with as many digits as show the difference.

    Of two that have the same named parts, only what differs is shown.
    """
    dicts = isinstance(expected, dict) and isinstance(found, dict)
    if dicts and found.keys() == expected.keys():
        names = [n for n in found if not same(found[n], expected[n], 1e-4)]
        expected = {name: expected[name] for name in names} or expected
        found = {name: found[name] for name in names} or found
    for digits in (3, 6, 9):
        texts = [short(v, COLUMN, digits) for v in (expected, found)]
        if texts[0] != texts[1]:
            break
    return _columns(*texts) + _first_difference(expected, found)


def _columns(expected: str, found: str) -> str:
    """Two texts side by side, or one below the other if they are wide."""
    left, right = [say("expected"), *expected.splitlines()], [say("yours")]
    right += found.splitlines()
    if max(map(columns, left + right)) > COLUMN:
        left, right = ("\n  ".join(lines) for lines in (left, right))
        return f"{left}\n{right}"
    pairs = zip_longest(left, right, fillvalue="")
    return "\n".join(
        f"{a}{' ' * (COLUMN + 2 - columns(a))}{b}".rstrip() for a, b in pairs
    )


def _first_difference(expected: Any, found: Any) -> str:
    """The first place where two tensors too large to print differ."""
    if not (
        isinstance(expected, Tensor)
        and isinstance(found, Tensor)
        and expected.shape == found.shape
        and expected.dtype == found.dtype
        and expected.numel() > MAX_PRINTED
    ):
        return ""
    where = differs(expected, found, 1e-5).nonzero()
    if not len(where):
        return ""
    place = tuple(where[0].tolist())
    one, other = (numbers(v[place], digits=6) for v in (expected, found))
    index = ", ".join(map(str, place))
    return "\n" + say(
        "{count} of {total} numbers differ, first [{index}]: expected "
        "{expected}, yours {yours}",
        count=len(where),
        total=expected.numel(),
        index=index,
        expected=one,
        yours=other,
    )


def assignments(values: dict[str, Any]) -> str:
    """Format arguments as ``name = value``."""
    lines = []
    for name, value in values.items():
        if isinstance(value, Tensor) and value.numel() <= MAX_PRINTED:
            text = numbers(value)
            if value.dim() > 2:
                text += f"   {say('shape')} {shape(value)}"
        else:
            text = short(value)
        lines.append(f"{name} = {_indent(text, len(name) + 3)}")
    return "\n".join(lines)
