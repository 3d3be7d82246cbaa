"""From an implementation to a verdict."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from course_exercises.engine import messages
from course_exercises.engine.exercise import (
    Exercise,
    Implementation,
    call,
    mistake_of,
)
from course_exercises.engine.match import Comparison, outcomes_of
from course_exercises.engine.outcome import (
    Outcome,
    in_expected_form,
    observe,
)
from course_exercises.engine.slips import (
    Mistake,
    is_unwritten,
    unused,
    wrong_call,
    wrong_parameters,
)
from course_exercises.engine.verdict import Verdict


@dataclass(frozen=True)
class Form:
    """What an implementation shows without being called on a case."""

    unused: Sequence[str]
    """The parameters that it never uses."""
    parameters: Callable[[int], Mistake | None]
    """Finds a wrong ``nn.Parameter`` of a class, built as in a case."""


def form_of(exercise: Exercise, candidate: Implementation) -> Form:
    """Inspect an implementation."""

    def parameters(number: int) -> Mistake | None:
        case = exercise.tried[number]
        if exercise.run is not call or not case.build:
            return None
        return wrong_parameters(candidate, exercise.solution, case)

    return Form(unused(candidate), parameters)


def diagnose(
    exercise: Exercise,
    candidate: Implementation,
    on_case: Callable[[int], None] = lambda number: None,
) -> Verdict:
    """Call an implementation on every case, and name what is wrong.

    Args:
        exercise: the exercise.
        candidate: the learner's implementation.
        on_case: called with the number of each case before it is tried.
    """
    expected = expected_of(exercise)
    found = outcomes(exercise, candidate, on_case)
    if isinstance(found, Verdict):
        return found
    return judge(exercise, form_of(exercise, candidate), found, expected)


def outcomes(
    exercise: Exercise,
    candidate: Implementation,
    on_case: Callable[[int], None] = lambda number: None,
) -> list[Outcome] | Verdict:
    """Call an implementation on every case, or say why that is impossible.

    Args:
        exercise: the exercise.
        candidate: the learner's implementation.
        on_case: called with the number of each case before it is tried.
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
            on_case(number)
            found.append(observe(exercise, candidate, case))
            if messages.is_memory(found[-1].failure):
                return messages.no_memory(exercise, case)
    except NotImplementedError:
        return messages.unwritten(exercise)
    return found


def expected_of(exercise: Exercise) -> tuple[Outcome, ...]:
    """The outcomes of the solution, case by case."""
    return outcomes_of(exercise, exercise.solution)


def judge(
    exercise: Exercise,
    form: Form,
    found: Sequence[Outcome],
    expected: Sequence[Outcome],
) -> Verdict:
    """Compare outcomes, and name what is wrong."""
    comparison = Comparison(exercise, found, expected)
    wrong = comparison.wrong
    if not wrong:
        return messages.correct(exercise, expected)
    if known := known_mistakes(comparison):
        mistakes, number = known
        example = comparison.example(number)
        return messages.misconception(exercise, mistakes, example)
    example = comparison.example(wrong[0])
    if example.found.failure:
        count = sum(found[n].failure is not None for n in wrong)
        return messages.error(exercise, example, count)
    slips = comparison.slips(wrong[:1])
    if slip := form.parameters(wrong[0]) or slips.get(wrong[0]):
        return messages.slip(exercise, slip, example)
    return messages.unknown(exercise, form.unused, example, len(wrong))


def known_mistakes(
    comparison: Comparison,
) -> tuple[list[Mistake], int] | None:
    """Known mistakes with the slips beside them, and a case that shows them.

    A slip of form may hide a known mistake, so results are compared as they
    are, then in the expected shape and dtype. Gradients, a changed input and
    the like are compared with those of the known mistake.
    """
    exercise, wrong = comparison.exercise, comparison.wrong
    results, forms = comparison.found, {}
    match = comparison.find_one() or comparison.find_two()
    if match is None:
        results = list(map(in_expected_form, results, comparison.expected))
        forms = Comparison(exercise, comparison.found, results).slips(wrong)
        match = Comparison(exercise, results, comparison.expected).find_one()
    if match is None:
        return None
    number = max(  # the smallest of those that show most
        wrong, key=lambda n: comparison.shown(match, n) + (n in forms)
    )
    mistaken = outcomes_of(exercise, match.whole)
    besides = Comparison(exercise, results, mistaken).slips(wrong)
    if 2 * len(besides) <= len(results):
        besides = {}  # here and there, a gradient has another kink
    parts = [
        Mistake(one.__name__, one.__doc__ or "", exercise.section_of(one))
        for one in map(mistake_of, match.parts)
    ]
    return [*_one(forms, number), *parts, *_one(besides, number)], number


def _one(slips: dict[int, Mistake], number: int) -> list[Mistake]:
    """The slip of a case, or else the first one; none if there is none."""
    return [slips.get(number, slip) for slip in slips.values()][:1]
