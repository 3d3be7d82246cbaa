"""The process that checks: it has the catalogue, and runs trusted code only.

``process`` starts it and talks to it. It reads requests from its standard
input and writes answers to its standard output, a line of JSON each. When the
notebook goes, its standard input ends, and so does it.

What a learner wrote runs in an ``attempt``, a process for each try, which is
ready before it is asked for: a copy of this one, where copies can be made.
That process says what the code did; what it says is compared here.
"""

import base64
import json
import multiprocessing
import os
import pickle
import queue
import secrets
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Any, BinaryIO

import psutil

from transformer_course.exercises import attempt, catalogue
from transformer_course.exercises.attempt import Request
from transformer_course.exercises.descendants import (
    MARK,
    adopt_orphans,
    below,
    end_below,
    end_group,
    end_marked,
    reap,
)
from transformer_course.exercises.engine import messages
from transformer_course.exercises.engine.diagnose import (
    Form,
    expected_of,
    judge,
)
from transformer_course.exercises.engine.exercise import Exercise
from transformer_course.exercises.engine.outcome import Outcome
from transformer_course.exercises.engine.slips import Slip
from transformer_course.exercises.engine.verdict import Verdict
from transformer_course.exercises.foreign import prepare, take_pipes
from transformer_course.exercises.plain import decode_outcome
from transformer_course.files import remove_folder

FORKS = sys.platform == "linux"
"""Whether a process that has imported torch can be copied. Else one is
started, and imports torch while the learner reads."""
METHOD = "fork" if FORKS else "spawn"
PAUSE = 0.05  # seconds between two looks at what an attempt takes
START = 120.0  # seconds that a process may take to import torch
MOST_BYTES = 64 << 20  # of what an attempt says at once
MOST_PROCESSES = 50  # that code may have at a time


class OutOfTime(Exception):
    """The code did not end."""


class OutOfMemory(Exception):
    """The code took too much."""


class Ended(Exception):
    """The process is no more, or does not say what it should."""


def send(stream: BinaryIO, request: Request) -> None:
    """Write a request, on a line of its own whatever was written before."""
    content = base64.b64encode(request.candidate).decode()
    told = asdict(request) | {"candidate": content}
    stream.write(f"\n{json.dumps(told)}\n".encode())
    stream.flush()


def receive(stream: Iterable[bytes]) -> Iterator[Request]:
    """The requests among the lines; others may have been written between."""
    for line in stream:
        with suppress(ValueError, TypeError, KeyError):
            told = json.loads(line)
            content = base64.b64decode(told["candidate"])
            yield Request(**told | {"candidate": content})


def listen(messages: Iterable[bytes], said: "queue.Queue[Any]") -> None:
    """Pass on what a process says, JSON each; None at its end."""
    with suppress(EOFError, OSError):  # it was killed
        for message in messages:
            with suppress(ValueError, RecursionError):  # from somebody else
                said.put(json.loads(message))
    said.put(None)


def main() -> None:
    """Answer requests until the notebook has gone."""
    method, folder = sys.argv[1:] or (METHOD, tempfile.mkdtemp())
    requests, say = take_pipes()
    waiting: queue.Queue[Request | None] = queue.Queue()
    gone = threading.Event()
    threading.Thread(
        target=hear, args=(requests, waiting, gone), daemon=True
    ).start()
    if method == "fork":
        adopt_orphans()
    prepare()
    say(ready=True)
    while True:
        with Attempt(method, folder, gone) as process:
            request = waiting.get()
            if request is None:
                break
            answer = answer_to(request, process)
        say()  # ends a line that somebody else may have begun
        say(id=request.id, **answer)
    remove_folder(folder)
    os._exit(0)


def hear(
    requests: BinaryIO,
    waiting: "queue.Queue[Request | None]",
    gone: threading.Event,
) -> None:
    """Pass requests on, and that the notebook has gone.

    Even in the middle of code that does not end.
    """
    for request in receive(requests):
        waiting.put(request)
    gone.set()
    waiting.put(None)


def answer_to(request: Request, process: "Attempt") -> dict[str, Any]:
    """The verdict; or our own fault, which the notebook will tell."""
    try:
        return {"verdict": verdict_on(request, process).as_dict()}
    except Exception:
        return {"fault": traceback.format_exc()}


