"""One process per check: start it, watch its time and memory, end it.

The learner's code runs in ``child``, beside the notebook. This side reads its
progress from a file, so nothing that the code prints comes in between. In the
end the process is killed with everything that it started, the same way on
every system.
"""

import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from course_exercises.engine import messages
from course_exercises.engine.exercise import Exercise
from course_exercises.engine.verdict import Verdict
from transformer_course.errors import CourseError

START = 120.0  # seconds that it may take to import torch
COMPARING = 60.0  # seconds that it may take to compare, after the code has run
PAUSE = 0.1  # seconds between two looks
QUIET = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "CUDA_VISIBLE_DEVICES": "",
}
"""The environment of a learner's code: one thread, no GPU, no screen."""


class CheckError(CourseError):
    """The process that checks code cannot do its work."""


@dataclass(frozen=True)
class Limits:
    """Time and memory that a learner's code may take."""

    seconds: float = 10.0
    """For all inputs together."""
    memory: int = 2 << 30
    """Bytes beside what torch has."""


def verdict_on(
    exercise: Exercise,
    candidate: bytes,
    sources: dict[str, str],
    limits: Limits,
) -> Verdict:
    """Check an implementation in a process of its own.

    Args:
        exercise: the one that it is an answer to.
        candidate: the function or class, as cloudpickle writes it.
        sources: the text of the cells that it comes from, by file name.
        limits: the most that it may take.

    Raises:
        CheckError: the process could not be started, or failed.
    """
    request = {
        "module": exercise.solution.__module__,
        "candidate": candidate,
        "sources": sources,
    }
    folder = Path(tempfile.mkdtemp(prefix="transformer-course-"))
    try:
        child = Child(folder, pickle.dumps(request))
        try:
            return _watched(child, exercise, limits)
        finally:
            child.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _watched(child: "Child", exercise: Exercise, limits: Limits) -> Verdict:
    """The verdict of the process, or the limit that it went beyond."""
    until = time.monotonic() + START
    most, number = None, None  # bytes; the case that is being tried
    while True:
        has_ended = child.has_ended()  # if so, all its messages are there
        for message in child.messages():
            match message:
                case {"case": int(now)}:
                    if number is None:
                        until = time.monotonic() + limits.seconds
                        most = child.memory() + limits.memory
                    number = now
                case {"tried": _}:
                    until = time.monotonic() + COMPARING
                case {"verdict": told}:
                    return Verdict(**told)
                case {"fault": text}:
                    raise CheckError(f"a check failed: {text}")
        is_late = time.monotonic() > until
        if number is None and (has_ended or is_late):
            raise CheckError(
                "the process that checks exercises did not start. "
                + child.errors()
            )
        if has_ended:
            return messages.crashed(exercise, exercise.tried[number])
        if is_late:
            case = exercise.tried[number]
            return messages.no_end(exercise, case, limits.seconds)
        if most is not None and child.memory() > most:
            return messages.no_memory(exercise, exercise.tried[number])
        time.sleep(PAUSE)


class Child:
    """The process of one check, with all that it starts.

    Args:
        folder: an empty one, where it finds its request and may write.
        request: the pickled request.
    """

    def __init__(self, folder: Path, request: bytes):
        work = folder / "work"
        work.mkdir()
        (folder / "request").write_bytes(request)
        (folder / "said").touch()
        self._said = (folder / "said").open("rb")
        self._line = b""
        self._errors = folder / "errors"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "course_exercises.child", folder],
                stdin=subprocess.PIPE,  # closes when the notebook goes
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=work,
                env=_environment(work),
            )
        self._root = psutil.Process(self._process.pid)
        self._all = {self._root}

    def messages(self) -> list[dict[str, Any]]:
        """All that it has said since it was last asked."""
        *whole, self._line = (self._line + self._said.read()).split(b"\n")
        return list(map(json.loads, whole))

    def errors(self) -> str:
        """The last line that Python wrote before the code was run."""
        lines = self._errors.read_text("utf-8", "replace").splitlines()
        return lines[-1] if lines else "It gave no reason."

    def has_ended(self) -> bool:
        """Whether it is no more."""
        return self._process.poll() is not None

    def memory(self) -> int:
        """The bytes that it and all its children have now."""
        self._look()
        total = 0
        for process in self._all:
            with suppress(psutil.Error):  # it has just ended
                total += process.memory_info().rss
        return total

    def end(self) -> None:
        """End it and all that it has started, and wait until they are gone."""
        self._look()
        for process in self._all:
            with suppress(psutil.Error):
                process.kill()
        self._process.wait()
        psutil.wait_procs(self._all, timeout=START)
        self._process.stdin.close()
        self._said.close()

    def _look(self) -> None:
        """Remember its children: they may outlive it."""
        with suppress(psutil.Error):
            self._all |= set(self._root.children(recursive=True))


def _environment(work: Path) -> dict[str, str]:
    """The notebook's, with its import path, and a place for files."""
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(work))
    return os.environ | QUIET | places | {"PYTHONPATH": path}
