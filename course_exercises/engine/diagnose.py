"""From an implementation to a verdict."""

import inspect
from collections.abc import Callable

from course_exercises.engine import messages
from course_exercises.engine.exercise import (
    Exercise,
    Implementation,
    call,
)
from course_exercises.engine.generic_mistakes import (
    is_unwritten,
    wrong_call,
    wrong_parameters,
)
from course_exercises.engine.match import Comparison, outcomes_of
from course_exercises.engine.mistakes import Mistake
from course_exercises.engine.outcome import in_expected_form, observe
from course_exercises.engine.verdict import Verdict


def diagnose(
    exercise: Exercise,
    candidate: Implementation,
    progress: Callable[[int], None] = lambda number: None,
) -> Verdict:
    """Call an implementation on every case, and name what is wrong.

    Args:
        exercise: the exercise.
        candidate: the learner's implementation.
        progress: called before each case and after the last one with the
            number of cases tried.
    """
    expected = outcomes_of(exercise, exercise.solution)
    if is_unwritten(candidate):
        return messages.unwritten(exercise)
    if inspect.isclass(candidate) != inspect.isclass(exercise.solution):
        return messages.wrong_kind(exercise)
    if any(wrong_call(candidate, case) for case in exercise.tried):
        return messages.wrong_call(exercise, candidate)
    found = []
    try:
        for number, case in enumerate(exercise.tried):
            progress(number)
            found.append(observe(exercise, candidate, case))
            if messages.is_memory(found[-1].failure):
                return messages.limit(exercise, "memory", case)
    except NotImplementedError:
        return messages.unwritten(exercise)
    progress(len(found))
    return judge(candidate, Comparison(exercise, found, expected))


def judge(candidate: Implementation, comparison: Comparison) -> Verdict:
    """Name what is wrong in outcomes."""
    exercise, wrong = comparison.exercise, comparison.wrong
    other = _other_parameters(exercise, candidate)
    if not wrong and other:
        return messages.generic(exercise, other, comparison.example(0))
    if not wrong:
        return messages.correct(exercise, comparison.expected)
    if known := known_mistakes(comparison):
        mistakes, number = known
        example = comparison.example(number)
        return messages.misconception(exercise, mistakes, example)
    example = comparison.example(wrong[0])
    if other:
        return messages.generic(exercise, other, example)
    if example.found.failure:
        count = sum(comparison.found[n].failure is not None for n in wrong)
        return messages.error(exercise, example, count)
    mistake = comparison.generic_mistakes(wrong[:1]).get(wrong[0])
    if mistake:
        return messages.generic(exercise, mistake, example)
    return messages.unknown(exercise, candidate, example, len(wrong))


def _other_parameters(
    exercise: Exercise, candidate: Implementation
) -> Mistake | None:
    """Parameters that are not those of the ``__init__`` that was given."""
    case = exercise.cases[0]
    if exercise.run is not call or not case.build:
        return None
    try:
        return wrong_parameters(candidate, exercise.solution, case)
    except Exception:  # it cannot be built: an outcome says so
        return None


def known_mistakes(
    comparison: Comparison,
) -> tuple[list[Mistake], int] | None:
    """Known mistakes, generic ones beside them, and a case that shows them.

    A wrong form may hide a known mistake, so results are compared as they
    are, then in the expected shape and dtype. Gradients, a changed input and
    the like are compared with those of the known mistake.
    """
    exercise, wrong = comparison.exercise, comparison.wrong
    results, forms = comparison.found, {}
    match = comparison.find_one() or comparison.find_two()
    if match is None:
        results = list(map(in_expected_form, results, comparison.expected))
        form = Comparison(exercise, comparison.found, results)
        forms = form.generic_mistakes(wrong)
        match = Comparison(exercise, results, comparison.expected).find_one()
    if match is None:
        return None
    number = max(  # the smallest of those that show most
        wrong, key=lambda n: comparison.shown(match, n) + (n in forms)
    )
    mistaken = outcomes_of(exercise, match.whole)
    beside = Comparison(exercise, results, mistaken)
    besides = beside.generic_mistakes(wrong)
    if 2 * len(besides) <= len(results):
        besides = {}  # here and there, a gradient has another kink
    named = [*_one(forms, number), *match.parts, *_one(besides, number)]
    return named, number


def _one(found: dict[int, Mistake], number: int) -> list[Mistake]:
    """The mistake in a case, or else the first one; none if there is none."""
    return [found.get(number, mistake) for mistake in found.values()][:1]
