"""One process per check: start it, watch its time and memory, end it.

The learner's code runs in ``child``, beside the notebook. This side reads its
messages from a file, so nothing that the code prints gets between them. In the
end the process is killed with all its children, the same way on every system.
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from course_exercises.candidate.payload import Payload
from course_exercises.engine.exercise import Exercise
from course_exercises.engine.messages import left_out, limit
from course_exercises.engine.verdict import Verdict
from transformer_course.errors import CourseError

START = 120.0  # seconds in which it has to import torch
COMPARING = 60.0  # seconds for comparing, after the code has run
PAUSE = 0.1  # seconds between two looks at it
QUIET = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "CUDA_VISIBLE_DEVICES": "",
}
"""The environment of a learner's code: one thread, no GPU, no screen."""


class CheckError(CourseError):
    """The process of a check has failed."""


@dataclass(frozen=True)
class Limits:
    """Time and memory that a learner's code may take."""

    seconds: float = 10.0
    """For all cases together."""
    memory: int = 2 << 30
    """Bytes beside what torch needs."""


def verdict_on(
    exercise: Exercise,
    payload: Payload,
    sources: dict[str, str],
    limits: Limits,
) -> Verdict:
    """Check an implementation in a process of its own.

    Where something that the code may need could not be taken there, it is
    named, and no mistake is.

    Args:
        exercise: the exercise.
        payload: the learner's function or class.
        sources: the source of the learner's cells, by file name.
        limits: of time and memory.

    Raises:
        CheckError: the process could not be started, or failed.
    """
    request = {
        "module": exercise.solution.__module__,
        "candidate": payload.content,
        "sources": sources,
    }
    with tempfile.TemporaryDirectory(
        prefix="transformer-course-", ignore_cleanup_errors=True
    ) as folder:
        child = Child(Path(folder), pickle.dumps(request))
        try:
            verdict = _watched(child, exercise, limits)
        finally:
            child.end()
    if payload.left_out and verdict.kind not in ("correct", "unwritten"):
        return left_out(exercise, payload.left_out)
    return verdict


def _watched(child: "Child", exercise: Exercise, limits: Limits) -> Verdict:
    """Wait for the verdict, or for a limit to be exceeded."""
    deadline = time.monotonic() + START
    memory, number = None, None  # allowed bytes; the case that is tried
    while True:
        has_ended = child.has_ended()  # if so, all its messages are there
        for message in child.messages():
            match message:
                case {"tried": int(tried)}:
                    if number is None:
                        deadline = time.monotonic() + limits.seconds
                        memory = child.memory() + limits.memory
                    if tried == len(exercise.tried):
                        deadline = time.monotonic() + COMPARING
                    number = min(tried, len(exercise.tried) - 1)
                case {"verdict": fields}:
                    return Verdict(**fields)
                case {"fault": text}:
                    raise CheckError(f"a check failed: {text}")
        is_late = time.monotonic() > deadline
        if number is None and (has_ended or is_late):
            raise CheckError(
                "the process that checks exercises did not start. "
                + child.errors()
            )
        if number is not None:
            exceeded = (
                (has_ended and "crash")
                or (is_late and "time")
                or (child.exceeds(memory) and "memory")
            )
            if exceeded:
                case = exercise.tried[number]
                return limit(exercise, exceeded, case, limits.seconds)
        time.sleep(PAUSE)


class Child:
    """The process of one check, and all that it starts.

    Args:
        folder: an empty one, for its request and its files.
        request: what it reads first.
        module: its code.
    """

    def __init__(
        self,
        folder: Path,
        request: bytes,
        module: str = "course_exercises.child",
    ):
        work = folder / "work"
        work.mkdir()
        (folder / "request").write_bytes(request)
        (folder / "messages").touch()
        self._messages = (folder / "messages").open("rb")
        self._line = b""
        self._errors = folder / "errors"
        with self._errors.open("wb") as errors:
            self.process = psutil.Popen(
                [sys.executable, "-m", module, folder],
                stdin=subprocess.PIPE,  # closes when the notebook ends
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=work,
                env=_environment(work),
            )
        self._known = {self.process}

    def messages(self) -> list[dict[str, Any]]:
        """Read its new messages."""
        text = self._line + self._messages.read()
        *complete, self._line = text.split(b"\n")
        return list(map(json.loads, complete))

    def errors(self) -> str:
        """The last line that Python wrote before the code was run."""
        lines = self._errors.read_text("utf-8", "replace").splitlines()
        return lines[-1] if lines else "It gave no reason."

    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def memory(self) -> int:
        """The bytes that it and its children use."""
        total = 0
        for process in self._processes():
            with suppress(psutil.Error):  # it has just ended
                total += process.memory_info().rss
        return total

    def exceeds(self, limit: int) -> bool:
        """Whether it uses more than ``limit`` bytes, now and a moment later.

        A child between fork and exec has its parent's pages: they would count
        twice.
        """
        if self.memory() <= limit:
            return False
        time.sleep(PAUSE / 10)
        return self.memory() > limit

    def end(self) -> None:
        """Kill it and its children, and wait until they are gone."""
        for process in self._processes():
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(self._known, timeout=START)
        self.process.stdin.close()
        self._messages.close()

    def _processes(self) -> set[psutil.Process]:
        """It and its children, also those whose parent has ended."""
        with suppress(psutil.Error):
            self._known |= set(self.process.children(recursive=True))
        return self._known


def _environment(work: Path) -> dict[str, str]:
    """The notebook's environment and import path; a place for files."""
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(work))
    return os.environ | QUIET | places | {"PYTHONPATH": path}
