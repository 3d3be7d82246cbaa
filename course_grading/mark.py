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
MAX_SAID = 16 << 20
"""Bytes of what is said of an answer."""
READY_MADE = {
    "Embedding": r"nn\.Embedding|F\.embedding",
    "scaled_dot_product_attention": r"F\.scaled_dot_product_attention"
    r"|functional\.scaled_dot_product_attention",
    "stable_softmax": r"\.(?:log_)?softmax\(|nn\.Softmax",
    "masked_softmax": r"\.(?:log_)?softmax\(|nn\.Softmax",
    "MultiHead": r"MultiheadAttention|multi_head_attention",
    "LayerNorm": r"nn\.LayerNorm|layer_norm\(",
    "AddNorm": r"nn\.LayerNorm|layer_norm\(",
    "MyEncoderLayer": r"TransformerEncoderLayer",
    "MyDecoderLayer": r"TransformerDecoderLayer",
    "MyStack": r"nn\.Transformer\w+",
    "MyTransformer": r"nn\.Transformer\b",
    "smoothed_loss": r"cross_entropy|CrossEntropyLoss",
    "RMSNorm": r"nn\.RMSNorm|rms_norm\(",
    "grouped_attention": r"enable_gqa",
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
        found = self._tried([Trial(find(n), a) for n, a in answers.items()])
        wrong = {name for name in found if not found[name].is_correct}
        for name in wrong:
            used = stand_ins(name, answers, wrong)
            if not used:
                continue
            # alone: no other answer may find what stands in for it
            again = Trial(find(name), answers[name], used)
            verdict = self._tried([again])[name]
            if verdict.is_correct:
                note = f"It is correct with the course's {' and '.join(used)} "
                note += "in place of yours."
                text = f"{verdict.text}\n\n{paragraph(note)}"
                found[name] = replace(verdict, text=text)
        return found

    def _tried(self, trials: Sequence["Trial"]) -> dict[str, Verdict]:
        """The verdicts, from as few processes as may be.

        An answer that exceeds a limit ends its process; another one goes on
        with those after it.
        """
        found = {
            trial.exercise.name: verdict
            for trial in trials
            if (verdict := trial.untried())
        }
        todo = [t for t in trials if t.exercise.name not in found]
        while todo:
            telling = _Telling(todo)
            ending = self.sandbox.run(
                self.course,
                ["-m", "course_exercises.candidate"],
                by_value([trial.request() for trial in todo]),
                Limits(START, MEMORY),
                telling.told,
            )
            verdicts = telling.verdicts(ending)
            found |= {v.exercise: v for v in verdicts}
            todo = todo[len(verdicts) :]
        return found


def stand_ins(
    name: str, answers: dict[str, Answer], wrong: Iterable[str]
) -> list[str]:
    """The wrong answers in whose place one answer may have the course's.

    It names them; but the course's must not hold what it should give itself,
    nor may two answers be made of each other.

    Args:
        name: the answer's.
        answers: all of the notebook.
        wrong: the names of those that are wrong.
    """
    return [
        other
        for other in answers[name].uses(sorted({*wrong} - {name}))
        if not answers[other].uses([name])
        and not Answer(by_value(find(other).solution)).uses([name])
    ]


@dataclass(frozen=True)
class Trial:
    """An answer, and how it is to be tried."""

    exercise: Exercise
    answer: Answer
    stand_ins: Sequence[str] = ()
    """Other exercises, whose solutions stand in for the student's answers;
    feedback holds nothing that is printed where they are."""

    def untried(self) -> Verdict | None:
        """The verdict on an answer that cannot be tried."""
        name = self.exercise.name
        if self.answer.is_missing:
            text = f"{name} is not defined: its cell is missing or failed."
            return Verdict(text, "unwritten", name)
        if self.answer.refused:
            text = paragraph(self.answer.refused)
            return messages.finished(Verdict(text, "refused", name))
        return None

    def request(self) -> dict[str, Any]:
        """What the process is given; no solution of this exercise."""
        return {
            "answer": self.answer.content,
            "sources": self.answer.sources,
            "task": task_of(self.exercise),
            "stand_ins": {n: find(n).solution for n in self.stand_ins},
        }

    def verdict(self, said: dict[str, Any], number: int, end: str) -> Verdict:
        """Judge what was found, or say which limit was exceeded.

        Args:
            said: the last that the process said of it.
            number: of cases tried.
            end: the limit that was exceeded, if it said nothing.
        """
        exercise, left_out = self.exercise, self.answer.left_out
        match said:
            case {"findings": str(text), "printed": str(printed)}:
                printed = "" if self.stand_ins else printed[: MAX_PRINTED + 2]
                verdict = messages.finished(self._judged(text), printed)
            case {"not_carried": str(why)}:
                verdict = messages.not_carried(exercise, why[:1000])
                return messages.finished(verdict)
            case _:
                case = exercise.tried[min(number, len(exercise.tried) - 1)]
                verdict = messages.limit(exercise, end, case, SECONDS)
        if left_out and verdict.kind not in ("correct", "unwritten"):
            return messages.finished(messages.left_out(exercise, left_out))
        return verdict

    def _judged(self, text: str) -> Verdict:
        exercise = self.exercise
        try:
            findings = plain.loads(text)
            _require_all_cases(findings, exercise)
        except ValueError as error:
            why = f"{exercise.name}: it gave no findings ({error})."
            return Verdict(paragraph(why), "refused", exercise.name)
        return judge(exercise, findings)


class _Telling:
    """What the process of some trials has said so far."""

    def __init__(self, trials: Sequence[Trial]):
        self._trials = trials
        self._said: list[dict[str, Any]] = []
        self._numbers: list[int] = []

    def told(self, line: bytes) -> float | None:
        """Take a line in; returns the seconds that are left from now."""
        if len(line) > MAX_SAID:
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        match message:
            case {"begun": int(number)} if (
                number == len(self._said) < len(self._trials)
            ):
                self._said.append({})
                self._numbers.append(0)
                return SECONDS
            case {"tried": int(number)} if (
                self._said and number > self._numbers[-1]
            ):
                self._numbers[-1] = number
                trial = self._trials[len(self._said) - 1]
                if number == len(trial.exercise.tried):
                    return COMPARING
            case {"findings": _} | {"not_carried": _} if self._said:
                self._said[-1] = message
        return None

    def verdicts(self, ending: Ending) -> list[Verdict]:
        """Judge the trials up to the one that ended the process.

        Raises:
            SandboxError: the process did not start.
        """
        if not self._said:
            raise SandboxError(
                "the process that tries answers did not start: "
                f"{ending.errors.strip()[-500:] or ending.reason}"
            )
        ends = ["crash"] * len(self._said)  # a fork ended, the others go on
        if ending.reason != "done":
            ends[-1] = ending.reason
        said = zip(self._trials, self._said, self._numbers, ends, strict=False)
        return [trial.verdict(*told) for trial, *told in said]


def _require_all_cases(findings: Findings, exercise: Exercise) -> None:
    """Findings leave out no case, unless one took too much memory.

    Raises:
        ValueError: they do, or are about other arguments.
    """
    found = findings.outcomes
    if findings.is_unwritten or not findings.takes_arguments:
        return
    if findings.is_class != task_of(exercise).is_class:
        return
    stopped = bool(found) and found[-1].failure and found[-1].failure.is_memory
    if len(found) != len(exercise.tried) and not stopped:
        raise ValueError(f"of {len(exercise.tried)} cases {len(found)}")
    for outcome, case in zip(found, exercise.tried, strict=False):
        if not {*outcome.changed} <= {*range(len(case.args)), *case.kwargs}:
            raise ValueError(f"changed arguments {outcome.changed}")


def by_value(request: Any) -> bytes:
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
