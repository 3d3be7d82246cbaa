"""What a student's code did, in a file that can be read without trust.

Tensors stand in it as safetensors, and all else as JSON in their header. So a
file is as large as what is read from it: nothing in it is executed, unpacked
or shared between two places.
"""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import safetensors.torch
import torch
from torch import Tensor

from tools.grading.texts import readable, shortened

LIMIT = 16 << 20
"""Bytes of a file of results."""
HEADER = 4 << 20
"""Bytes of all in it that is no tensor; reading them takes many more."""
LONGEST = 2000
"""Signs of a text, such as the message of an error."""


class NoResults(ValueError):
    """A file that holds something else."""


def write(found: dict[str, Any], stream: BinaryIO) -> None:
    """Write down what happened."""
    tensors: dict[str, Tensor] = {}
    tree = _encoded(found, tensors, count())
    stream.write(safetensors.torch.save(tensors, {"found": json.dumps(tree)}))
    stream.flush()


def read(path: Path) -> dict[str, Any]:
    """What was written; or anything else, if that was forged.

    Raises:
        Exception: of many kinds, if it is no such file.
    """
    with path.open("rb") as file:
        content = file.read(LIMIT + 1)
    if len(content) > LIMIT:
        raise NoResults("too large")
    size = int.from_bytes(content[:8], "little")
    if size > HEADER:
        raise NoResults("too many of them")
    tensors = safetensors.torch.load(content)
    header = json.loads(content[8 : 8 + size])
    found = _decoded(json.loads(header["__metadata__"]["found"]), tensors)
    if not isinstance(found, dict):
        raise NoResults("no dict")
    return found


def told(text: str) -> str:
    """A text that foreign code chose, as long as a message may be."""
    return readable(shortened(text, LONGEST))


def _encoded(
    value: Any, tensors: dict[str, Tensor], names: Iterator[int]
) -> Any:
    """A value as JSON has it; its tensors go into ``tensors``."""
    if value is None or type(value) in (bool, float, str):
        return value
    if type(value) is int and value.bit_length() < 64:
        return value
    if isinstance(value, Tensor) and _is_plain(value):
        name = str(next(names))
        tensors[name] = _alone(value)
        return {"tensor": name}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_encoded(part, tensors, names) for part in value]}
    if isinstance(value, dict):
        pairs = [
            [_encoded(part, tensors, names) for part in pair]
            for pair in value.items()
        ]
        return {"dict": pairs}
    return {"other": type(value).__name__}


def _is_plain(tensor: Tensor) -> bool:
    return (
        tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not tensor.is_quantized
    )


def _alone(tensor: Tensor) -> Tensor:
    """Its numbers, in a memory of their own."""
    tensor = tensor.detach().as_subclass(Tensor)
    if tensor.dtype is torch.complex128:  # the format has none
        tensor = tensor.to(torch.complex64)
    return tensor.resolve_conj().resolve_neg().contiguous().clone()


def _decoded(tree: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(tree, dict):
        if isinstance(tree, list):
            raise NoResults("a list")
        return tree
    ((kind, content),) = tree.items()
    if kind == "tensor":
        tensor = tensors[content]
        # a byte of a forged file may be neither True nor False
        return tensor.view(torch.uint8) != 0 if _is_bool(tensor) else tensor
    if kind == "other":
        return {"a value of type": told(str(content))}
    parts = [_decoded(part, tensors) for part in _flat(kind, content)]
    if kind == "dict":
        return dict(zip(parts[::2], parts[1::2], strict=True))
    return parts if kind == "list" else tuple(parts)


def _is_bool(tensor: Tensor) -> bool:
    return tensor.dtype is torch.bool


def _flat(kind: str, content: list[Any]) -> list[Any]:
    if kind == "dict":
        return [part for key, value in content for part in (key, value)]
    if kind in ("list", "tuple"):
        return content
    raise NoResults(kind)
