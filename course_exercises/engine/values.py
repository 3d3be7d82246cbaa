"""Results of any kind: copied, compared, and their tensors found."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
import torch
from torch import Tensor

LONGEST = 10_000
"""Parts of a result that are compared; none that is asked for has so many."""
COARSE = {torch.float16: 1e-2, torch.bfloat16: 4e-2}
"""Tolerances of kinds of numbers that have few digits."""


def map_tensors(change: Callable[[Tensor], Tensor], value: Any) -> Any:
    """The same structure, with every tensor changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(change, part) for part in value))
    if isinstance(value, list | tuple):
        return type(value)(map_tensors(change, part) for part in value)
    if isinstance(value, dict):
        return {k: map_tensors(change, part) for k, part in value.items()}
    return value


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Every tensor of a structure, from left to right."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from tensors_in(vars(value))


def fresh(value: Any) -> Any:
    """A copy that nobody else holds."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, list | tuple | dict):
        return map_tensors(fresh, copy.copy(value))
    return copy.deepcopy(value)


def cut(value: Any) -> Any:
    """A result without the end of a list that is far too long."""
    if isinstance(value, list | tuple) and len(value) > LONGEST:
        return value[:LONGEST]
    return value


def in_form(value: Any, wanted: Any) -> Any:
    """The same numbers in the shape and dtype of a result that is wanted.

    A tensor without such a form stays as it is: axes are only laid together
    or parted, and what is no number of a dtype is not made one. A number
    becomes a tensor without axes.
    """
    if isinstance(wanted, Tensor) and not wanted.ndim and is_number(value):
        value = torch.tensor(value)
    if isinstance(value, Tensor) and isinstance(wanted, Tensor):
        if not _same_order(value.shape, wanted.shape):
            return value
        return _with_dtype(value.reshape(wanted.shape), wanted.dtype)
    lists = all(isinstance(one, list | tuple) for one in (value, wanted))
    if lists and len(value) == len(wanted):
        return list(map(in_form, value, wanted))
    return value


def _same_order(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether one shape is the other with some axes laid together."""
    ends = [set(accumulate(shape, mul, initial=1)) for shape in (one, other)]
    return math.prod(one) == math.prod(other) and (
        ends[0] <= ends[1] or ends[1] <= ends[0]
    )


def _with_dtype(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    if tensor.is_complex():
        return tensor
    cast = tensor.to(dtype)
    if tensor.is_floating_point() and dtype.is_floating_point:
        return cast
    return cast if torch.equal(cast.double(), tensor.double()) else tensor


def same(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two results are equal, up to rounding.

    Kinds must agree too: a number is no tensor. Only list and tuple are
    taken for each other, and a whole number for the float that was expected.
    NaN equals NaN.
    """
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        return _same_tensor(one, other, tolerance)
    if isinstance(one, list | tuple):
        return (
            isinstance(other, list | tuple)
            and len(one) == len(other)
            and all(
                same(a, b, tolerance) for a, b in zip(one, other, strict=True)
            )
        )
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same(one[k], other[k], tolerance) for k in one)
        )
    if isinstance(other, float) and is_number(one):
        return _close(one, other, tolerance)
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return same(vars(one), vars(other), tolerance)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return _equal(one, other)


def _close(one: float, other: float, tolerance: float) -> bool:
    try:
        if math.isnan(one) and math.isnan(other):
            return True
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:  # a whole number beyond all floats
        return False


def _equal(one: Any, other: Any) -> bool:
    """Whatever a learner may return; what cannot be compared differs."""
    try:
        return bool(one == other)
    except Exception:
        return False


def is_number(value: Any) -> bool:
    """Whether it is a plain number; True and False are none."""
    return isinstance(value, float | int) and not isinstance(value, bool)


def _same_tensor(one: Any, other: Any, tolerance: float) -> bool:
    if not (isinstance(one, Tensor) and isinstance(other, Tensor)):
        return False
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return not apart(one, other, tolerance).any()


def apart(one: Tensor, other: Tensor, tolerance: float) -> Tensor:
    """True where two tensors of one shape and kind differ."""
    if not one.is_floating_point():
        return one != other
    allowed = max(tolerance, COARSE.get(one.dtype, 0.0))
    one, other = one.detach().double(), other.detach().double()
    return ~torch.isclose(
        one, other, rtol=allowed, atol=allowed, equal_nan=True
    )
