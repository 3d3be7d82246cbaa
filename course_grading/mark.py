"""The mark of one exercise.

A student's answer comes out of the notebook as data. A process in a sandbox
tries it on the exercise's inputs and says what it does, as data again; here,
where no student's code runs, that is compared with what is expected.
"""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import cloudpickle

from course_exercises import catalogue
from course_exercises.candidate import plain
from course_exercises.candidate.findings import Findings
from course_exercises.candidate.streams import MAX_PRINTED
from course_exercises.contents import find
from course_exercises.engine import messages
from course_exercises.engine.diagnose import judge, task_of
from course_exercises.engine.exercise import Exercise
from course_exercises.engine.messages import paragraph
from course_exercises.engine.verdict import Verdict
from course_exercises.path.parts import NAMES
from course_exercises.process import COMPARING, START
from course_grading.sandbox import Ending, Limits, Sandbox, SandboxError

SECONDS = 20.0
"""Seconds for all inputs of an exercise together."""
MEMORY = 3 << 30
"""Bytes, with those that torch needs."""
READY_MADE = {
    "Embedding": r"nn\.Embedding|F\.embedding",
    "scaled_dot_product_attention": r"F\.scaled_dot_product_attention"
    r"|functional\.scaled_dot_product_attention",
    "stable_softmax": r"softmax\(",
    "masked_softmax": r"F\.softmax|\.softmax\(",
    "MultiHead": r"MultiheadAttention|multi_head_attention",
    "LayerNorm": r"nn\.LayerNorm|layer_norm\(",
    "AddNorm": r"nn\.LayerNorm|layer_norm\(",
    "MyEncoderLayer": r"TransformerEncoderLayer",
    "MyDecoderLayer": r"TransformerDecoderLayer",
    "MyStack": r"nn\.Transformer\w+",
    "MyTransformer": r"nn\.Transformer\b",
    "smoothed_loss": r"cross_entropy|CrossEntropyLoss",
}
"""What PyTorch has ready-made for a part, as it is written in code."""


class BadAnswer(ValueError):
    """What a notebook handed over is no answer."""


@dataclass(frozen=True)
class Answer:
    """What a test cell has handed over; nothing of it has been run."""

    content: bytes = b""
    """Pickled, and never loaded here."""
    left_out: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    """Why it could not be packed."""
    is_missing: bool = False

    @classmethod
    def read(cls, about: Any) -> "Answer":
        """Read the data of a test cell's output, whoever wrote it.

        Raises:
            BadAnswer: it has another form.
        """
        match about:
            case {"missing": True}:
                return cls(is_missing=True)
            case {"refused": str(text)}:
                return cls(refused=text[:1000])
            case {
                "content": str(content),
                "left_out": dict(left_out),
                "sources": dict(sources),
            } if all(
                isinstance(text, str)
                for text in (*left_out.values(), *sources.values())
            ):
                try:
                    raw = base64.b64decode(content, validate=True)
                except ValueError as error:
                    raise BadAnswer(str(error)) from error
                return cls(raw, left_out, sources)
        raise BadAnswer("another form")

    def uses(self, names: Iterable[str]) -> list[str]:
        """Those of these names that stand in it."""
        return [name for name in names if name.encode() in self.content]


@dataclass(frozen=True)
class Marker:
    """Marks the answers of one notebook.

    Args:
        sandbox: where they run.
        course: the folder that they see.
    """

    sandbox: Sandbox
    course: Path

    def verdicts(self, answers: dict[str, Answer]) -> dict[str, Verdict]:
        """Judge every answer of a notebook.

        A wrong answer that uses other answers which are wrong is tried once
        more with the course's in their place, so that one mistake is not
        counted twice.

        Args:
            answers: by the exercise's name.

        Raises:
            SandboxError: the sandbox failed.
        """
        found = {n: self.verdict(find(n), a) for n, a in answers.items()}
        right = {name for name in found if found[name].is_correct}
        for name in answers.keys() - right:
            wrong = answers.keys() - right - {name}
            used = answers[name].uses(sorted(wrong))
            if used:
                again = self.verdict(find(name), answers[name], used)
                if again.is_correct:
                    note = (
                        f"It is correct with the course's {' and '.join(used)}"
                        " in place of yours."
                    )
                    text = f"{again.text}\n\n{paragraph(note)}"
                    found[name] = replace(again, text=text)
        return found

    def verdict(
        self, exercise: Exercise, answer: Answer, stand_ins: Sequence[str] = ()
    ) -> Verdict:
        """Judge one answer.

        Args:
            exercise: the exercise.
            answer: the student's.
            stand_ins: other exercises whose solutions stand in for the
                student's answers.

        Raises:
            SandboxError: the sandbox failed.
        """
        name = exercise.name
        if answer.is_missing:
            text = f"{name} is not defined: its cell is missing or failed."
            return Verdict(text, "unwritten", name)
        if answer.refused:
            return Verdict(paragraph(answer.refused), "refused", name)
        trial = _Trial(exercise)
        request = {
            "answer": answer.content,
            "sources": answer.sources,
            "task": task_of(exercise),
            "stand_ins": {one: find(one).solution for one in stand_ins},
        }
        ending = self.sandbox.run(
            self.course,
            ["-m", "course_exercises.candidate"],
            by_value(request),
            Limits(START, MEMORY),
            trial.told,
        )
        verdict = trial.verdict(ending)
        if answer.left_out and verdict.kind not in ("correct", "unwritten"):
            return messages.left_out(exercise, answer.left_out)
        return verdict


