"""The notebook's side of the worker: start it, ask it, stop it in time."""

import atexit
import os
import queue
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import psutil

from transformer_course.errors import CourseError
from transformer_course.exercises.attempt import Request
from transformer_course.exercises.descendants import (
    MARK,
    end_below,
    end_marked,
)
from transformer_course.exercises.engine import messages
from transformer_course.exercises.engine.exercise import Exercise
from transformer_course.exercises.engine.verdict import Verdict
from transformer_course.exercises.worker import METHOD, START, listen, send
from transformer_course.files import remove_folder

PAUSE = 1.0  # seconds until the worker is woken, should it sleep
GRACE = 60.0  # seconds that it may take to make ready and to compare
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


@dataclass(frozen=True)
class Limits:
    """What a learner's code may take."""

    seconds: float = 10.0
    """For all inputs together."""
    memory: int = 2 << 30
    """Bytes beside what torch has."""


class Worker:
    """The process that checks, kept from one check to the next.

    Args:
        limits: what code may take in a check.
        method: how a process for each check is made: ``fork``, or ``spawn``
            where torch cannot be copied.
    """

    def __init__(self, limits: Limits | None = None, method: str = METHOD):
        self.limits = limits or Limits()
        self._method = method
        self._process: subprocess.Popen | None = None
        self._owner = 0
        self._mark = self._folder = ""
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._ready = False
        self._turn = threading.RLock()

    def start(self) -> None:
        """Start it, unless it is there; this does not wait for it."""
        if self._process is not None:
            if self._owner == os.getpid() and self._process.poll() is None:
                return
            self.stop()
        self._owner = os.getpid()
        self._mark = secrets.token_hex()
        self._folder = tempfile.mkdtemp(prefix="transformer-course-")
        self._ready = False
        self._said = queue.Queue()
        module = "transformer_course.exercises.worker"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, self._method, self._folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment() | {MARK: self._mark},
            start_new_session=True,  # Ctrl-C is for the notebook
            creationflags=NEW_GROUP,
        )
        threading.Thread(
            target=_hear,
            args=(self._process.stdout, self._said),
            daemon=True,
        ).start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """End it and all that it has started, whatever they are doing."""
        atexit.unregister(self.stop)
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return  # a copy of the notebook's process has none of its own
        with suppress(psutil.Error):
            psutil.Process(process.pid).suspend()  # it starts no more
        end_below(process.pid)
        process.kill()
        process.wait()
        end_marked(self._mark)
        with suppress(OSError):  # what was left to be written
            process.stdin.close()
        remove_folder(self._folder)

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
        request = Request(
            exercise.name,
            candidate,
            sources or {},
            self.limits.seconds,
            self.limits.memory,
            id=secrets.token_hex(),
        )
        with self._turn:
            self._wait_until_ready()
            try:
                answer = self._ask(request)
            except BaseException:  # an interrupt above all
                self._start_anew()
                raise
            if answer is None:
                self._start_anew()
                return messages.crashed(exercise, exercise.tried[0])
        if "fault" in answer:
            raise WorkerError(f"a check failed: {answer['fault']}")
        return Verdict(**answer["verdict"])

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

    def _ask(self, request: Request) -> dict[str, Any] | None:
        """The answer to this request and no other; None if it has ended."""
        threading.Thread(  # who does not read keeps nobody waiting
            target=_send, args=(self._process.stdin, request), daemon=True
        ).start()
        until = time.monotonic() + 2 * request.seconds + GRACE
        while time.monotonic() < until:
            try:
                answer = self._said.get(timeout=PAUSE)
            except queue.Empty:
                self._wake()
                continue
            if answer is None or _is_to(request, answer):
                return answer
        raise WorkerError(
            "the process that checks exercises gave no answer, and was "
            "started anew. Run this cell again"
        )

    def _wake(self) -> None:
        """Code can stop the process that watches it."""
        with suppress(psutil.Error):
            psutil.Process(self._process.pid).resume()


def _is_to(request: Request, answer: Any) -> bool:
    return isinstance(answer, dict) and answer.get("id") == request.id


def _environment() -> dict[str, str]:
    """The worker imports what the notebook can."""
    path = os.pathsep.join(part for part in sys.path if part)
    return os.environ | QUIET | {"PYTHONPATH": path}


def _send(stream: BinaryIO, request: Request) -> None:
    with suppress(OSError, ValueError):  # it has ended: that will be heard
        send(stream, request)


def _hear(
    answers: BinaryIO, said: "queue.Queue[dict[str, Any] | None]"
) -> None:
    """Whoever reads a pipe closes it: to close it for another may hang."""
    with answers:
        listen(answers, said)
