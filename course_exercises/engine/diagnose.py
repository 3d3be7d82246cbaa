"""From what an implementation does to a verdict."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from course_exercises.engine import messages
from course_exercises.engine.exercise import (
    Exercise,
    Implementation,
    build_and_call,
    mistake_of,
    numel,
)
from course_exercises.engine.match import (
    find_one,
    find_two,
    is_right,
    known,
    shows,
)
from course_exercises.engine.outcome import Outcome, mended, observe
from course_exercises.engine.slips import (
    Slip,
    find_slip,
    is_unwritten,
    unused,
    wrong_call,
    wrong_parameters,
)
from course_exercises.engine.values import same
from course_exercises.engine.verdict import Verdict


@dataclass(frozen=True)
class Form:
    """Properties of code that show without running it on a case."""

    unused: Sequence[str]
    """The parameters that it never uses."""
    parameters: Callable[[int], Slip | None]
    """The slip in a class's parameters, built as in a case."""


def form_of(exercise: Exercise, candidate: Implementation) -> Form:
    """Look at an implementation itself."""

    def parameters(number: int) -> Slip | None:
        if exercise.run is not build_and_call:
            return None
        case = exercise.tried[number]
        return wrong_parameters(candidate, exercise.solution, case)

    return Form(unused(candidate), parameters)


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
    expected = expected_of(exercise)
    found = outcomes(exercise, candidate, starting)
    if isinstance(found, Verdict):
        return found
    return judge(exercise, form_of(exercise, candidate), found, expected)


def outcomes(
    exercise: Exercise,
    candidate: Implementation,
    starting: Callable[[int], None] = lambda number: None,
) -> list[Outcome] | Verdict:
    """Run an implementation on every case, or say why that cannot be done.

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
    found = []
    try:
        for number, case in enumerate(exercise.tried):
            starting(number)
            found.append(observe(exercise, candidate, case))
            if messages.is_memory(found[-1].failure):
                return messages.no_memory(exercise, case)
    except NotImplementedError:
        return messages.unwritten(exercise)
    return found


def expected_of(exercise: Exercise) -> tuple[Outcome, ...]:
    """The outcomes of the solution, case by case."""
    return outcomes_of(exercise, exercise.solution)


def outcomes_of(
    exercise: Exercise, implementation: Implementation
) -> tuple[Outcome, ...]:
    """The outcomes of the solution or a mistake, case by case; cached."""
    return tuple(
        known(exercise, implementation, number)
        for number in range(len(exercise.tried))
    )


def judge(
    exercise: Exercise,
    form: Form,
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

    if told := known_mistakes(exercise, found, expected, wrong):
        mistakes, number = told
        return messages.misconception(exercise, mistakes, example([number]))
    if found[wrong[0]].failure:
        failed = [number for number in wrong if found[number].failure]
        return messages.error(exercise, example(failed), len(failed))
    slip = form.parameters(wrong[0]) or find_slip(
        found[wrong[0]], expected[wrong[0]], exercise.tolerance
    )
    if slip:
        return messages.slip(exercise, slip, example(wrong))
    return messages.unknown(exercise, form.unused, example(wrong), len(wrong))


def known_mistakes(
    exercise: Exercise,
    found: Sequence[Outcome],
    expected: Sequence[Outcome],
    wrong: Sequence[int],
) -> tuple[list[Implementation | Slip], int] | None:
    """Known mistakes with the slips beside them, and a case that shows them.

    A slip of form may hide a known mistake: results are compared as they are,
    then in the shape and dtype that are asked for. Gradients, and what else
    is beside a result, are compared with those of the known mistake.
    """
    results, forms = found, {}
    mistakes = find_one(exercise, found, expected, wrong) or find_two(
        exercise, found, expected, wrong
    )
    if mistakes is None:
        results = list(map(mended, found, expected))
        forms = slips(exercise, found, results, wrong)
        left = wrong_cases(exercise, results, expected)
        mistakes = find_one(exercise, results, expected, left)
    if mistakes is None:
        return None

    def shown(number: int) -> int:
        return shows(exercise, mistakes, number) + (number in forms)

    number = max(wrong, key=shown)  # the smallest of those that show most
    whole = outcomes_of(exercise, mistakes.whole)
    parts = map(mistake_of, mistakes.parts)
    besides = slips(exercise, results, whole, wrong)
    if 2 * len(besides) <= len(found):
        besides = {}  # here and there, a gradient has another kink
    return [*one_of(forms, number), *parts, *one_of(besides, number)], number


def slips(
    exercise: Exercise,
    found: Sequence[Outcome],
    expected: Sequence[Outcome],
    numbers: Sequence[int],
) -> dict[int, Slip]:
    """The slips of form, by the number of the case."""
    return {
        number: slip
        for number in numbers
        if (
            slip := find_slip(
                found[number], expected[number], exercise.tolerance
            )
        )
    }


def one_of(slips: dict[int, Slip], number: int) -> list[Slip]:
    """The slip of a case, or the first of all; an empty list without any."""
    return [slips.get(number, slip) for slip in slips.values()][:1]


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
