"""The process in which students' code runs, a fresh copy of it for each try.

It imports what takes time, once, and then waits for requests, a line of JSON
each, on its standard input. For every request it forks: the copy runs the
student's code, and ends; then all that it has started is ended. So no try sees
what another has done, and the grader itself, with the marks, is in yet another
process. What a try needs is in files that only its copy opens, so that none
finds in its memory what was another's:

    {"folder", "seconds", "patience", "memory", "user"}

In the folder, ``program.json`` is the student's code and ``task`` what it is
tried on; ``work`` is where it may write. The answer is a line too, ``{"ended":
HOW, "cases": N}``: ``well``, or by ``time``, ``memory`` or ``crash``, and how
many inputs were begun. What the code did is in the file ``result``.

Above the runner is a guard, who ends what is left if code ends the runner.
"""

import io
import json
import os
import resource
import signal
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from tools.grading import processes

PAUSES = 0.002, 0.05  # seconds between two looks at a try, at first and later
FILE_LIMIT = 16 << 20  # bytes that a try may write into a file
FILES = 64  # that it may have open
THREADS = 100  # that it may have, in all its processes


def main() -> None:
    """Guard a runner to its end."""
    processes.adopt_orphans()
    runner = os.fork()
    if runner == 0:
        try:
            serve()
        finally:
            os._exit(1)

    def end(*_: Any) -> None:
        with suppress(ProcessLookupError):
            os.kill(runner, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end)
    for number in (0, 1):
        os.close(number)
    ended, status = None, 0
    while ended != runner or os.WIFSTOPPED(status):
        ended, status = os.waitpid(-1, os.WUNTRACED)
        if os.WIFSTOPPED(status):  # code has done it: nobody else would
            end()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    processes.end_all()


def serve() -> None:
    """Answer requests until there are no more."""
    processes.adopt_orphans()
    requests, say = processes.take_pipes()
    from tools.grading.attempt import prepare  # once, for all copies

    prepare()

    say(ready=True)
    for line in requests:
        say(**attempt(json.loads(line)))
    os._exit(0)


def attempt(request: dict[str, Any]) -> dict[str, Any]:
    """Run one program in a copy of this process, and wait for its end."""
    before = processes.shared()
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _run(request, told)
        finally:
            os._exit(1)
    os.close(told)
    os.set_blocking(heard, False)
    ended = _wait(child, request)
    processes.end_all()
    processes.free_shared(before)
    begun = _count(heard)
    os.close(heard)
    return {"ended": ended, "cases": begun}


def _run(request: dict[str, Any], told: int) -> None:
    """In the copy: let go of everything, then run the program."""
    from course_exercises.child import Prints
    from tools.grading.attempt import try_program

    os.setsid()
    folder = Path(request["folder"])
    program = json.loads((folder / "program.json").read_bytes())
    task = (folder / "task").read_bytes()
    os.dup2(told, 3)
    result = os.open(folder / "result", os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(result, 4)
    os.closerange(5, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    _settle(folder / "work", request["user"])
    _limit(resource.RLIMIT_FSIZE, FILE_LIMIT)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, FILES)
    _limit(resource.RLIMIT_CPU, int(request["seconds"]) + 5)
    processes.limit_memory(request["memory"])
    prints = Prints()
    with redirect_stdout(prints), redirect_stderr(io.StringIO()):
        try_program(
            program,
            task,
            result=os.fdopen(4, "wb"),
            starting=lambda number: os.write(3, b"."),
            printed=prints.text,
        )
    os._exit(0)


def _settle(work: Path, user: int | None) -> None:
    """Live in a folder, as somebody who may do less.

    Only root can be somebody else, and there is no way back.
    """
    os.chdir(work)
    os.environ |= {"HOME": str(work), "TMPDIR": str(work)}
    processes.refuse_new_rights()
    if user is not None:
        os.chown(work, user, user)
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    if os.getuid() != 0:  # root has no such limit
        threads = processes.threads_of(os.getuid())
        _limit(resource.RLIMIT_NPROC, threads + THREADS)


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _wait(child: int, request: dict[str, Any]) -> str:
    """How the copy ended, by itself or because it took too much.

    Its time is time of the processor, so that a busy machine costs nobody
    marks; where it waits without working, it is time of the clock.
    """
    watch = processes.Watch(
        request["seconds"], request["patience"], request["memory"]
    )
    pause, last = PAUSES
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "well" if status == 0 else "crash"
        if why := watch.exceeded():
            return why
        time.sleep(pause)
        pause = min(1.2 * pause, last)


def _count(heard: int) -> int:
    """How many inputs were begun: so many bytes are in the pipe."""
    count = 0
    try:
        while chunk := os.read(heard, 65536):
            count += len(chunk)
    except BlockingIOError:  # an end of it is open elsewhere
        pass
    return count


if __name__ == "__main__":
    main()
