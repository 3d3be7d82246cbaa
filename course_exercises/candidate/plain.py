"""Findings as plain data: JSON, in which no code can travel.

What a learner's code returns may be anything. Numbers, texts, lists, dicts
and tensors are kept; of everything else only the type's name and a short
text. Whoever reads them runs nothing of the learner's.
"""

import base64
import json
import math
from dataclasses import fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_exercises.candidate.findings import Findings
from course_exercises.candidate.outcome import Failure, Outcome

MAX_NUMBERS = 1 << 20
"""A tensor of more is kept by its shape alone; no exercise asks for it."""
MAX_TEXT = 100_000
"""Characters of a text that are kept."""
MAX_DEPTH = 20
"""Of lists in lists."""
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype) and not dtype.is_complex
}


class Other:
    """Stands for a result of another type."""

    def __init__(self, text: str):
        self._text = text

    def __repr__(self) -> str:
        return self._text


def dumps(findings: Findings) -> str:
    """Write findings."""
    values = _fields(findings)
    values["outcomes"] = [_outcome(one) for one in findings.outcomes]
    return json.dumps(values)


def loads(text: str) -> Findings:
    """Read findings, whoever has written them.

    Raises:
        ValueError: it is nothing that :func:`dumps` has written.
    """
    try:
        values = json.loads(text)
        return Findings(
            is_class=bool(values["is_class"]),
            is_unwritten=bool(values["is_unwritten"]),
            signature=_text(values["signature"]),
            takes_arguments=bool(values["takes_arguments"]),
            unused=tuple(map(_text, values["unused"])),
            parameters=None
            if values["parameters"] is None
            else tuple(map(_text, values["parameters"])),
            outcomes=tuple(map(_read_outcome, values["outcomes"])),
        )
    except Exception as error:  # whatever a student's code may write
        raise ValueError(f"no findings: {error!r}") from error


def _fields(value: Any) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value)}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    values = _fields(outcome)
    for name in ("value", "again"):
        values[name] = encode(values[name])
    for name in ("failure", "again_failure"):
        values[name] = values[name] and _fields(values[name])
    values["gradients"] = [encode(one) for one in outcome.gradients]
    return values


def _read_outcome(values: dict[str, Any]) -> Outcome:
    gradients = map(decode, values["gradients"])
    return Outcome(
        value=decode(values["value"]),
        failure=_read_failure(values["failure"]),
        changed=tuple(
            which if isinstance(which, int) else _text(which)
            for which in values["changed"]
        ),
        again=decode(values["again"]),
        again_failure=_read_failure(values["again_failure"]),
        gradients=tuple(one for one in gradients if isinstance(one, Tensor)),
    )


def _read_failure(values: dict[str, Any] | None) -> Failure | None:
    if values is None:
        return None
    line = values["line"]
    kind = str(values["kind"])[:100]  # stands in tables, where = begins code
    return Failure(
        kind=kind if kind.isidentifier() else "Exception",
        message=_text(values["message"]),
        line=line if isinstance(line, int) else None,
        source=_text(values["source"]),
        function=_text(values["function"]),
    )


def _text(value: Any) -> str:
    return str(value)[:MAX_TEXT]


def encode(value: Any, depth: int = 0) -> Any:
    """A value as JSON has it."""
    kind = type(value)
    if value is None or kind in (bool, float):
        return value
    if kind is int:
        return value if abs(value) < 1 << 63 else {"int": hex(value)}
    if kind is str:
        return value[:MAX_TEXT]
    if depth < MAX_DEPTH:
        again = depth + 1
        if kind in (list, tuple):
            items = [encode(item, again) for item in value]
            return {"tuple": items} if kind is tuple else items
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": {k: encode(v, again) for k, v in value.items()}}
    if isinstance(value, Tensor):
        with torch._C.DisableTorchFunctionSubclass():
            return _tensor(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": _tensor(torch.from_numpy(np.array(value)))}
    return {"other": _described(value), "type": kind.__name__}


def _tensor(tensor: Tensor) -> dict[str, Any]:
    """The numbers of a tensor, whatever its class says of itself."""
    tensor = tensor.detach()
    dtype = str(tensor.dtype).removeprefix("torch.")
    about = {"dtype": dtype, "shape": list(tensor.shape)}
    plain = tensor.layout is torch.strided and not tensor.is_meta
    if not plain or dtype not in DTYPES or tensor.numel() > MAX_NUMBERS:
        size = tuple(tensor.shape)
        text = f"a tensor of {dtype}, shape {size}"
        return {"other": text, "type": "Tensor"}
    flat = tensor.cpu().contiguous().flatten().view(torch.uint8)
    return about | {"data": base64.b64encode(flat.numpy()).decode()}


def _described(value: Any) -> str:
    if isinstance(value, torch.nn.Module):
        return f"a {type(value).__name__}"
    if callable(value):
        return f"the function {getattr(value, '__name__', 'given')}"
    try:
        return repr(value)[:1000]
    except Exception:
        return "something that cannot be shown"


def decode(value: Any) -> Any:
    """The value that :func:`encode` has written.

    Raises:
        ValueError: it has written no such thing.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return list(map(decode, value))
        case {"tuple": list(items)}:
            return tuple(map(decode, items))
        case {"dict": dict(items)}:
            return {key: decode(item) for key, item in items.items()}
        case {"int": str(digits)}:
            return int(digits, 16)
        case {"array": dict(tensor)}:
            return decode(tensor).numpy()
        case {"other": str(text), "type": str(name)}:
            return type(name or "object", (Other,), {})(text)
        case {"dtype": str(name), "shape": list(shape), "data": str(data)}:
            return _read_tensor(DTYPES[name], shape, data)
    raise ValueError(f"no value: {value!r:.100}")


def _read_tensor(dtype: torch.dtype, shape: list[int], data: str) -> Tensor:
    raw = bytearray(base64.b64decode(data))
    size = math.prod(shape) * dtype.itemsize
    if size != len(raw) or any(length < 0 for length in shape):
        raise ValueError(f"{len(raw)} bytes for the shape {shape!s:.100}")
    if not raw:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(raw, dtype=dtype).reshape(shape)
