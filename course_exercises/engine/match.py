"""Is it right, and if not: which mistake does the same?"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from course_exercises.engine.exercise import (
    Exercise,
    Implementation,
    mistake_of,
)
from course_exercises.engine.outcome import Outcome, fresh_call, observe
from course_exercises.engine.slips import same_gradients
from course_exercises.engine.values import same


@dataclass(frozen=True)
class Known:
    """The mistakes of the catalogue that do the same everywhere."""

    parts: tuple[Implementation, ...]
    """One mistake, or two that are made at once."""
    whole: Implementation
    """The implementation that makes them all."""


@cache
def known(
    exercise: Exercise, implementation: Implementation, number: int
) -> Outcome:
    """The outcome of the solution or a mistake on one case; cached."""
    return observe(exercise, implementation, exercise.tried[number])


def is_right(found: Outcome, expected: Outcome, tolerance: float) -> bool:
    """Whether an implementation does on one case what the solution does."""
    return (
        found.failure is None
        and found.again_failure is None
        and same(found.value, expected.value, tolerance)
        and same(found.again, found.value, tolerance)
        and set(found.changed) <= set(expected.changed)
        and same_gradients(found, expected, tolerance)
    )


def shows(exercise: Exercise, mistakes: Known, number: int) -> int:
    """Count the mistakes that show in one case.

    One of two does where it is wrong by itself, and the two differ from it.
    """
    right, whole, *parts = (
        known(exercise, implementation, number)
        for implementation in (
            exercise.solution,
            mistakes.whole,
            *mistakes.parts,
        )
    )
    return sum(
        not is_right(part, right, exercise.tolerance)
        and (part is whole or not _alike(part, whole, exercise.tolerance))
        for part in parts
    )


def find_one(
    exercise: Exercise,
    found: Sequence[Outcome],
    expected: Sequence[Outcome],
    wrong: Sequence[int],
) -> Known | None:
    """The one mistake of the catalogue that does the same in every case.

    Args:
        exercise: what was asked.
        found: what was done, case by case.
        expected: what the solution does.
        wrong: the cases in which they differ. Most mistakes are ruled out by
            the first of them, and need not be tried on the others.
    """
    alike = [
        mistake
        for mistake in exercise.mistakes
        if _same_everywhere(exercise, mistake, found, wrong)
        and _same_evidence(exercise, mistake, found, expected)
    ]
    if len(set(map(mistake_of, alike))) != 1:
        return None
    return Known((alike[0],), alike[0])


def find_two(
    exercise: Exercise,
    found: Sequence[Outcome],
    expected: Sequence[Outcome],
    wrong: Sequence[int],
) -> Known | None:
    """Two mistakes of the catalogue that together do the same everywhere.

    Where several pairs do, the first of them in the catalogue's order.

    Args:
        exercise: what was asked.
        found: what was done, case by case.
        expected: what the solution does.
        wrong: the cases in which they differ. Only results tell two mistakes,
            no errors: those have many causes. Nor do gradients: two mistakes
            may cancel out.
    """
    values = [
        number
        for number in wrong
        if found[number].failure is None
        and not same(
            found[number].value, expected[number].value, exercise.tolerance
        )
    ]
    if not values:
        return None
    case = exercise.tried[values[0]]
    for one, other, both in exercise.pairs:
        if same(
            fresh_call(exercise, both, case),
            found[values[0]].value,
            exercise.tolerance,
        ) and _same_everywhere(exercise, both, found, wrong):
            return Known((one.implementation, other.implementation), both)
    return None


def _same_everywhere(
    exercise: Exercise,
    mistake: Implementation,
    found: Sequence[Outcome],
    wrong: Sequence[int],
) -> bool:
    """Whether results agree, and errors are of one kind."""
    others = set(range(len(found))) - set(wrong)
    return all(
        _alike(
            found[number],
            known(exercise, mistake, number),
            exercise.tolerance,
        )
        for number in [*wrong, *sorted(others)]
    )


def _alike(found: Outcome, mistaken: Outcome, tolerance: float) -> bool:
    if found.failure is None or mistaken.failure is None:
        return found.failure is mistaken.failure and same(
            found.value, mistaken.value, tolerance
        )
    return found.failure.kind == mistaken.failure.kind


def _same_evidence(
    exercise: Exercise,
    mistake: Implementation,
    found: Sequence[Outcome],
    expected: Sequence[Outcome],
) -> bool:
    """Whether that agreement is enough to go by.

    A wrong result is. Where nothing but errors tells a mistake from the
    solution, their messages must agree too: many mistakes end in one kind of
    error. And where nothing but gradients does, they must.
    """
    if any(
        one.failure is None
        and not same(one.value, right.value, exercise.tolerance)
        for one, right in zip(found, expected, strict=True)
    ):
        return True
    mistaken = [
        known(exercise, mistake, number) for number in range(len(found))
    ]
    return all(
        one.failure == other.failure
        and same_gradients(one, other, exercise.tolerance)
        for one, other in zip(found, mistaken, strict=True)
    )
