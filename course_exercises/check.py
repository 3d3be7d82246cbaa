"""Functions for exercise notebooks: check, hint, solution, progress.

Each takes the learner's function or class, under the name that the exercise
gave it, and returns a text.
"""

import sys
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

from course_exercises import progress as progress_file
from course_exercises.answers import find_answer
from course_exercises.contents import EXERCISES, find
from course_exercises.engine.messages import paragraph
from course_exercises.engine.verdict import Answer, ModelAnswer, Verdict
from course_exercises.language import say
from transformer_course.errors import CourseError, MissingPackage

try:
    from course_exercises.candidate.payload import (
        PayloadError,
        pack,
        sources_of,
    )
    from course_exercises.process import Limits, verdict_on
except ModuleNotFoundError as error:
    raise MissingPackage(error, "exercises") from error

PACKAGES = ("transformer_course", "course_exercises")
LIMITS = Limits()
SHOWN = "solution({name}) shows how it can be written."
WITHHELD = "Solutions are not given out with this assignment."
_hints_given: Counter[str] = Counter()
_withheld = False


def answers(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Return errors that a learner can put right as answers."""

    @wraps(function)
    def wrapped(*args: Any) -> Answer:
        try:
            return function(*args)
        except (CourseError, PayloadError) as error:
            return Verdict(paragraph(say(str(error))), "refused")

    return wrapped


@answers
def check(candidate: Any) -> Answer:
    """Check a function or class, and name what is wrong with it.

    It runs in a process of its own, with limits of time and memory.

    Args:
        candidate: the function or class itself: ``check(causal_mask)``.
    """
    exercise = find(name_of(candidate))
    payload = pack(candidate)
    verdict = verdict_on(exercise, payload, sources_of(candidate), LIMITS)
    if verdict.is_correct:
        try:
            progress_file.record(exercise.name, progress_file.find_file())
        except progress_file.ProgressError as error:
            text = f"{verdict.text}\n\n{paragraph(str(error))}"
            return Verdict(text, "correct", exercise.name)
    return verdict


@answers
def hint(candidate: Any) -> Answer:
    """The first hint; the second one when it is asked for again."""
    exercise = find(name_of(candidate))
    number = _hints_given[exercise.name]
    _hints_given[exercise.name] += 1
    count = len(exercise.hints)
    if number >= count:
        more = WITHHELD if _withheld else SHOWN
        more = say(more, name=exercise.name)
        return Answer(say("There are no more hints. {more}", more=more))
    text = say(
        "Hint {number} of {count}: {hint}",
        number=number + 1,
        count=count,
        hint=exercise.words(f"hint-{number + 1}", exercise.hints[number]),
    )
    return Answer(paragraph(text))


@answers
def solution(candidate: Any) -> Answer:
    """The source of the solution.

    Args:
        candidate: the function or class, or the name of a question in words:
            then it is the model answer.
    """
    if _withheld:
        return Answer(say(WITHHELD))
    if isinstance(candidate, str) and (answer := find_answer(candidate)):
        return ModelAnswer(answer)
    return Answer(find(name_of(candidate)).source)


def without_solutions() -> None:
    """Make :func:`solution` withhold the solutions in this notebook.

    An assignment may be released so. The package holds them all the same.
    """
    global _withheld
    _withheld = True


@answers
def progress() -> Answer:
    """The exercises done, by chapter."""
    return Answer(progress_file.overview(progress_file.find_file()))


def name_of(candidate: Any) -> str:
    """The name of the learner's function or class.

    It is that in the notebook: ``def`` need not have given it.

    Raises:
        CourseError: it is neither, or was imported from the package.
    """
    if isinstance(candidate, str):
        return candidate
    notebook = vars(sys.modules["__main__"])
    name = next(
        (name for name in EXERCISES if notebook.get(name) is candidate),
        getattr(candidate, "__name__", None),
    )
    if name is None or not callable(candidate):
        made_of = type(candidate).__name__
        raise CourseError(
            say(
                "Give the class itself, not an object made of it: "
                "check({name}), without arguments.",
                name=made_of,
            )
            if made_of in EXERCISES
            else say(
                "Give the function itself, not what it returns: "
                "check(causal_mask), without arguments."
            )
        )
    module = getattr(candidate, "__module__", None) or ""
    if module.partition(".")[0] in PACKAGES:
        raise CourseError(
            say(
                "This {name} comes from the package. Run the cell in which "
                "you write your own, then this one.",
                name=name,
            )
        )
    return name
