"""From what an implementation does to a verdict."""

from collections.abc import Callable, Sequence
from functools import cache

from transformer_course.exercises import messages
from transformer_course.exercises.exercise import (
    Exercise,
    Implementation,
    numel,
)
from transformer_course.exercises.outcome import Outcome, observe
from transformer_course.exercises.slips import (
    find_slip,
    is_unwritten,
    same_gradients,
    wrong_call,
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
    wrong = [
        number
        for number, pair in enumerate(zip(found, expected, strict=True))
        if not is_right(*pair, exercise.tolerance)
    ]
    if not wrong:
        return messages.correct(exercise, expected)

    def order(number: int) -> tuple[bool, int]:
        """Wrong results before what is wrong beside them; then by size."""
        right = same(
            found[number].value, expected[number].value, exercise.tolerance
        )
        return right, numel(exercise.tried[number])

    wrong.sort(key=order)
    failed = [number for number in wrong if found[number].failure]
    smallest = failed[0] if failed else wrong[0]
    example = messages.Example(
        exercise.tried[smallest], found[smallest], expected[smallest]
    )
    mistake = find_misconception(exercise, found, expected)
    if mistake is not None:
        shown = wrong[0]
        example = messages.Example(
            exercise.tried[shown], found[shown], expected[shown]
        )
        return messages.misconception(exercise, mistake, example)
    if failed:
        return messages.error(exercise, example, len(failed))
    if slip := find_slip(example.found, example.expected, exercise.tolerance):
        return messages.slip(exercise, slip, example)
    return messages.unknown(exercise, candidate, example)


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
    return alike[0] if len(alike) == 1 else None


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
