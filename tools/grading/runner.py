"""The process in which students' code runs, a fresh copy of it for each try.

It imports what takes time, once, and then waits for requests, a line of JSON
each, on its standard input. For every request it forks: the copy runs the
student's code, and ends. So no try sees what another has done, and the grader
itself, with the marks, is in yet another process.

    {"exercise", "seed", "drawn", "program": {"helpers", "cell"}, "result",
     "seconds", "memory", "user"}

The answer is a line too, ``{"ended": HOW, "cases": N}``: ``well``, or by
``time``, ``memory`` or ``crash``, and how many inputs were begun. What the
code did is in the file ``result``.
"""

import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import psutil

from tools.grading.attempt import try_program
from transformer_course.exercises.foreign import (
    Prints,
    limit_memory,
    prepare,
    take_pipes,
)

PAUSE = 0.02  # seconds between two looks at a try
PATIENCE = 5  # times as long by the clock as by the processor
FILE_LIMIT = 50 << 20  # bytes that a try may write into a file


def main() -> None:
    """Answer requests until there are no more."""
    requests, say = take_pipes()
    prepare()
    say(ready=True)
    for line in requests:
        request = json.loads(line)
        folder = tempfile.mkdtemp(prefix="attempt-")
        try:
            say(**attempt(request, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def attempt(request: dict[str, Any], folder: str) -> dict[str, Any]:
    """Run one program in a copy of this process, and wait for its end."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(heard)
            _run(request, folder, told)
        finally:
            os._exit(1)
    os.close(told)
    os.set_blocking(heard, False)
    ended = _wait(child, request["seconds"], request["memory"])
    _kill_group(child)
    begun = b""
    while chunk := _read(heard):
        begun += chunk
    os.close(heard)
    return {"ended": ended, "cases": len(begun)}


def _run(request: dict[str, Any], folder: str, told: int) -> None:
    """In the copy: let go of everything, then run the program."""
    os.setsid()
    os.chdir(folder)
    keep = os.dup2(told, 3)
    result = os.open(request["result"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    result = os.dup2(result, 4)
    os.closerange(5, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    if request["user"] is not None:
        _become(request["user"], folder)
    _limit(resource.RLIMIT_FSIZE, FILE_LIMIT)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, int(request["seconds"]) + 5)
    limit_memory(request["memory"])
    prints = Prints()
    with redirect_stdout(prints), redirect_stderr(io.StringIO()):
        try_program(
            request,
            result=os.fdopen(result, "wb"),
            starting=lambda number: os.write(keep, b"."),
            printed=prints.text,
        )
    os._exit(0)


def _become(user: int, folder: str) -> None:
    """Be somebody who may do less; only root can, and there is no way back."""
    os.chown(folder, user, user)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _wait(child: int, seconds: float, memory: int) -> str:
    """How the copy ended, by itself or because it took too much.

    Its time is time of the processor, so that a busy machine costs nobody
    marks. Code that waits without working has more of the clock, not forever.
    """
    most = memory + psutil.Process().memory_info().rss
    until = time.monotonic() + PATIENCE * seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "well" if status == 0 else "crash"
        worked, resident = _taken(child)
        if worked > seconds or time.monotonic() > until:
            return _stop(child, "time")
        if resident > most:
            return _stop(child, "memory")
        time.sleep(PAUSE)


def _stop(child: int, why: str) -> str:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return why


def _kill_group(child: int) -> None:
    """End what the copy has started, too."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _taken(child: int) -> tuple[float, int]:
    """Seconds that it has worked, and bytes that it holds."""
    try:
        process = psutil.Process(child)
        times = process.cpu_times()
        return times.user + times.system, process.memory_info().rss
    except psutil.Error:  # it has just ended
        return 0.0, 0


def _read(pipe: int) -> bytes:
    try:
        return os.read(pipe, 65536)
    except BlockingIOError:
        return b""


if __name__ == "__main__":
    sys.path[:] = [part for part in sys.path if Path(part or ".").exists()]
    main()
