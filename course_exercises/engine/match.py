"""Compare outcomes, and find the known mistakes that have the same ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

from course_exercises.candidate.outcome import Outcome, observe, value_of
from course_exercises.candidate.values import like, same
from course_exercises.engine.exercise import (
    Case,
    Exercise,
    Implementation,
    numel,
)
from course_exercises.engine.generic_mistakes import (
    find_generic_mistake,
    same_gradients,
)
from course_exercises.engine.mistakes import Misconception, Mistake


@cache
def known(
    exercise: Exercise, implementation: Implementation, number: int
) -> Outcome:
    """The outcome of the solution or a mistake on one case; cached."""
    return observe(exercise.run, implementation, exercise.tried[number])


def outcomes_of(
    exercise: Exercise, implementation: Implementation
) -> tuple[Outcome, ...]:
    """The outcomes of the solution or a mistake on every case; cached."""
    return tuple(
        known(exercise, implementation, number)
        for number in range(len(exercise.tried))
    )


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


def in_expected_form(found: Outcome, expected: Outcome) -> Outcome:
    """The same results in the expected shape and dtype, where possible."""
    return replace(
        found,
        value=like(found.value, expected.value),
        again=like(found.again, expected.value),
    )


class Example(NamedTuple):
    """A case with its outcomes, to be shown to the learner."""

    case: Case
    found: Outcome
    expected: Outcome


class Match(NamedTuple):
    """One mistake of the catalogue, or two that are made at once."""

    parts: tuple[Misconception, ...]
    whole: Implementation
    """The implementation that makes them all."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The outcomes of an implementation beside the expected ones.

    Args:
        exercise: the exercise.
        found: the implementation's outcomes, case by case.
        expected: usually the solution's.
    """

    exercise: Exercise
    found: Sequence[Outcome]
    expected: Sequence[Outcome]

    @cached_property
    def wrong(self) -> list[int]:
        """Numbers of the wrong cases, the one to show first in front.

        Wrong values come before wrong gradients and the like; then the
        smaller cases.
        """
        pairs = enumerate(zip(self.found, self.expected, strict=True))
        tolerance = self.exercise.tolerance
        wrong = [n for n, pair in pairs if not is_right(*pair, tolerance)]
        return sorted(
            wrong,
            key=lambda n: (self.same_value(n), numel(self.exercise.tried[n])),
        )

    def same_value(self, number: int) -> bool:
        """Whether the results of one case are equal."""
        return same(
            self.found[number].value,
            self.expected[number].value,
            self.exercise.tolerance,
        )

    def example(self, number: int) -> Example:
        """One case, to be shown."""
        return Example(
            self.exercise.tried[number],
            self.found[number],
            self.expected[number],
        )

    def generic_mistakes(self, numbers: Sequence[int]) -> dict[int, Mistake]:
        """The generic mistakes in these cases, by the number of the case."""
        exercise = self.exercise
        found = {
            n: find_generic_mistake(
                self.found[n],
                self.expected[n],
                [*exercise.arguments(exercise.tried[n])],
                exercise.tolerance,
            )
            for n in numbers
        }
        return {n: mistake for n, mistake in found.items() if mistake}

    def find_one(self) -> Match | None:
        """The one mistake of the catalogue that has the same outcomes."""
        alike = [
            mistake
            for mistake in self.exercise.mistakes
            if self._is_like(mistake.implementation)
            and self._is_evidence_for(mistake.implementation)
        ]
        if len({mistake.name for mistake in alike}) != 1:
            return None
        return Match((alike[0],), alike[0].implementation)

    def find_two(self) -> Match | None:
        """The first two mistakes that have the same outcomes together.

        Only wrong values are evidence of two mistakes: an error has many
        causes, and two wrong gradients may cancel.
        """
        numbers = [
            n
            for n in self.wrong
            if not self.found[n].failure and not self.same_value(n)
        ]
        if not numbers:
            return None
        case, value, _ = self.example(numbers[0])
        for one, other, both in self.exercise.pairs:
            tried = value_of(self.exercise.run, both, case)
            if same(
                tried, value.value, self.exercise.tolerance
            ) and self._is_like(both):
                return Match((one, other), both)
        return None

    def shown(self, match: Match, number: int) -> int:
        """Count the mistakes that change the result of one case.

        One of two does where it is wrong by itself, and both together differ
        from it.
        """
        tolerance = self.exercise.tolerance
        right, whole, *parts = (
            known(self.exercise, implementation, number)
            for implementation in (
                self.exercise.solution,
                match.whole,
                *(part.implementation for part in match.parts),
            )
        )
        return sum(
            not is_right(part, right, tolerance)
            and (part is whole or not _is_alike(part, whole, tolerance))
            for part in parts
        )

    def _is_like(self, mistake: Implementation) -> bool:
        """Whether values agree in every case, and errors are of one type.

        The wrong cases come first: the first rules most mistakes out.
        """
        others = set(range(len(self.found))) - set(self.wrong)
        return all(
            _is_alike(
                self.found[number],
                known(self.exercise, mistake, number),
                self.exercise.tolerance,
            )
            for number in [*self.wrong, *sorted(others)]
        )

    def _is_evidence_for(self, mistake: Implementation) -> bool:
        """Whether the agreement is enough to name a mistake.

        A wrong value is. Without any, messages of errors must agree too,
        since many mistakes end in one type of error, and so must gradients.
        """
        if any(
            one.failure is None and not self.same_value(number)
            for number, one in enumerate(self.found)
        ):
            return True
        mistaken = outcomes_of(self.exercise, mistake)
        return all(
            one.failure == other.failure
            and same_gradients(one, other, self.exercise.tolerance)
            for one, other in zip(self.found, mistaken, strict=True)
        )


def _is_alike(found: Outcome, mistaken: Outcome, tolerance: float) -> bool:
    """Whether both failed with one type of error, or have equal values."""
    if found.failure and mistaken.failure:
        return found.failure.kind == mistaken.failure.kind
    return found.failure is mistaken.failure and same(
        found.value, mistaken.value, tolerance
    )
