"""From what an implementation does to a verdict."""

import inspect
from collections.abc import Callable, Sequence
from functools import cache

from transformer_course.exercises import messages
from transformer_course.exercises.exercise import (
    Exercise,
    Implementation,
    build_and_call,
    mistake_of,
    numel,
)
from transformer_course.exercises.outcome import Outcome, observe
from transformer_course.exercises.slips import (
    Slip,
    find_slip,
    is_unwritten,
    same_gradients,
    wrong_call,
    wrong_parameters,
)
from transformer_course.exercises.values import same
from transformer_course.exercises.verdict import Verdict


def diagnose(
    exercise: Exercise,
    candidate: Implementation,
    starting: Callable[[int], None] = lambda number: None,
) -> Verdict:
    """Try an implementation on every case, and say what it is.

    Args:
        exercise: what was asked.
        candidate: what was written.
        starting: told the number of each case before it is tried.
    """
    if is_unwritten(candidate):
        return messages.unwritten(exercise)
    if inspect.isclass(candidate) != inspect.isclass(exercise.solution):
        return messages.wrong_kind(exercise)
    if any(wrong_call(candidate, case) for case in exercise.tried):
        return messages.wrong_call(exercise, candidate)
    expected = known(exercise, exercise.solution)
    found = []
    try:
        for number, case in enumerate(exercise.tried):
            starting(number)
            found.append(observe(exercise, candidate, case))
            if messages.is_memory(found[-1].failure):
                return messages.no_memory(exercise, case)
    except NotImplementedError:
        return messages.unwritten(exercise)
    return judge(exercise, candidate, found, expected)


@cache
def known(
    exercise: Exercise, implementation: Implementation
) -> tuple[Outcome, ...]:
    """What the solution or a mistake does on every case."""
    return tuple(
        observe(exercise, implementation, case) for case in exercise.tried
    )


def judge(
    exercise: Exercise,
    candidate: Implementation,
    found: Sequence[Outcome],
    expected: Sequence[Outcome],
) -> Verdict:
    """Compare outcomes, case by case, and say what is seen in them."""
    wrong = wrong_cases(exercise, found, expected)
    if not wrong:
        return messages.correct(exercise, expected)

    def example(numbers: Sequence[int]) -> messages.Example:
        first = numbers[0]
        return messages.Example(
            exercise.tried[first], found[first], expected[first]
        )

    mistake = find_misconception(exercise, found, expected)
    if mistake is not None:
        shows = [n for n in wrong if tells(exercise, mistake, n)]
        return messages.misconception(
            exercise, mistake_of(mistake), example(shows or wrong)
        )
    if failed := [number for number in wrong if found[number].failure]:
        return messages.error(exercise, example(failed), len(failed))
    if slip := slip_in(exercise, candidate, example(wrong)):
        return messages.slip(exercise, slip, example(wrong))
    return messages.unknown(exercise, candidate, example(wrong), len(wrong))


def wrong_cases(
    exercise: Exercise, found: Sequence[Outcome], expected: Sequence[Outcome]
) -> list[int]:
    """The cases that are not right, the one to be shown first.

    Wrong results come before what is wrong beside them, such as gradients;
    then the smaller ones.
    """
    tolerance = exercise.tolerance

    def order(number: int) -> tuple[bool, int]:
        one, right = found[number].value, expected[number].value
        return same(one, right, tolerance), numel(exercise.tried[number])

    numbers = range(len(exercise.tried))
    wrong = [
        n for n in numbers if not is_right(found[n], expected[n], tolerance)
    ]
    return sorted(wrong, key=order)


def tells(exercise: Exercise, mistake: Implementation, number: int) -> bool:
    """Whether a mistake shows in one case."""
    return not is_right(
        known(exercise, mistake)[number],
        known(exercise, exercise.solution)[number],
        exercise.tolerance,
    )


def slip_in(
    exercise: Exercise, candidate: Implementation, example: messages.Example
) -> Slip | None:
    """A mistake of form that shows in a case."""
    if exercise.run is build_and_call and (
        slip := wrong_parameters(candidate, exercise.solution, example.case)
    ):
        return slip
    return find_slip(example.found, example.expected, exercise.tolerance)


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


def find_misconception(
    exercise: Exercise, found: Sequence[Outcome], expected: Sequence[Outcome]
) -> Implementation | None:
    """The one mistake of the catalogue that does the same in every case."""
    alike = [
        mistake
        for mistake in exercise.mistakes
        if acts_like(
            found, known(exercise, mistake), expected, exercise.tolerance
        )
    ]
    if len(set(map(mistake_of, alike))) != 1:
        return None
    return alike[0]


def acts_like(
    found: Sequence[Outcome],
    mistaken: Sequence[Outcome],
    expected: Sequence[Outcome],
    tolerance: float,
) -> bool:
    """Whether outcomes agree with those of a mistake.

    Gradients are asked only of a mistake that nothing else gives away.
    Errors agree if they are of one kind. Where nothing but errors tells a
    mistake from the solution, their messages must agree too: many mistakes
    end in the same kind of error.
    """
    pairs = list(zip(found, mistaken, strict=True))
    if not all(_alike(*pair, tolerance) for pair in pairs):
        return False
    if any(one.failure is not None for one in found):
        wrong_values = any(
            one.failure is None and not same(one.value, right.value, tolerance)
            for one, right in zip(found, expected, strict=True)
        )
        return wrong_values or all(a.failure == b.failure for a, b in pairs)
    by_gradient = all(
        same(one.value, right.value, tolerance)
        for one, right in zip(mistaken, expected, strict=True)
    )
    return not by_gradient or all(
        same_gradients(*pair, tolerance) for pair in pairs
    )


def _alike(found: Outcome, mistaken: Outcome, tolerance: float) -> bool:
    if found.failure is None or mistaken.failure is None:
        return found.failure is mistaken.failure and same(
            found.value, mistaken.value, tolerance
        )
    return found.failure.kind == mistaken.failure.kind
