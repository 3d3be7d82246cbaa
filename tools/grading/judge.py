"""The course's verdict on what students' code did.

Code runs in the processes of ``runner``, which have the inputs and no answer.
What it did comes back as tensors, numbers and texts, read without executing
anything, and is compared here, where no code of a student has been: so it does
not help to change what the tests, or the package, do.
"""

import ast
import inspect
import itertools
import json
import os
import queue
import signal
import subprocess
import symtable
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import Tensor, nn

from course_exercises import contents
from course_exercises.engine import diagnose, messages
from course_exercises.engine.exercise import Exercise, Implementation
from course_exercises.engine.verdict import Kind, Verdict
from course_exercises.process import QUIET, Limits
from tools.grading import handover, results
from tools.grading.answers import Program
from tools.grading.attempt import from_plain
from tools.grading.policy import Hidden
from tools.grading.processes import remove_folder
from tools.grading.texts import readable, shortened
from tools.refresh_outputs import ROOT
from transformer_course.errors import CourseError

START = 120.0  # seconds that the runner may take to import torch
SECONDS = 20.0
"""Of work, for the cell of an exercise and all its inputs."""
PATIENCE = 5  # times as long by the clock as by the processor
GRACE = 60.0  # seconds that it may take to say that the time is over
LONGEST_PROGRAM = 200_000
"""Signs of the code of an exercise, with all that it uses."""
LONGEST_TEXT = 20_000
"""Signs of a verdict."""
NOBODY_S = 60_000
"""User numbers above this belong to no person."""


class JudgeError(CourseError):
    """The process that runs students' code cannot do its work."""