class Attempt:
    """A process for one try. At the end of a ``with`` it leaves nothing.

    Args:
        method: how it is started, ``fork`` or ``spawn``.
        folder: where its own is made.
        gone: set when nobody waits for it any more.
    """

    def __init__(self, method: str, folder: str, gone: threading.Event):
        self._gone = gone
        self._forked = method == "fork"
        os.makedirs(folder, exist_ok=True)  # code can have removed it
        self._folder = tempfile.mkdtemp(dir=folder)
        context: Any = multiprocessing.get_context(method)
        self._pipe, theirs = context.Pipe()
        given = (theirs, self._folder, os.getpid(), self._forked)
        self._process = context.Process(target=attempt.run, args=given)
        self._process.start()
        theirs.close()
        self._said: queue.Queue[Any] = queue.Queue()
        messages = iter(partial(self._pipe.recv_bytes, MOST_BYTES), b"")
        threading.Thread(
            target=listen, args=(messages, self._said), daemon=True
        ).start()
        self.number = 0
        """Of the case that it tries."""

    def __enter__(self) -> "Attempt":
        return self

    def __exit__(self, *_: object) -> None:
        end_group(self._process.pid)
        self._process.kill()
        self._process.join()
        if self._forked:
            end_below(os.getpid())
            reap()
        else:
            end_marked(os.environ.get(MARK, ""), but=os.getpid())
        remove_folder(self._folder)

    def result(self, request: Request) -> dict[str, Any]:
        """What the code did.

        Raises:
            OutOfTime, OutOfMemory, Ended: what it did instead.
            RuntimeError: there is no process to try it in.
        """
        self._wait_until_ready()
        token = secrets.token_hex()
        known = replace(request, id="")
        self._pipe.send_bytes(pickle.dumps((token, known)))
        count = len(catalogue.find(request.exercise).tried)
        watch = Watch(self._process.pid, request.seconds, request.memory)
        while not self._gone.is_set():
            watch.look()
            try:
                message = self._said.get(timeout=PAUSE)
            except queue.Empty:
                continue
            match message:
                case None:
                    raise Ended
                case [str(sign), {"case": int(number)}] if sign == token:
                    self.number = min(max(number, 0), count - 1)
                    watch.begin()
                case [str(sign), dict(result)] if sign == token:
                    return result
        raise Ended

    def _wait_until_ready(self) -> None:
        try:
            if self._said.get(timeout=START) is not None:
                return
        except queue.Empty:
            pass
        raise RuntimeError("the process for a try did not start")


class Watch:
    """What a process takes, with all below it.

    Args:
        pid: its number.
        seconds: that it may take from the first input on, and before it.
        memory: bytes that it may take beside what it has now.
    """

    def __init__(self, pid: int, seconds: float, memory: int):
        self._pid = pid
        self._seconds = seconds
        self._memory = memory
        self._base = _memory(psutil.Process(pid))
        self._since = time.monotonic()
        self._next_look = self._since + PAUSE
        self._begun = False

    def begin(self) -> None:
        """An input is being tried; the clock runs from the first one."""
        if not self._begun:
            self._since = time.monotonic()
        self._begun = True

    def look(self) -> None:
        """See whether it is within the limits.

        Raises:
            OutOfTime, OutOfMemory: it is not.
        """
        now = time.monotonic()
        if now - self._since > self._seconds:
            raise OutOfTime
        if now < self._next_look:
            return
        self._next_look = now + PAUSE
        processes = below(os.getpid())
        more = (_memory(process) - self._base for process in processes)
        taken = sum(max(bytes_, 0) for bytes_ in more)
        if taken > self._memory or len(processes) > MOST_PROCESSES:
            raise OutOfMemory


def _memory(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:  # it has just ended
        return 0


def verdict_on(request: Request, process: Attempt) -> Verdict:
    """Check one implementation."""
    exercise = catalogue.find(request.exercise)
    expected = expected_of(exercise)
    try:
        return judged(exercise, process.result(request), expected)
    except OutOfTime:
        end = partial(messages.no_end, seconds=request.seconds)
    except OutOfMemory:
        end = messages.no_memory
    except (Ended, OSError, psutil.NoSuchProcess):
        end = messages.crashed
    return end(exercise, exercise.tried[process.number])


def judged(
    exercise: Exercise, result: dict[str, Any], expected: Sequence[Outcome]
) -> Verdict:
    """What is seen in what an attempt told.

    Raises:
        Ended: that is not what our own code tells.
        RuntimeError: our own code failed there.
    """
    if "fault" in result:
        raise RuntimeError(result["fault"])
    try:
        printed = str(result["printed"])
        if "verdict" in result:
            verdict = early_verdict(result["verdict"])
        else:
            form = form_in(result)
            found = outcomes_in(exercise, result)
    except Exception as error:
        raise Ended from error
    if "verdict" not in result:
        verdict = judge(exercise, form, found, expected)
    verdict = messages.with_prints(verdict, printed)
    text = verdict.text.encode("utf-8", "replace").decode()
    return replace(verdict, text=text)


def early_verdict(told: dict[str, str]) -> Verdict:
    """The verdict on code that could not be tried to its end."""
    verdict = Verdict(**told)
    if verdict.is_correct:
        raise ValueError("only the worker says so")
    return verdict


def form_in(result: dict[str, Any]) -> Form:
    """What was seen of the code itself."""
    slips = [Slip(**slip) if slip else None for slip in result["parameters"]]
    return Form(result["unused"], slips.__getitem__)


def outcomes_in(exercise: Exercise, result: dict[str, Any]) -> list[Outcome]:
    """What the code did, case by case."""
    found = list(map(decode_outcome, result["outcomes"]))
    if len(found) != len(exercise.tried):
        raise ValueError("one outcome for each case")
    return found


if __name__ == "__main__":
    main()
