"""Mistakes that can be made in any exercise.

Each function looks at what was found in one case, and at what was expected;
it says what is wrong in a sentence, or nothing.
"""

import dis
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from torch import Tensor, nn

from course_exercises.engine import show
from course_exercises.engine.exercise import Case, Implementation
from course_exercises.engine.outcome import Outcome
from course_exercises.engine.values import is_number, same, tensors_in

GRADIENT_TOLERANCE = 10
"""So many times as far as results may gradients be apart."""
IDLE = {"RESUME", "RETURN_VALUE", "NOP"}


@dataclass(frozen=True)
class Slip:
    """A mistake of form, and what to say about it."""

    name: str
    text: str


def find_slip(
    found: Outcome, expected: Outcome, tolerance: float
) -> Slip | None:
    """The first that applies to one case; None if none does.

    What is expected may be what a known mistake does: then it is a slip that
    was made beside that.
    """
    slips = (
        changed_input(found, expected),
        _returned(found.value, expected.value),
        _not_repeated(found, expected, tolerance),
        _gradients(found, expected, tolerance),
    )
    return next((slip for slip in slips if slip is not None), None)


def changed_input(found: Outcome, expected: Outcome) -> Slip | None:
    """An argument that is not what it was before the call."""
    changed = [name for name in found.changed if name not in expected.changed]
    if not changed:
        return None
    names = " and ".join(f"`{name}`" for name in changed)
    return Slip(
        "changed_input",
        f"Your code changes its argument {names} in place. Whoever calls it "
        "still needs that as it was: make a new tensor instead.",
    )


def _returned(value: Any, wanted: Any, name: str = "result") -> Slip | None:
    """A value of another kind, shape or dtype than is asked for."""
    if value is None and wanted is not None:
        return Slip(
            "returned_none",
            f"Your {name} is None. Is there a `return`, on every way "
            "through the code?",
        )
    if isinstance(value, Tensor) and isinstance(wanted, Tensor):
        return _tensor(value, wanted, name)
    if isinstance(value, list | tuple) and isinstance(wanted, list | tuple):
        return _sequence(value, wanted, name)
    if is_number(value) and isinstance(wanted, float):
        return None
    if inspect.isgenerator(value):
        return Slip(
            "wrong_type",
            f"Your {name} is a generator. Is there a `yield` in place of a "
            f"`return`? The exercise asks for {show.kind(wanted)}.",
        )
    if type(value) is not type(wanted):
        return Slip(
            "wrong_type",
            f"Your {name} is {show.kind(value)}; the exercise asks for "
            f"{show.kind(wanted)}.",
        )
    return None


def _sequence(value: Any, wanted: Any, name: str) -> Slip | None:
    if len(value) != len(wanted):
        if not any(True for _ in tensors_in(wanted)):
            return None  # a list of ids, say, may be of any length
        return Slip(
            "wrong_number_of_results",
            f"Your {name} has {len(value)} parts; the exercise asks for "
            f"{len(wanted)}.",
        )
    for number, (one, other) in enumerate(
        zip(value, wanted, strict=True), start=1
    ):
        if slip := _returned(one, other, _part(name, number)):
            return slip
    return None