class Judge:
    """Runs the code of students, and says what it is.

    Args:
        hidden: the inputs beside those of a learner's check.
        limits: what code may take.
        user: whose number students' code runs under; left out, it is the
            lecturer's own. Only root can choose another. Above 60,000, where
            no person's numbers are, each try has one of its own, from this
            one down.
    """

    def __init__(
        self, hidden: Hidden, limits: Limits, user: int | None = None
    ):
        self.hidden = hidden
        self.limits = limits
        self._users = _users(user)
        self._runner: subprocess.Popen | None = None
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._is_fresh = True

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, and all below it."""
        runner, self._runner = self._runner, None
        if runner is None:
            return
        runner.terminate()
        runner.send_signal(signal.SIGCONT)  # if code has stopped it
        try:
            runner.wait(GRACE)
        except subprocess.TimeoutExpired:
            runner.kill()
            runner.wait()
        runner.stdin.close()
        runner.stdout.close()

    def verdict(self, name: str, program: Program | None) -> Verdict:
        """The verdict on what a student wrote for an exercise.

        Where it is wrong and uses what the student wrote for an earlier
        exercise, it is tried with the solution of that one, too.

        Raises:
            JudgeError: the process that runs code failed.
        """
        exercise = graded(name, self.hidden)
        if program is None:
            return _verdict(exercise, "unwritten", "missing", MISSING)
        texts = (*program.given, *program.helpers, program.cell)
        if sum(map(len, texts)) > LONGEST_PROGRAM:
            text = TOO_LONG.format(limit=LONGEST_PROGRAM)
            return _verdict(exercise, "refused", "too long", text)
        verdict = self._tried(exercise, program)
        earlier, rest = without_earlier(exercise, program)
        if earlier and not verdict.is_correct:
            other = self._tried(exercise, rest, earlier)
            verdict = followed(exercise, verdict, other, earlier)
        return _readable(verdict)

    def _tried(
        self,
        exercise: Exercise,
        program: Program,
        replaced: tuple[Exercise, ...] = (),
    ) -> Verdict:
        folder = Path(tempfile.mkdtemp(prefix="grading-"))
        try:
            task = handover.packed(exercise, replaced)
            said = self._answer(exercise, program, task, folder)
            if said["ended"] != "well":
                return self._limit(exercise, said)
            found = _read(folder / "result")
        finally:
            remove_folder(folder)
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
        self, exercise: Exercise, program: Program, task: bytes, folder: Path
    ) -> dict[str, Any]:
        """How it ended.

        A crash may be another's fault: then it is tried again in a fresh
        process. It may be nobody's: the solution would crash too.
        """
        was_fresh = self._is_fresh
        said = self._ask(program, task, folder)
        if said["ended"] == "crash" and not was_fresh:
            self.close()
            said = self._ask(program, task, folder)
        if said["ended"] != "crash":
            return said
        name = exercise.name
        solution = Program(contents.find(name).source, given=program.given)
        task = handover.packed(exercise)
        if self._ask(solution, task, folder)["ended"] == "crash":
            raise JudgeError(
                "the process that runs students' code ends whenever it tries "
                f"{name}, the solution too. Is there enough memory, and room "
                f"in {folder.parent}? What was graded so far is kept"
            )
        return said

    def _ask(
        self, program: Program, task: bytes, folder: Path
    ) -> dict[str, Any]:
        """How one try ended, in a folder that is emptied before."""
        self._start()
        self._is_fresh = False
        _lay_out(folder, program, task)
        request = {
            "folder": str(folder),
            "seconds": self.limits.seconds,
            "patience": PATIENCE * self.limits.seconds,
            "memory": self.limits.memory,
            "user": next(self._users),
        }
        try:
            self._runner.stdin.write(json.dumps(request).encode() + b"\n")
            self._runner.stdin.flush()
            said = self._said.get(timeout=request["patience"] + GRACE)
        except (BrokenPipeError, queue.Empty):
            said = None
        if said is None:  # it was ended
            self.close()
            return {"ended": "crash", "cases": 0}
        if said["ended"] == "well" and not _size(folder / "result"):
            said["ended"] = "crash"  # it ended itself, politely
        return said

    def _start(self) -> None:
        if self._runner is not None and self._runner.poll() is None:
            return
        self.close()
        self._is_fresh = True
        self._said = queue.Queue()
        self._runner = subprocess.Popen(
            # -s and -P: no module from a folder where others may write
            [sys.executable, "-s", "-P", "-m", "tools.grading.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,
        )
        threading.Thread(
            target=_listen,
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


def _listen(
    messages: Iterable[bytes], said: "queue.Queue[dict[str, Any] | None]"
) -> None:
    """Pass on what a process says, a line of JSON each; None at its end."""
    with suppress(OSError):  # it was killed
        for message in messages:
            with suppress(ValueError, RecursionError):  # from somebody else
                said.put(json.loads(message))
    said.put(None)


def _users(first: int | None) -> Iterator[int | None]:
    """Whose number each try runs under."""
    if first is None or first <= NOBODY_S:
        return itertools.repeat(first)
    return itertools.cycle(range(first, NOBODY_S, -1))


def _lay_out(folder: Path, program: Program, task: bytes) -> None:
    """Put into a folder what a try needs, and nothing else."""
    remove_folder(folder)  # it may be anything by now
    folder.mkdir(0o700)
    content = {
        "helpers": [*program.given, *program.helpers],
        "cell": program.cell,
    }
    (folder / "program.json").write_text(json.dumps(content))
    (folder / "task").write_bytes(task)
    for path in folder.iterdir():
        path.chmod(0o600)
    (folder / "work").mkdir(0o700)
    folder.chmod(0o711)  # another user gets to `work`, and sees nothing here


def _environment() -> dict[str, str]:
    """The grader's own variables stay here."""
    kept = ("PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
    folders = [str(ROOT), *filter(os.path.isabs, sys.path)]
    own = {key: os.environ[key] for key in kept if key in os.environ}
    return own | QUIET | {"PYTHONPATH": os.pathsep.join(folders)}


@cache
def graded(name: str, hidden: Hidden) -> Exercise:
    """The exercise with the inputs of marking; one object for each."""
    return contents.find(name).with_more(hidden.seed, hidden.drawn)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _read(result: Path) -> dict[str, Any]:
    """What came back. Student's code may have written anything there."""
    try:
        return results.read(result)
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
        if verdict.kind == "unwritten":
            return _verdict(exercise, "unwritten", "", UNWRITTEN)
        return verdict
    if found.get("missing"):
        return _top(exercise, found["top"])
    outcomes = [from_plain(outcome) for outcome in found["outcomes"]]
    expected = diagnose.expected_of(exercise)
    if len(outcomes) != len(expected):
        raise ValueError("some inputs were left out")
    if inspect.isclass(exercise.solution):
        candidate = _with_weights(exercise, found["parameters"])
    else:
        candidate = _unexecuted(exercise, program)
    form = diagnose.form_of(exercise, candidate)
    verdict = diagnose.judge(exercise, form, outcomes, expected)
    if verdict.is_correct:
        text = CORRECT.format(count=len(expected))
        return _verdict(exercise, "correct", "", text)
    return verdict


def _with_weights(exercise: Exercise, weights: Any) -> Implementation:
    """What has weights of these names and shapes, and no numbers in them."""
    if weights is None:  # it could not be built
        return exercise.solution
    made = [
        (str(name), torch.empty(shape, device="meta"))
        for name, shape in weights
    ]

    class Weights(nn.Module):
        def __init__(self, *_: Any):
            super().__init__()

        def named_parameters(self) -> list[tuple[str, Tensor]]:
            return made

    return Weights


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


def _unexecuted(exercise: Exercise, program: Program) -> Implementation:
    """A function that can be looked at; nothing of the program is run."""
    try:
        codes = [
            code
            for code in compile(program.cell, "<cell>", "exec").co_consts
            if isinstance(code, CodeType) and code.co_name == exercise.name
        ]
        return FunctionType(codes[-1], {}) if codes else exercise.solution
    except (Exception, RecursionError, MemoryError):
        return exercise.solution


def without_earlier(
    exercise: Exercise, program: Program
) -> tuple[tuple[Exercise, ...], Program]:
    """The chapter's earlier exercises that a program uses, and its rest."""
    chapter = contents.by_chapter()[exercise.chapter]
    names = [other.name for other in chapter]
    used = _names_in("\n\n".join((*program.helpers, program.cell)))
    earlier = tuple(
        other
        for other in chapter[: names.index(exercise.name)]
        if other.name in used
    )
    taken = {other.name for other in earlier}
    rest = [h for h in program.helpers if taken.isdisjoint(_defined_in(h))]
    return earlier, replace(program, helpers=tuple(rest))


def _names_in(source: str) -> set[str]:
    try:
        tree = ast.parse(source)
    except (Exception, RecursionError, MemoryError):
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _defined_in(source: str) -> set[str]:
    """The names that a cell gives to something."""
    try:
        symbols = symtable.symtable(source, "<cell>", "exec").get_symbols()
    except (Exception, RecursionError, MemoryError):
        return set()
    return {one.get_name() for one in symbols if one.is_assigned()}


def followed(
    exercise: Exercise,
    verdict: Verdict,
    other: Verdict,
    earlier: tuple[Exercise, ...],
) -> Verdict:
    """Of two verdicts, that which says what is wrong in this exercise.

    Args:
        exercise: what was asked.
        verdict: on what the student wrote.
        other: with the solutions of earlier exercises in it.
        earlier: these exercises.
    """
    names = " and ".join(one.name for one in earlier)
    if other.is_correct:
        return replace(other, text=f"{other.text}\n\n{_told(FOLLOWS, names)}")
    told = {"unwritten": 0, "slip": 2, "misconception": 3}
    if told.get(other.kind, 1) > told.get(verdict.kind, 1):
        return replace(other, text=f"{other.text}\n\n{_told(BESIDES, names)}")
    return verdict


def _told(text: str, names: str) -> str:
    return messages.paragraph(text.format(names=names))


def _readable(verdict: Verdict) -> Verdict:
    """As files and pages can have it, whatever the code said of itself."""
    return replace(
        verdict,
        text=readable(shortened(verdict.text, LONGEST_TEXT)),
        mistake=readable(verdict.mistake),
    )


CORRECT = (
    "correct. Tried on {count} inputs, most of them other than in your own "
    "check."
)
UNWRITTEN = "not written: it raises NotImplementedError, as it was handed out."
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
TOO_LONG = (
    "your code, with all that it uses, has more than {limit:,} signs: it was "
    "not tried. A person will look at it."
)
FOLLOWS = (
    "Your own {names} makes this one go wrong. It was tried with the course's "
    "{names} in that place: what is wrong there costs its own points only."
)
BESIDES = (
    "So it is with the course's {names} in the place of yours, which makes "
    "something else go wrong too."
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
