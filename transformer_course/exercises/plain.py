"""What code gave, as JSON: nothing that comes of it can lie, or be run.

A learner's object may say that it is equal to everything. So results leave
the process that made them as plain numbers, and are compared elsewhere. What
has no numbers comes back as a stranger, with the name of its class.
"""

import base64
import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_course.exercises.engine import show
from transformer_course.exercises.engine.outcome import Failure, Outcome

NUMBERS = 1 << 16
"""Of a larger tensor, only kind and shape are told. Those that are asked for
have at most 2,000."""
PARTS = 10_000
"""Of more parts, in all, the first are told."""
DEPTH = 20
"""Of lists in lists. What lies deeper is a stranger."""
SIGNS = 10_000
"""Of a longer text, so many signs are told."""
BITS = 1000
"""A whole number of more is a stranger."""
CONTAINERS = {"list": list, "tuple": tuple, "dict": dict}


def encode_outcome(outcome: Outcome) -> dict[str, Any]:
    """An outcome, ready for JSON."""
    return {
        field.name: encode(getattr(outcome, field.name))
        for field in dataclasses.fields(outcome)
    }


def decode_outcome(told: dict[str, Any]) -> Outcome:
    """The outcome again.

    Raises:
        Exception: of many kinds, if that is not what was told.
    """
    found = {name: decode(value) for name, value in told.items()}
    for name in ("failure", "again_failure"):
        if found[name] is not None:
            found[name] = Failure(**found[name])
    return Outcome(**found)


def encode(value: Any) -> Any:
    """A value, ready for JSON."""
    if isinstance(value, Failure):
        value = dataclasses.asdict(value)
    return _encode(value, iter(range(PARTS)), DEPTH)


def _encode(value: Any, parts: Iterator[int], depth: int) -> Any:
    try:
        return _told(value, parts, depth)
    except Exception:  # raised by an object that is not what it seems
        return _stranger(value)


def _told(value: Any, parts: Iterator[int], depth: int) -> Any:
    """Values are read as those of their kind are, whatever they say.

    Raises:
        Exception: of many kinds, if they are of another kind than they say.
    """
    if value is None or type(value) is bool:
        return value
    if isinstance(value, Tensor):
        return {"tensor": _tensor(value)}
    if isinstance(value, np.ndarray):
        return {"array": _tensor(torch.from_numpy(value))}
    if isinstance(value, str):
        return str.__str__(value)[:SIGNS]
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, int) and int.bit_length(value) < BITS:
        return int.__int__(value)
    if isinstance(value, list) and depth:
        return {"list": _all(list.__iter__(value), parts, depth)}
    if isinstance(value, tuple) and depth:
        return {"tuple": _all(tuple.__iter__(value), parts, depth)}
    if isinstance(value, dict) and depth:
        return {"dict": _all(dict.items(value), parts, depth)}
    return _stranger(value)


def _all(values: Any, parts: Iterator[int], depth: int) -> list[Any]:
    return [
        _encode(value, parts, depth - 1)
        for _, value in zip(parts, values, strict=False)
    ]


def _tensor(tensor: Tensor) -> dict[str, Any]:
    with torch._C.DisableTorchFunctionSubclass():
        bare = Tensor.as_subclass(Tensor.detach(tensor), Tensor)
        told = {"dtype": show.dtype(bare), "shape": list(bare.shape)}
        if bare.numel() <= NUMBERS:
            flat = bare.resolve_conj().resolve_neg().contiguous().view(-1)
            numbers = flat.view(torch.uint8).numpy().tobytes()
            told["numbers"] = base64.b64encode(numbers).decode()
    return told


def _stranger(value: Any) -> dict[str, Any]:
    try:
        text = repr(value)[:SIGNS]
    except Exception:
        text = "something that cannot be shown"
    kinds = {
        "generator": inspect.isgenerator(value),
        "module": isinstance(value, nn.Module),
        "callable": callable(value),
    }
    kind = next((kind for kind, is_one in kinds.items() if is_one), "object")
    name = getattr(value, "__name__", "given")
    return {"stranger": [kind, type(value).__name__, str(name), text]}


def decode(told: Any) -> Any:
    """The value again, or what stands for it.

    Raises:
        Exception: of many kinds, if that is not what ``encode`` told.
    """
    if not isinstance(told, dict):
        return told
    [(kind, content)] = told.items()
    if kind == "tensor":
        return _tensor_again(**content)
    if kind == "array":
        return _tensor_again(**content).numpy()
    if kind == "stranger":
        return _stand_in(*content)
    return CONTAINERS[kind](map(decode, content))


def _tensor_again(
    dtype: str, shape: list[int], numbers: str | None = None
) -> Tensor:
    kind = getattr(torch, dtype)
    if numbers is None:
        return torch.zeros((), dtype=kind).expand(shape)
    content = bytearray(base64.b64decode(numbers))
    if not content:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(content, dtype=kind).reshape(shape)


def _stand_in(kind: str, class_name: str, name: str, text: str) -> Any:
    """What is shown as the value would be, and is equal to nothing."""
    if kind == "generator":
        return _generator(name)
    bases = (nn.Module,) if kind == "module" else ()
    members: dict[str, Any] = {"__repr__": lambda self: text}
    if kind == "callable":
        members |= {"__call__": None, "__name__": name}
    return type(class_name, bases, members)()


def _generator(name: str) -> Iterator[None]:
    made: Any = (None for _ in ())
    made.__name__ = made.__qualname__ = name
    return made
