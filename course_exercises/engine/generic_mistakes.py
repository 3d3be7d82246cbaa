"""Generic mistakes: those that can be made in any exercise.

Each function compares what was found in one case with what was expected, and
returns a ``Mistake`` or None.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from course_exercises.candidate.outcome import Outcome
from course_exercises.candidate.values import is_number, same, tensors_in
from course_exercises.engine import show
from course_exercises.engine.mistakes import Mistake
from course_exercises.language import say

GRADIENT_TOLERANCE = 10
"""The tolerance of gradients, as a multiple of that of results."""


def find_generic_mistake(
    found: Outcome,
    expected: Outcome,
    names: Sequence[str],
    tolerance: float,
) -> Mistake | None:
    """The first generic mistake in one case.

    Args:
        found: the learner's outcome.
        expected: that of the solution, or of a known mistake: then another
            was made beside it.
        names: those of the arguments.
        tolerance: of the results.
    """
    return (
        changed_input(found, expected, names)
        or _wrong_result(found.value, expected.value)
        or _not_repeated(found, expected, tolerance)
        or _wrong_gradients(found, expected, tolerance)
    )


def _mistake(kind: str, english: str, /, **values: Any) -> Mistake:
    return Mistake(kind, say(english, **values))


def changed_input(
    found: Outcome, expected: Outcome, arguments: Sequence[str]
) -> Mistake | None:
    """An argument that was changed in place."""
    changed = [
        arguments[which] if isinstance(which, int) else which
        for which in found.changed
        if which not in expected.changed
    ]
    if not changed:
        return None
    names = say(" and ").join(f"`{name}`" for name in changed)
    return _mistake(
        "changed_input",
        "Your code changes its argument {names} in place. Whoever calls "
        "it still needs that as it was: make a new one instead.",
        names=names,
    )


def _wrong_result(value: Any, wanted: Any, part: str = "") -> Mistake | None:
    """A result of another type, shape or dtype, or a part of it."""
    name = part or say("result")
    if value is None and wanted is not None:
        return _mistake(
            "returned_none",
            "Your {name} is None. Is there a `return`, on every way "
            "through the code?",
            name=name,
        )
    if isinstance(value, Tensor) and isinstance(wanted, Tensor):
        return _wrong_tensor(value, wanted, name)
    if isinstance(value, list | tuple) and isinstance(wanted, list | tuple):
        return _wrong_items(value, wanted, part)
    if is_number(value) and isinstance(wanted, float):
        return None
    if type(value).__name__ == "generator":
        return _mistake(
            "wrong_type",
            "Your {name} is a generator. Is there a `yield` in place of a "
            "`return`? The exercise asks for {wanted}.",
            name=name,
            wanted=show.kind(wanted),
        )
    if type(value) is not type(wanted):
        found, asked = show.kind(value), show.kind(wanted)
        return _mistake(
            "wrong_type",
            "Your {name} is {found}; the exercise asks for {asked}.",
            name=name,
            found=found,
            asked=asked,
        )
    return None


def _wrong_items(value: Any, wanted: Any, part: str) -> Mistake | None:
    if len(value) != len(wanted):
        if not any(True for _ in tensors_in(wanted)):
            return None  # a list of ids, say, may be of any length
        return _mistake(
            "wrong_number_of_results",
            "Your {name} has {found} parts; the exercise asks for {asked}.",
            name=part or say("result"),
            found=len(value),
            asked=len(wanted),
        )
    for number, items in enumerate(zip(value, wanted, strict=True), start=1):
        nth = say({1: "first", 2: "second", 3: "third"}.get(number, "{}th"))
        nth = nth.format(number)
        inner = say("{nth} result", nth=nth)
        if part:
            inner = say("{whole}'s {nth} part", whole=part, nth=nth)
        if mistake := _wrong_result(*items, inner):
            return mistake
    return None


def _wrong_tensor(value: Tensor, wanted: Tensor, name: str) -> Mistake | None:
    if value.shape != wanted.shape:
        return _mistake(
            "wrong_shape",
            "Your {name} has the shape {found}; the exercise asks for "
            "{asked}.",
            name=name,
            found=show.shape(value),
            asked=show.shape(wanted),
        )
    if value.dtype != wanted.dtype:
        return _mistake(
            "wrong_dtype",
            "Your {name} holds {found}; the exercise asks for {asked}.",
            name=name,
            found=show.dtype(value),
            asked=show.dtype(wanted),
        )
    if value.isnan().any() and not wanted.isnan().any():
        return _mistake(
            "not_a_number",
            "Your {name} contains NaN: somewhere 0 is divided by 0, or "
            "infinity is subtracted from infinity.",
            name=name,
        )
    return None


def _not_repeated(
    found: Outcome, expected: Outcome, tolerance: float
) -> Mistake | None:
    """A second call, with gradients, that fails or has another result."""
    if expected.again_failure or not same(
        expected.again, expected.value, tolerance
    ):
        return None
    if failure := found.again_failure:
        return _mistake(
            "gradients_fail",
            "Your code works on plain tensors, but not on tensors that want "
            "a gradient: {error}",
            error=f"{failure.kind}: {failure.message}",
        )
    if same(found.again, found.value, tolerance):
        return None
    return _mistake(
        "not_repeated",
        "Your code gives another result when it is called a second time "
        "with the same input. Does it keep something, or draw random "
        "numbers?",
    )


def _wrong_gradients(
    found: Outcome, expected: Outcome, tolerance: float
) -> Mistake | None:
    """Wrong gradients of right results."""
    if same_gradients(found, expected, tolerance) or not same(
        found.value, expected.value, tolerance
    ):
        return None
    if any(gradient.isnan().any() for gradient in found.gradients):
        return _mistake(
            "gradient_not_a_number",
            "The gradient of your result contains NaN: one step of "
            "training, and all the model's parameters are NaN. An infinity "
            "or a division by zero on the way there is put right too late.",
        )
    if any(gradient.any() for gradient in found.gradients):
        return _mistake(
            "wrong_gradient",
            "The gradient of your result is not right: it does not flow "
            "where it should, or flows where it should not. Is there a "
            "`detach`, a `.data` or a `no_grad` too many, or one too few?",
        )
    return _mistake(
        "gradient_cut",
        "No gradient flows back through your result, so that neither "
        "weights of this part nor anything before it could learn. What "
        "takes it out of the graph: `detach`, `.data`, `no_grad`, `item`, "
        "NumPy, a new tensor made of old numbers?",
    )


def same_gradients(
    found: Outcome, expected: Outcome, tolerance: float
) -> bool:
    """Whether gradients agree, where the solution has any but zeros."""
    return not any(gradient.any() for gradient in expected.gradients) or same(
        found.gradients, expected.gradients, GRADIENT_TOLERANCE * tolerance
    )


def wrong_parameters(found: set[str], wanted: set[str]) -> Mistake | None:
    """A class whose ``nn.Parameter`` names or shapes are not those given.

    Args:
        found: the names and shapes of a learner's class.
        wanted: those of the solution.
    """
    if found == wanted:
        return None
    parts = [
        say(what, names=", ".join(sorted(names)))
        for what, names in [
            ("It lacks: {names}.", wanted - found),
            ("Not asked for: {names}.", found - wanted),
        ]
        if names
    ]
    return _mistake(
        "wrong_parameters",
        "Your class has other parameters than it was given. To be "
        "checked, it gets fixed weights by their names. {which} Keep the "
        "names of the `__init__` that was given.",
        which=" ".join(parts),
    )