def _part(name: str, number: int) -> str:
    """The second result; the second result's third part."""
    nth = {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
    return f"{nth} result" if name == "result" else f"{name}'s {nth} part"


def _tensor(value: Tensor, wanted: Tensor, name: str) -> Slip | None:
    if value.shape != wanted.shape:
        return Slip(
            "wrong_shape",
            f"Your {name} has the shape {show.shape(value)}; the exercise "
            f"asks for {show.shape(wanted)}.",
        )
    if value.dtype != wanted.dtype:
        return Slip(
            "wrong_dtype",
            f"Your {name} holds {show.dtype(value)}; the exercise asks for "
            f"{show.dtype(wanted)}.",
        )
    if value.isnan().any() and not wanted.isnan().any():
        return Slip(
            "not_a_number",
            f"Your {name} contains NaN: somewhere 0 is divided by 0, or "
            "infinity is subtracted from infinity.",
        )
    return None


def _not_repeated(
    found: Outcome, expected: Outcome, tolerance: float
) -> Slip | None:
    if expected.again_failure or not same(
        expected.again, expected.value, tolerance
    ):
        return None
    if found.again_failure is not None:
        failure = found.again_failure
        return Slip(
            "gradients_fail",
            "Your code works on plain tensors, but not on tensors that want "
            f"a gradient: {failure.kind}: {failure.message}",
        )
    if same(found.again, found.value, tolerance):
        return None
    return Slip(
        "not_repeated",
        "Your code gives another result when it is called a second time with "
        "the same input. Does it keep something, or draw random numbers?",
    )


def _gradients(
    found: Outcome, expected: Outcome, tolerance: float
) -> Slip | None:
    if same_gradients(found, expected, tolerance):
        return None
    if not same(found.value, expected.value, tolerance):
        return None
    if any(gradient.isnan().any() for gradient in found.gradients):
        return Slip(
            "gradient_not_a_number",
            "The gradient of your result contains NaN: one step of training, "
            "and all the model's parameters are NaN. An infinity or a "
            "division by zero on the way there is put right too late.",
        )
    if any(gradient.any() for gradient in found.gradients):
        return Slip(
            "wrong_gradient",
            "The gradient of your result is not right: some part of the "
            "computation is hidden from it. Is there a `detach`, a `.data` or "
            "a `no_grad`?",
        )
    return Slip(
        "gradient_cut",
        "No gradient flows back through your result, so that nothing before "
        "it could learn. What takes it out of the graph: `detach`, `.data`, "
        "`no_grad`, `item`, NumPy, a new tensor made of old numbers?",
    )


def same_gradients(
    found: Outcome, expected: Outcome, tolerance: float
) -> bool:
    """Whether gradients agree, where there is one to be expected."""
    if not any(gradient.any() for gradient in expected.gradients):
        return True
    return same(
        found.gradients, expected.gradients, GRADIENT_TOLERANCE * tolerance
    )


def is_unwritten(candidate: Implementation) -> bool:
    """Whether a function has nothing in it but ``pass`` or ``...``."""
    code = getattr(inspect.unwrap(candidate), "__code__", None)
    return code is not None and all(
        step.opname in IDLE or step.argval is None
        for step in dis.get_instructions(code)
    )


def wrong_parameters(
    candidate: type[nn.Module], solution: type[nn.Module], case: Case
) -> Slip | None:
    """Parameters other than those that the class was to have."""
    found, wanted = (
        {
            f"{name} {show.shape(weight)}"
            for name, weight in module(*case.build).named_parameters()
        }
        for module in (candidate, solution)
    )
    if found == wanted:
        return None
    parts = [
        f"{what}: {', '.join(sorted(names))}."
        for what, names in [
            ("It lacks", wanted - found),
            ("Not asked for", found - wanted),
        ]
        if names
    ]
    return Slip(
        "wrong_parameters",
        "Your class has other parameters than it was given. To be checked, "
        f"it gets fixed weights by their names. {' '.join(parts)}",
    )


def wrong_call(candidate: Implementation, case: Case) -> bool:
    """Whether a function cannot be called as it is asked for."""
    if inspect.isclass(candidate):
        return False
    try:
        inspect.signature(candidate).bind(*case.args, **case.kwargs)
    except TypeError:
        return True
    except ValueError:  # built in, without a signature
        pass
    return False


def unused(candidate: Implementation) -> list[str]:
    """The parameters that a function never uses."""
    code = getattr(inspect.unwrap(candidate), "__code__", None)
    if code is None:
        return []
    count = code.co_argcount + code.co_kwonlyargcount
    read = {name for inner in _codes(code) for name in _names_read(inner)}
    return [name for name in code.co_varnames[:count] if name not in read]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names_read(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if "LOAD_" in step.opname:
            names = step.argval
            yield from names if isinstance(names, tuple) else (names,)
