"""How marks come about."""

from dataclasses import dataclass

from course_exercises.engine.exercise import Exercise
from course_exercises.engine.verdict import Verdict
from course_exercises.process import Limits


@dataclass(frozen=True)
class Hidden:
    """The inputs that only marking uses.

    Args:
        seed: of the first that is drawn; a learner's check begins with 0.
        drawn: how many.
    """

    seed: int = 20171206
    drawn: int = 24


@dataclass(frozen=True)
class Policy:
    """How marks come about.

    Args:
        hidden: the inputs that only marking uses.
        limits: what the code of one exercise may take.
        partial: the share of the points for code that runs, and makes one
            mistake that is in the catalogue.
        user: whose number students' code runs under.
    """

    hidden: Hidden
    limits: Limits
    partial: float = 0.0
    user: int | None = None

    def points(self, verdict: Verdict, exercise: Exercise) -> float:
        """All for correct code, a share for a known mistake, else none."""
        share = {"correct": 1.0, "misconception": self.partial}
        return exercise.points * share.get(verdict.kind, 0.0)
