"""The course's verdict on what students' code did.

Code runs in the processes of ``runner``. What it did comes back as tensors,
numbers and texts, read without executing anything, and is compared here, where
no code of a student has been: so it does not help to change what the tests, or
the package, do.
"""

import ast
import itertools
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import torch

from tools.grading.answers import Program
from tools.grading.assignment import Hidden
from tools.grading.attempt import from_plain
from tools.grading.runner import PATIENCE
from tools.refresh_outputs import ROOT
from transformer_course.errors import CourseError
from transformer_course.exercises import catalogue
from transformer_course.exercises.engine import diagnose, messages
from transformer_course.exercises.engine.exercise import Exercise
from transformer_course.exercises.engine.verdict import Kind, Verdict
from transformer_course.exercises.process import QUIET, Limits, listen

START = 120.0  # seconds that the runner may take to import torch
SECONDS = 20.0
"""Of work, for the cell of an exercise and all its inputs."""
GRACE = 60.0  # seconds that it may take to say that the time is over


class JudgeError(CourseError):
    """The process that runs students' code cannot do its work."""


class Silent(Exception):
    """The runner says no more."""


class Judge:
    """Runs the code of students, and says what it is.

    Args:
        hidden: the inputs beside those of a learner's check.
        limits: what code may take.
        user: whose number students' code runs under; left out, it is the
            lecturer's own. Only root can choose another.
    """

    def __init__(
        self, hidden: Hidden, limits: Limits, user: int | None = None
    ):
        self.hidden = hidden
        self.limits = limits
        self.user = user
        self._runner: subprocess.Popen | None = None
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._runner is not None:
            self._runner.kill()
            self._runner.wait()
            self._runner.stdin.close()
            self._runner.stdout.close()
            self._runner = None

    def verdict(self, name: str, program: Program | None) -> Verdict:
        """The verdict on what a student wrote for an exercise.

        Raises:
            JudgeError: the process that runs code failed.
        """
        exercise = graded(name, self.hidden)
        if program is None:
            return _verdict(exercise, "unwritten", "missing", MISSING)
        with tempfile.TemporaryDirectory(prefix="grading-") as folder:
            result = Path(folder) / "result.pt"
            said = self._answer(name, program, result)
            if said["ended"] == "well" and not _size(result):
                said["ended"] = "crash"  # it ended itself, politely
            if said["ended"] != "well":
                return self._limit(exercise, said)
            found = _read(result)
        return judged(exercise, program, found)

    def _limit(self, exercise: Exercise, said: dict[str, Any]) -> Verdict:
        """It took too much, or ended the process."""
        how, begun = said["ended"], said["cases"]
        if begun == 0:
            text = BEFORE[how].format(seconds=self.limits.seconds)
            return _verdict(exercise, "limit", how, text)
        case = exercise.tried[min(begun, len(exercise.tried)) - 1]
        if how == "time":
            return messages.no_end(exercise, case, self.limits.seconds)
        if how == "memory":
            return messages.no_memory(exercise, case)
        return messages.crashed(exercise, case)

    def _answer(
        self, name: str, program: Program, result: Path
    ) -> dict[str, Any]:
        """How it ended. Code can also end the runner: then it crashed.

        If the solution does so too, it is not the student's fault.
        """
        try:
            return self._ask(name, program, result)
        except Silent:
            pass
        solution = Program(catalogue.find(name).source, given=program.given)
        try:
            self._ask(name, solution, result)
        except Silent:
            raise JudgeError(
                "the process that runs students' code ends whenever it tries "
                f"{name}, the solution too. Is there enough memory? What was "
                "graded so far is kept"
            ) from None
        return {"ended": "crash", "cases": 0}

    def _ask(
        self, name: str, program: Program, result: Path
    ) -> dict[str, Any]:
        self._start()
        request = {
            "exercise": name,
            "seed": self.hidden.seed,
            "drawn": self.hidden.drawn,
            "program": {
                "helpers": [*program.given, *program.helpers],
                "cell": program.cell,
            },
            "result": str(result),
            "seconds": self.limits.seconds,
            "memory": self.limits.memory,
            "user": self.user,
        }
        try:
            self._runner.stdin.write(json.dumps(request).encode() + b"\n")
            self._runner.stdin.flush()
            patience = PATIENCE * self.limits.seconds + GRACE
            said = self._said.get(timeout=patience)
        except (BrokenPipeError, queue.Empty):
            said = None
        if said is None:
            self.close()
            raise Silent
        return said

    def _start(self) -> None:
        if self._runner is not None and self._runner.poll() is None:
            return
        self._said = queue.Queue()
        self._runner = subprocess.Popen(
            [sys.executable, "-m", "tools.grading.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,
        )
        threading.Thread(
            target=listen,
            args=(self._runner.stdout, self._said),
            daemon=True,
        ).start()
        try:
            ready = self._said.get(timeout=START)
        except queue.Empty:
            ready = None
        if ready is None:
            self.close()
            raise JudgeError(
                "the process that runs students' code did not start. See "
                "what this prints in a terminal: python -m "
                "tools.grading.runner < /dev/null"
            )


def _environment() -> dict[str, str]:
    """The grader's own variables stay here."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    own = {key: os.environ[key] for key in kept if key in os.environ}
    return own | QUIET | {"PYTHONPATH": path}


@cache
def graded(name: str, hidden: Hidden) -> Exercise:
    """The exercise with the inputs of marking; one object for each."""
    return catalogue.find(name).with_more(hidden.seed, hidden.drawn)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _read(result: Path) -> dict[str, Any]:
    """What came back. Student's code may have written anything there."""
    try:
        found = torch.load(result, weights_only=True)
        return found if isinstance(found, dict) else {"refused": "no result"}
    except Exception as error:
        return {"refused": type(error).__name__}


def judged(
    exercise: Exercise, program: Program, found: dict[str, Any]
) -> Verdict:
    """What is seen in what a program did."""
    try:
        verdict = _judged(exercise, program, found)
    except Exception as error:  # not what the runner writes
        found = {"refused": type(error).__name__}
        verdict = _judged(exercise, program, found)
    printed = found.get("printed", "")
    if isinstance(printed, str):
        return messages.with_prints(verdict, printed)
    return verdict


def _judged(
    exercise: Exercise, program: Program, found: dict[str, Any]
) -> Verdict:
    if "refused" in found:
        text = REFUSED.format(reason=found["refused"])
        return _verdict(exercise, "refused", str(found["refused"]), text)
    if "verdict" in found:
        said = {key: str(value) for key, value in found["verdict"].items()}
        verdict = Verdict(**said)
        if verdict.kind not in ("unwritten", "slip", "limit"):
            raise ValueError("a forged verdict")
        return verdict
    if found.get("missing"):
        return _top(exercise, found["top"])
    outcomes = [from_plain(outcome) for outcome in found["outcomes"]]
    expected = diagnose.expected_of(exercise)
    form = diagnose.form_of(exercise, _unexecuted(exercise, program))
    verdict = diagnose.judge(exercise, form, outcomes, expected)
    if verdict.is_correct:
        text = CORRECT.format(count=len(expected))
        return _verdict(exercise, "correct", "", text)
    if found["slip"] and verdict.kind in ("slip", "unknown"):
        name, text = str(found["slip"]["name"]), str(found["slip"]["text"])
        return _verdict(exercise, "slip", name, text)
    return verdict


def _top(exercise: Exercise, error: dict[str, Any] | None) -> Verdict:
    """The cell was run, and then the function was not there."""
    if error is None:
        return _verdict(exercise, "unwritten", "missing", MISSING)
    if error["kind"] == "MemoryError":
        return _verdict(exercise, "limit", "memory", BEFORE["memory"])
    said = ": ".join(filter(None, (error["kind"], error["message"])))
    where = f"\n    in line {error['line']}:  {error['source']}"
    text = TOP.format(said + (where if error["line"] else ""))
    return _verdict(exercise, "error", error["kind"], text)


def _unexecuted(exercise: Exercise, program: Program) -> Any:
    """A function that can be looked at; nothing of the program is run."""
    try:
        codes = [
            code
            for code in compile(program.cell, "<cell>", "exec").co_consts
            if isinstance(code, CodeType) and code.co_name == exercise.name
        ]
        plain = not isinstance(exercise.solution, type) and codes
        return FunctionType(codes[-1], {}) if plain else exercise.solution
    except (SyntaxError, ValueError, TypeError):
        return exercise.solution


def uses_the_course(program: Program) -> list[str]:
    """Modules of the course that a program imports, or speaks of.

    The solutions stand in the package: whoever calls them has not written
    them. This finds the plain cases only.
    """
    found: set[str] = set()
    for source in (*program.helpers, program.cell):
        try:
            nodes = list(ast.walk(ast.parse(source)))
        except (SyntaxError, ValueError, RecursionError):
            continue
        names = itertools.chain.from_iterable(map(_modules, nodes))
        found |= {name for name in names if name.startswith(PACKAGE)}
    return sorted(found)


def _modules(node: ast.AST) -> Sequence[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value] if node.value.startswith(PACKAGE + ".") else []
    return []


PACKAGE = "transformer_course"
CORRECT = (
    "correct. Tried on {count} inputs, most of them other than in your own "
    "check."
)
MISSING = (
    "not there. No cell of the notebook defines a function or class of this "
    "name."
)
REFUSED = (
    "your code could not be tried, or left nothing that can be read "
    "({reason}). A person will look at it."
)
TOP = (
    "your cell raises an error when it is run, and then there is no function "
    "to try.\n\n    {}"
)
BEFORE = {
    "time": "your cell did not end within {seconds:g} s, even before the "
    "function was called. Does a loop outside of it never reach its end?",
    "memory": "your cell wants more memory than it may have, even before the "
    "function was called.",
    "crash": "your cell ends the Python process that it runs in.",
}


def _verdict(
    exercise: Exercise, kind: Kind, mistake: str, text: str
) -> Verdict:
    first, *rest = f"{exercise.name}: {text}".split("\n\n")
    text = "\n\n".join([messages.paragraph(first), *rest])
    return Verdict(text, kind, exercise.name, mistake)
