"""The notebook's side of the worker: start it, ask it, stop it in time."""

import atexit
import json
import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import psutil

from transformer_course.errors import CourseError
from transformer_course.exercises.engine import messages
from transformer_course.exercises.engine.exercise import Case, Exercise
from transformer_course.exercises.engine.verdict import Verdict
from transformer_course.exercises.worker import Request, send

PAUSE = 0.05  # seconds between two looks at the memory
START = 120.0  # seconds that the worker may take to import torch
QUIET = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "CUDA_VISIBLE_DEVICES": "",
}
"""The environment of foreign code: one thread, no GPU, no screen."""
NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # Windows


class WorkerError(CourseError):
    """The process that checks code cannot do its work."""


class OutOfTime(Exception):
    """The code did not end."""


class OutOfMemory(Exception):
    """The code took too much."""


class Ended(Exception):
    """The process is no more."""


@dataclass(frozen=True)
class Limits:
    """What a learner's code may take."""

    seconds: float = 10.0
    """For all inputs together."""
    memory: int = 2 << 30
    """Bytes beside what torch has."""


class Worker:
    """A process that is kept from one check to the next.

    Args:
        limits: what code may take in a check.
    """

    def __init__(self, limits: Limits | None = None):
        self.limits = limits or Limits()
        self._process: subprocess.Popen | None = None
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._ready = False

    def start(self) -> None:
        """Start it, unless it is there; this does not wait for it."""
        if self._process is not None and self._process.poll() is None:
            return
        self._ready = False
        self._said = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "transformer_course.exercises.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for the notebook
            creationflags=NEW_GROUP,
        )
        threading.Thread(
            target=listen,
            args=(self._process.stdout, self._said),
            daemon=True,
        ).start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """End it, whatever it is doing."""
        atexit.unregister(self.stop)
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was left to be written
                pipe.close()

    def check(
        self,
        exercise: Exercise,
        candidate: bytes,
        sources: dict[str, str] | None = None,
    ) -> Verdict:
        """Have an implementation checked, within the limits.

        Args:
            exercise: what was asked.
            candidate: the function or class, as cloudpickle writes it.
            sources: the text of the cells that it comes from.

        Raises:
            WorkerError: the process could not be started, or failed.
        """
        self._wait_until_ready()
        request = Request(
            exercise.name, candidate, sources or {}, self.limits.memory
        )
        stage = _Stage(exercise)
        try:
            send(self._process.stdin, request)
            return self._wait_for_verdict(stage)
        except OutOfTime:
            verdict = messages.no_end(
                exercise, stage.case, self.limits.seconds
            )
        except OutOfMemory:
            verdict = messages.no_memory(exercise, stage.case)
        except (Ended, OSError, psutil.NoSuchProcess):
            verdict = messages.crashed(exercise, stage.case)
        except BaseException:  # an interrupt above all
            self._start_anew()
            raise
        self._start_anew()
        return verdict

    def _start_anew(self) -> None:
        self.stop()
        self.start()

    def _wait_until_ready(self) -> None:
        self.start()
        if self._ready:
            return
        try:
            message = self._said.get(timeout=START)
        except queue.Empty:
            message = None
        if message is None:
            self.stop()
            raise WorkerError(
                "the process that checks exercises did not start. See what "
                "this prints in a terminal: python -m "
                "transformer_course.exercises.worker < /dev/null"
            )
        self._ready = True

    def _wait_for_verdict(self, stage: "_Stage") -> Verdict:
        """Listen until the verdict comes, and watch time and memory."""
        process = psutil.Process(self._process.pid)
        most = process.memory_info().rss + self.limits.memory
        while True:
            try:
                message = self._said.get(timeout=PAUSE)
            except queue.Empty:
                if stage.is_over(self.limits.seconds):
                    raise OutOfTime from None
                if _memory(process) > most:
                    raise OutOfMemory from None
                continue
            if message is None:
                raise Ended
            if "fault" in message:
                raise WorkerError(f"a check failed: {message['fault']}")
            if "case" in message:
                stage.begin(message["case"])
                continue
            if not message["fit"]:
                self._start_anew()
            return Verdict(**message["verdict"])


class _Stage:
    """How far a check has come."""

    def __init__(self, exercise: Exercise):
        self._exercise = exercise
        self._number: int | None = None
        self._since = time.monotonic()

    def begin(self, number: int) -> None:
        """A case is being tried; the clock runs from the first one."""
        if self._number is None:
            self._since = time.monotonic()
        self._number = number

    def is_over(self, seconds: float) -> bool:
        """Whether the time is up; before the first case there is more."""
        allowed = START if self._number is None else seconds
        return time.monotonic() - self._since > allowed

    @property
    def case(self) -> Case:
        """The case that is being tried."""
        return self._exercise.tried[self._number or 0]


def _environment() -> dict[str, str]:
    """The worker imports what the notebook can."""
    path = os.pathsep.join(part for part in sys.path if part)
    return os.environ | QUIET | {"PYTHONPATH": path}


def listen(
    answers: BinaryIO, said: "queue.Queue[dict[str, Any] | None]"
) -> None:
    """Pass on what a process says, a line of JSON each; None at its end."""
    try:
        for line in answers:
            said.put(json.loads(line))
    except (OSError, ValueError):  # it was killed in the middle of a line
        pass
    said.put(None)


def _memory(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:  # it has just ended
        return 0
