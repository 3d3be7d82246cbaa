"""The process in which learners' code runs: one check after another.

``process`` starts it and talks to it. It reads requests from its standard
input, writes what it has to say to its standard output, a line of JSON each,
and gives the learner's code neither of them. When the notebook goes, its
standard input ends, and so does it.
"""

import builtins
import io
import json
import linecache
import os
import pickle
import queue
import random
import re
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import cloudpickle
import torch

from transformer_course.exercises import catalogue
from transformer_course.exercises.engine import messages
from transformer_course.exercises.engine.diagnose import diagnose, expected_of
from transformer_course.exercises.engine.exercise import Exercise
from transformer_course.exercises.engine.match import is_right, known
from transformer_course.exercises.engine.outcome import observe
from transformer_course.exercises.engine.verdict import Verdict

PRINTED = 1000
"""Signs of what the code prints that are kept."""


@dataclass(frozen=True)
class Request:
    """One implementation to be checked."""

    exercise: str
    """Its name."""
    candidate: bytes
    """The function or class, as cloudpickle writes it."""
    sources: dict[str, str] = field(default_factory=dict)
    """The text of the cells that it comes from, by file name."""
    memory: int = 2 << 30
    """Bytes that it may take beside what torch has."""


def send(stream: BinaryIO, request: Request) -> None:
    """Write a request: its length, then itself."""
    content = pickle.dumps(request)
    stream.write(struct.pack("!Q", len(content)) + content)
    stream.flush()


def receive(stream: BinaryIO) -> Request | None:
    """The next request; None at the end."""
    header = stream.read(8)
    if len(header) < 8:
        return None
    content = stream.read(struct.unpack("!Q", header)[0])
    return pickle.loads(content)


class Prints(io.TextIOBase):
    """Keeps the beginning of what is printed."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._left = PRINTED
        self._cut = False

    def writable(self) -> bool:
        """As a file for writing should."""
        return True

    def write(self, text: str) -> int:
        """Keep what there is room for."""
        if self._left > 0:
            self._parts.append(text[: self._left])
        self._cut |= len(text) > self._left
        self._left -= min(len(text), self._left)
        return len(text)

    def text(self) -> str:
        """What was kept."""
        return "".join(self._parts) + (" …" if self._cut else "")


def main() -> None:
    """Answer requests until there are no more."""
    requests, say = take_pipes()
    waiting: queue.Queue[Request] = queue.Queue()
    threading.Thread(
        target=listen, args=(requests, waiting), daemon=True
    ).start()
    prepare()
    say(ready=True)
    while True:
        request = waiting.get()
        try:
            verdict = answer(request, lambda number: say(case=number))
            fit = is_fit(catalogue.find(request.exercise))
            say(verdict=verdict.as_dict(), fit=fit)
        except BaseException:  # our own fault; the notebook will say so
            say(fault=traceback.format_exc())


def take_pipes() -> tuple[BinaryIO, Callable[..., None]]:
    """Keep the two pipes, and leave the code that will run none of them."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    sys.stdin = open(os.devnull)  # noqa: SIM115
    lock = threading.Lock()

    def say(**message: Any) -> None:
        with lock:
            answers.write(json.dumps(message).encode() + b"\n")
            answers.flush()

    return requests, say


def listen(requests: BinaryIO, waiting: "queue.Queue[Request]") -> None:
    """Pass requests on; when the notebook has gone, go too.

    Even in the middle of code that does not end.
    """
    while (request := receive(requests)) is not None:
        waiting.put(request)
    os._exit(0)


def prepare() -> None:
    """Make torch ready, before anything is asked.

    And let code show things as it does in a notebook.
    """
    builtins.display = print
    torch.set_num_threads(1)
    torch.ones(2, 2).softmax(dim=-1)


def answer(request: Request, starting: Callable[[int], None]) -> Verdict:
    """Check one implementation."""
    exercise = catalogue.find(request.exercise)
    expected_of(exercise)  # before anything foreign is read
    prints = Prints()
    remember_sources(request.sources)
    limit_memory(request.memory)
    with redirect_stdout(prints), redirect_stderr(io.StringIO()):
        try:
            candidate = cloudpickle.loads(request.candidate)
        except Exception as error:
            return messages.not_carried(exercise, error)
        verdict = diagnose(exercise, candidate, starting)
    reset()
    return messages.with_prints(verdict, prints.text())


def reset() -> None:
    """Undo what code may have set for the whole process."""
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    torch.set_num_threads(1)
    random.seed(0)
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


def is_fit(exercise: Exercise) -> bool:
    """Whether this process still computes what it did before.

    Code that puts its own function in the place of torch's would be judged
    by its own measure the next time.
    """
    before = known(exercise, exercise.solution, 0)
    now = observe(exercise, exercise.solution, exercise.tried[0])
    return is_right(now, before, exercise.tolerance)


def remember_sources(sources: dict[str, str]) -> None:
    """Let errors show the lines of cells."""
    for name, text in sources.items():
        lines = text.splitlines(keepends=True)
        linecache.cache[name] = (len(text), None, lines, name)


def limit_memory(more: int) -> None:
    """Refuse memory beyond what is in use now, where the system can."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return  # the notebook watches
    import resource

    used = re.search(r"VmData:\s*(\d+) kB", status.read_text())
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = int(used[1]) * 1024 + more if used else hard
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


if __name__ == "__main__":
    main()
