"""Results of any type: copy them, compare them, find their tensors."""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
import torch
from torch import Tensor

MAX_ITEMS = 10_000
"""Items of a list that are compared; no exercise asks for so many."""
LOW_PRECISION = {torch.float16: 1e-2, torch.bfloat16: 4e-2}
"""Tolerances of 16-bit floats."""


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield every tensor of a nested structure, from left to right."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from tensors_in(vars(value))


def copied(value: Any) -> Any:
    """Copy a nested structure; its tensors are new leaves."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(copied, value))
    if isinstance(value, list | tuple):
        return type(value)(map(copied, value))
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return copy.deepcopy(value)


def truncated(value: Any) -> Any:
    """Cut a list off that is far longer than any exercise asks for."""
    if isinstance(value, list | tuple) and len(value) > MAX_ITEMS:
        return value[:MAX_ITEMS]
    return value


def like(value: Any, wanted: Any) -> Any:
    """Give a result the shape and dtype of the wanted one, if it has them.

    Axes are only merged or split, and values have to survive the change of
    dtype; any other tensor is returned as it is. A number becomes a tensor
    without axes.
    """
    if isinstance(wanted, Tensor) and not wanted.ndim and is_number(value):
        value = torch.tensor(value)
    if isinstance(value, Tensor) and isinstance(wanted, Tensor):
        if not _is_reshaped(value.shape, wanted.shape):
            return value
        return _with_dtype(value.reshape(wanted.shape), wanted.dtype)
    lists = all(isinstance(one, list | tuple) for one in (value, wanted))
    if lists and len(value) == len(wanted):
        return list(map(like, value, wanted))
    return value


def _is_reshaped(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether one shape is the other with neighbouring axes merged."""
    ends = [set(accumulate(shape, mul, initial=1)) for shape in (one, other)]
    return math.prod(one) == math.prod(other) and (
        ends[0] <= ends[1] or ends[1] <= ends[0]
    )


def _with_dtype(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Cast a tensor, unless that would lose more than precision."""
    if tensor.is_complex():
        return tensor
    cast = tensor.to(dtype)
    if tensor.is_floating_point() and dtype.is_floating_point:
        return cast
    return cast if torch.equal(cast.double(), tensor.double()) else tensor


def same(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two results are equal, up to rounding.

    Types must agree too: a number is not a tensor. Only lists and tuples are
    interchangeable, and an int may stand for the float that was expected.
    NaN equals NaN.
    """
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        return not differs(one, other, tolerance).any()
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(
            same(a, b, tolerance) for a, b in zip(one, other, strict=True)
        )
    if isinstance(other, float) and is_number(one):
        return _is_close(one, other, tolerance)
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            same(one[key], other[key], tolerance) for key in one
        )
    if is_dataclass(one):
        return same(vars(one), vars(other), tolerance)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    try:
        return bool(one == other)
    except Exception:  # a learner's own class may raise anything
        return False


def differs(one: Tensor, other: Tensor, tolerance: float) -> Tensor:
    """True where two tensors of one shape and dtype differ."""
    if not one.is_floating_point():
        return one != other
    allowed = max(tolerance, LOW_PRECISION.get(one.dtype, 0.0))
    one, other = one.detach().double(), other.detach().double()
    return ~torch.isclose(
        one, other, rtol=allowed, atol=allowed, equal_nan=True
    )


def _is_close(one: float, other: float, tolerance: float) -> bool:
    try:
        return (math.isnan(one) and math.isnan(other)) or math.isclose(
            one, other, rel_tol=tolerance, abs_tol=tolerance
        )
    except OverflowError:  # an int beyond all floats
        return False


def is_number(value: Any) -> bool:
    """Whether a value is an int or a float, and no bool."""
    return isinstance(value, float | int) and not isinstance(value, bool)
