"""The process in which one try of a learner runs, and then ends.

It tells the worker what the code did, and judges nothing: results are
compared there, where no code of a learner has been.
"""

import json
import linecache
import os
import pickle
import random
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from transformer_course.exercises import catalogue
from transformer_course.exercises.descendants import die_with_parent
from transformer_course.exercises.engine import messages
from transformer_course.exercises.engine.diagnose import form_of, outcomes
from transformer_course.exercises.engine.exercise import Exercise
from transformer_course.exercises.engine.slips import Slip
from transformer_course.exercises.engine.verdict import Verdict
from transformer_course.exercises.foreign import Prints, limit_memory, prepare
from transformer_course.exercises.plain import encode_outcome

FILE_LIMIT = 64 << 20
"""Bytes that it may write into a file."""


@dataclass(frozen=True)
class Request:
    """One implementation to be checked."""

    exercise: str
    """Its name."""
    candidate: bytes
    """The function or class, as cloudpickle writes it."""
    sources: dict[str, str] = field(default_factory=dict)
    """The text of the cells that it comes from, by file name."""
    seconds: float = 10.0
    """For all inputs together."""
    memory: int = 2 << 30
    """Bytes that it may take beside what torch has."""
    id: str = ""
    """Stands in the answer. Code that is tried is never told it."""


def run(pipe: Connection, folder: str, parent: int, forked: bool) -> None:
    """Wait for a request, tell what the code does, and end.

    Args:
        pipe: to the worker.
        folder: an empty one, for files; the worker removes it.
        parent: the worker's number.
        forked: whether this process is a copy of the worker.
    """
    if hasattr(os, "setsid"):
        os.setsid()
    if forked:
        die_with_parent(parent)
        close_all_but(pipe)
    settle(folder)
    say = teller(pipe)
    say(ready=True)
    try:
        token, request = pickle.loads(pipe.recv_bytes())
    except EOFError:  # the worker has gone
        os._exit(0)
    if not forked:
        threading.Thread(target=end_with, args=(pipe,), daemon=True).start()
    try:
        exercise = catalogue.find(request.exercise)
        say(token, **tried(exercise, request, lambda n: say(token, case=n)))
    except Exception:  # our own fault; the notebook will say so
        say(token, fault=traceback.format_exc())
    finally:
        os._exit(0)  # whatever else it has started


def teller(pipe: Connection) -> Callable[..., None]:
    """A way to tell the worker something, for this process alone."""
    own = os.getpid()

    def say(token: str = "", **message: Any) -> None:
        if os.getpid() != own:  # a copy, made by the code that is tried
            os._exit(0)
        pipe.send_bytes(json.dumps([token, message]).encode())

    return say


def close_all_but(pipe: Connection) -> None:
    """Leave the code none of the worker's own pipes. Linux only."""
    kept = {0, 1, 2, sys.stdin.fileno(), pipe.fileno()}
    for number in set(map(int, os.listdir("/proc/self/fd"))) - kept:
        with suppress(OSError):  # the one that the list was read from
            os.close(number)


def settle(folder: str) -> None:
    """Make this process a place for foreign code."""
    os.chdir(folder)
    os.environ |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)
    tempfile.tempdir = None
    random.seed(0)  # the same code, the same verdict
    with suppress(ImportError):  # Windows
        import resource

        limit(resource.RLIMIT_CORE, 0)
        limit(resource.RLIMIT_FSIZE, FILE_LIMIT)
    prepare()


def end_with(pipe: Connection) -> None:
    """End when the worker does, which says nothing more."""
    with suppress(EOFError, OSError):
        pipe.recv_bytes()
    os._exit(0)


def tried(
    exercise: Exercise, request: Request, starting: Callable[[int], None]
) -> dict[str, Any]:
    """What an implementation does; or a verdict, where it cannot be tried.

    Args:
        exercise: what was asked.
        request: what was written.
        starting: told the number of each case before it is tried.
    """
    count = len(exercise.tried)  # drawn before anything foreign is read
    prints = Prints()
    remember_sources(request.sources)
    limit_memory(request.memory)
    with redirect_stdout(prints), redirect_stderr(Prints()):
        try:
            candidate = cloudpickle.loads(request.candidate)
        except Exception as error:
            verdict = messages.not_carried(exercise, error)
            return {"verdict": verdict.as_dict(), "printed": ""}
        found = outcomes(exercise, candidate, starting)
    printed = prints.text()
    if isinstance(found, Verdict):
        return {"verdict": found.as_dict(), "printed": printed}
    form = form_of(exercise, candidate)
    with redirect_stdout(Prints()), redirect_stderr(Prints()):
        parameters = [as_dict(form.parameters, n) for n in range(count)]
        return {
            "outcomes": list(map(encode_outcome, found)),
            "unused": form.unused,
            "parameters": parameters,
            "printed": printed,
        }


def as_dict(
    parameters: Callable[[int], Slip | None], number: int
) -> dict[str, str] | None:
    """What is wrong with a class's parameters, if it can be built."""
    try:
        slip = parameters(number)
    except Exception:  # its outcomes say so
        return None
    return asdict(slip) if slip else None


def remember_sources(sources: dict[str, str]) -> None:
    """Let errors show the lines of cells."""
    for name, text in sources.items():
        lines = text.splitlines(keepends=True)
        linecache.cache[name] = (len(text), None, lines, name)


def limit(kind: int, value: int) -> None:
    """Let this process have less of something."""
    import resource

    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, hard))
