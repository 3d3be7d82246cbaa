"""The mark of one exercise: what a test cell of an assignment calls.

A test cell runs in the student's kernel. The student's function runs in a
process of its own, as in a learner's check, so that an endless loop or a crash
in it costs that exercise only.
"""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

import torch

from course_exercises.candidate.payload import pack
from course_exercises.check import name_of, sources_of
from course_exercises.contents import by_chapter, find
from course_exercises.engine.exercise import Exercise
from course_exercises.engine.messages import paragraph
from course_exercises.engine.verdict import Verdict
from course_exercises.process import CheckError, Limits, verdict_on
from transformer_course.errors import CourseError

MIME = "application/vnd.transformer-course.verdict+json"
"""Type under which a test cell's output holds the verdict."""
PARTIAL = "TRANSFORMER_COURSE_PARTIAL"
"""Environment variable: share of the points for a known misconception."""
LIMITS = Limits(seconds=20.0)


@dataclass(frozen=True)
class Mark:
    """Points and verdict, shown as the output of a test cell."""

    points: float
    """Between 0 and the exercise's points."""
    verdict: Verdict
    """What the check found."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """The points as nbgrader reads them, and the verdict."""
        return {
            "text/plain": repr(self.points),
            "text/html": f"<pre>{escape(self.verdict.text)}</pre>"
            f"<p>Graded with Python {platform.python_version()} and torch "
            f"{torch.__version__}.</p>",
            MIME: asdict(self.verdict),
        }


def mark(name: str, namespace: dict[str, Any]) -> Mark:
    """Check an exercise and award its points.

    A wrong answer that uses the student's answer to an earlier exercise is
    checked once more with the course's solution of that one, so that one
    mistake is not counted twice.

    Args:
        name: the exercise's.
        namespace: the notebook's global names.

    Raises:
        CheckError: the check itself failed.
    """
    exercise = find(name)
    verdict, content = _check(exercise, namespace)
    chapter = by_chapter()[exercise.chapter]
    earlier = [
        other
        for other in chapter[: chapter.index(exercise)]
        if other.name in namespace and other.name.encode() in content
    ]
    if earlier and not verdict.is_correct:
        with _solved(earlier, namespace):
            again, _ = _check(exercise, namespace)
        if again.is_correct:
            names = " and ".join(other.name for other in earlier)
            note = (
                f"It is correct with the course's {names} in place of yours."
            )
            verdict = replace(again, text=f"{again.text}\n\n{paragraph(note)}")
    shares = {
        "correct": 1.0,
        "misconception": float(os.environ.get(PARTIAL, 0)),
    }
    return Mark(exercise.points * shares.get(verdict.kind, 0.0), verdict)


def _check(
    exercise: Exercise, namespace: dict[str, Any]
) -> tuple[Verdict, bytes]:
    """The verdict, and the pickled answer; empty if it cannot be pickled."""
    name = exercise.name
    if name not in namespace:
        text = f"{name} is not defined: its cell is missing or failed."
        return Verdict(text, "unwritten", name), b""
    try:
        name_of(namespace[name])
        payload = pack(namespace[name])
        sources = sources_of(namespace[name])
        verdict = verdict_on(exercise, payload, sources, LIMITS)
        return verdict, payload.content
    except CheckError:
        raise
    except CourseError as error:
        return Verdict(paragraph(str(error)), "refused", name), b""


@contextmanager
def _solved(
    exercises: list[Exercise], namespace: dict[str, Any]
) -> Iterator[None]:
    """Replace answers by the course's solutions for a while."""
    names = {exercise.name: exercise.solution for exercise in exercises}
    before = {name: namespace[name] for name in names}
    namespace.update(names)
    try:
        yield
    finally:
        namespace.update(before)