class _Trial:
    """What the process of one answer has said so far."""

    def __init__(self, exercise: Exercise):
        self._exercise = exercise
        self._has_started = False
        self._number: int | None = None
        self._last: dict[str, Any] = {}

    def told(self, line: bytes) -> float | None:
        """Take a line in; returns the seconds that are left."""
        try:
            message = json.loads(line)
        except ValueError:
            return None
        count = len(self._exercise.tried)
        match message:
            case {"tried": int(number)} if 0 <= number <= count:
                is_first, self._number = self._number is None, number
                if number == count:
                    return COMPARING
                return SECONDS if is_first else None
            case {"started": True}:
                self._has_started = True
            case dict():
                self._last = message
        return None

    def verdict(self, ending: Ending) -> Verdict:
        """Judge what was found, or say which limit was exceeded."""
        exercise = self._exercise
        match self._last:
            case {"findings": str(text), "printed": str(printed)}:
                verdict = self._judged(text)
                printed = printed[: MAX_PRINTED + 2]
                return messages.with_prints(verdict, printed)
            case {"not_carried": str(why)}:
                return messages.not_carried(exercise, why[:1000])
        if not self._has_started:
            raise SandboxError(
                f"the process that tries {exercise.name} did not start: "
                f"{ending.errors.strip()[-500:] or ending.reason}"
            )
        reason = "crash" if ending.reason == "done" else ending.reason
        last = len(exercise.tried) - 1
        case = exercise.tried[min(self._number or 0, last)]
        return messages.limit(exercise, reason, case, SECONDS)

    def _judged(self, text: str) -> Verdict:
        exercise = self._exercise
        try:
            findings = plain.loads(text)
            _require_all_cases(findings, exercise)
        except ValueError as error:
            return Verdict(
                paragraph(f"{exercise.name}: it gave no findings ({error})."),
                "refused",
                exercise.name,
            )
        return judge(exercise, findings)


def _require_all_cases(findings: Findings, exercise: Exercise) -> None:
    """Findings leave out no case, unless one took too much memory."""
    tried = findings.outcomes
    if findings.is_unwritten or not findings.takes_arguments:
        return
    if findings.is_class != task_of(exercise).is_class:
        return
    stopped = bool(tried) and tried[-1].failure and tried[-1].failure.is_memory
    if len(tried) != len(exercise.tried) and not stopped:
        raise ValueError(f"of {len(exercise.tried)} cases {len(tried)}")


def by_value(request: dict[str, Any]) -> bytes:
    """Pickle with the catalogue's functions by value.

    The process that reads it cannot import the catalogue.
    """
    cloudpickle.register_pickle_by_value(catalogue)
    try:
        return cloudpickle.dumps(request)
    finally:
        cloudpickle.unregister_pickle_by_value(catalogue)


def ready_made(name: str, source: str) -> list[str]:
    """What PyTorch has ready-made for a part and its code names."""
    if name not in NAMES or name not in READY_MADE:
        return []
    return sorted(set(re.findall(READY_MADE[name], source)))


@cache
def points_of(name: str) -> int:
    """The points of an exercise.

    Raises:
        CourseError: there is none of that name.
    """
    return find(name).points


def points(verdict: Verdict, partial: float) -> float:
    """The points that a verdict is worth.

    Args:
        verdict: of an exercise.
        partial: share of the points for a known misconception.
    """
    shares = {"correct": 1.0, "misconception": partial}
    return points_of(verdict.exercise) * shares.get(verdict.kind, 0.0)
