"""The inputs of a check, and how code is called on one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from course_exercises.candidate.draw import Draw

Implementation = Callable[..., Any]
"""A function, or a class."""


@dataclass(frozen=True, eq=False)
class Case:
    """One input."""

    note: str
    """What is special about it, such as "a batch of one"."""
    args: tuple[Any, ...] = ()
    """Positional arguments."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments."""
    build: tuple[Any, ...] = ()
    """Arguments of a class's ``__init__``; empty for a function."""
    weights: dict[str, Tensor] = field(default_factory=dict)
    """Parameters of the module that the case sets; the others are drawn."""


def call(candidate: Implementation, given: Case) -> Any:
    """Call a function, or build a module, give it weights and call it.

    A parameter that the case does not set is filled with numbers that depend
    on its name alone, so the order in which a module makes its parameters
    does not matter.
    """
    if not given.build:
        return candidate(*given.args, **given.kwargs)
    module = candidate(*given.build)
    give_weights(module)
    for name in given.weights:
        module.get_parameter(name)  # functional_call would make it
    return functional_call(module, given.weights, given.args, given.kwargs)


def call_without_grad(candidate: Implementation, given: Case) -> Any:
    """Call a function under ``no_grad``: its gradients are not compared."""
    with torch.no_grad():
        return call(candidate, given)


def give_weights(module: nn.Module) -> None:
    """Fill each parameter with numbers that depend on its name alone."""
    with torch.no_grad():
        for name, weight in module.named_parameters():
            weight.copy_(_weight(name, weight.shape))


@cache
def _weight(name: str, shape: torch.Size) -> Tensor:
    draw = Draw(sum(i * ord(sign) for i, sign in enumerate(name, 1)))
    return draw.normal(*shape) * 0.5
