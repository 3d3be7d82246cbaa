"""From what was found to a verdict."""

import inspect
from collections.abc import Callable

from course_exercises.candidate.cases import Implementation
from course_exercises.candidate.findings import (
    Findings,
    Task,
    parameters_of,
    study,
    unused,
)
from course_exercises.engine import messages
from course_exercises.engine.exercise import Exercise
from course_exercises.engine.generic_mistakes import wrong_parameters
from course_exercises.engine.match import (
    Comparison,
    in_expected_form,
    outcomes_of,
)
from course_exercises.engine.mistakes import Mistake
from course_exercises.engine.verdict import Verdict


def task_of(exercise: Exercise) -> Task:
    """What is tried, without a solution in it."""
    is_class = inspect.isclass(exercise.solution)
    return Task(exercise.run, exercise.tried, is_class)


def diagnose(
    exercise: Exercise,
    candidate: Implementation,
    progress: Callable[[int], None] = lambda number: None,
) -> Verdict:
    """Call an implementation on every case, and name what is wrong.

    Args:
        exercise: the exercise.
        candidate: the learner's implementation.
        progress: see :func:`course_exercises.candidate.findings.study`.
    """
    outcomes_of(exercise, exercise.solution)  # not in the learner's time
    return judge(exercise, study(task_of(exercise), candidate, progress))


def judge(exercise: Exercise, findings: Findings) -> Verdict:
    """Name what is wrong in what was found about an implementation."""
    if findings.is_unwritten:
        return messages.unwritten(exercise)
    if findings.is_class != inspect.isclass(exercise.solution):
        return messages.wrong_kind(exercise)
    if not findings.takes_arguments:
        return messages.wrong_call(exercise, findings.signature)
    last = findings.outcomes[-1].failure
    if last and last.is_memory:
        case = exercise.tried[len(findings.outcomes) - 1]
        return messages.limit(exercise, "memory", case)
    expected = outcomes_of(exercise, exercise.solution)
    comparison = Comparison(exercise, findings.outcomes, expected)
    other = _other_parameters(exercise, findings)
    wrong = comparison.wrong
    if not wrong and other:
        return messages.generic(exercise, other, comparison.example(0))
    if not wrong:
        return messages.correct(exercise, expected)
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
    by_solution = unused(exercise.solution)
    ignored = sorted(set(findings.unused) - set(by_solution))
    return messages.unknown(exercise, ignored, example, len(wrong))


def _other_parameters(
    exercise: Exercise, findings: Findings
) -> Mistake | None:
    """Parameters that are not those of the ``__init__`` that was given."""
    wanted = parameters_of(exercise.solution, exercise.cases[0])
    if findings.parameters is None or wanted is None:
        return None
    return wrong_parameters({*findings.parameters}, {*wanted})


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
