"""The processes below this one: what they take, and how they are ended."""

import contextlib
import ctypes
import json
import os
import re
import resource
import secrets
import signal
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import psutil

LINUX = sys.platform == "linux"
ADOPT, NO_NEW_RIGHTS = 36, 38  # numbers of prctl, as Linux has them
SHARED = Path("/proc/sysvipc/shm")
FREE = 0  # number of shmctl
WORKING = {psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP}
ENDING = 20.0  # seconds that may be needed to end all


def take_pipes() -> tuple[BinaryIO, Callable[..., None]]:
    """Keep the two pipes, and leave the code that will run none of them."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    sys.stdin = open(os.devnull)  # noqa: SIM115

    def say(**message: Any) -> None:
        answers.write(json.dumps(message).encode() + b"\n")
        answers.flush()

    return requests, say


def limit_memory(more: int) -> None:
    """Refuse memory beyond what is in use now. Linux only."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return  # whoever started this process watches
    used = re.search(r"VmData:\s*(\d+) kB", status.read_text())
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = int(used[1]) * 1024 + more if used else hard
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


class StillThere(RuntimeError):
    """Processes that cannot be ended."""


def adopt_orphans() -> None:
    """Be the parent of every process below whose own parent ends.

    So none can slip away. Other systems than Linux know no such thing.
    """
    _prctl(ADOPT, 1)


def refuse_new_rights() -> None:
    """Let no program that is started here have more rights than this one."""
    _prctl(NO_NEW_RIGHTS, 1)


def _prctl(what: int, value: int) -> None:
    if LINUX:
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


def below() -> list[int]:
    """The numbers of all processes below this one."""
    if not Path(f"/proc/self/task/{os.getpid()}/children").is_file():
        return [p.pid for p in psutil.Process().children(recursive=True)]
    found, todo = [], [os.getpid()]
    while todo:
        children = _children(todo.pop())
        found += children
        todo += children
    return found


def _children(process: int) -> list[int]:
    """Of one process, by the threads that have started them."""
    found = []
    with suppress(OSError):  # it has just ended
        for thread in os.listdir(f"/proc/{process}/task"):
            path = f"/proc/{process}/task/{thread}/children"
            with suppress(OSError), open(path) as file:
                found += map(int, file.read().split())
    return found


def end_all() -> None:
    """End all processes below this one.

    They are stopped first: what is stopped starts no others.

    Raises:
        StillThere: some do not end.
    """
    until = time.monotonic() + ENDING
    while _any_left():
        stopped: set[int] = set()
        while new := set(below()) - stopped:
            _signal(new, signal.SIGSTOP)
            stopped |= new
        _signal(stopped, signal.SIGKILL)
        if time.monotonic() > until:
            raise StillThere(f"{len(stopped)} processes")


def _signal(processes: set[int], what: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, what)


def _any_left() -> bool:
    """Whether one is alive; those that have ended are let go."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    time.sleep(0.001)
    return True


def shared() -> set[int]:
    """The numbers of memories (of System V) that no process uses by now.

    They are shared by name, and stay when processes end. Only Linux says
    which there are.
    """
    if not SHARED.is_file():
        return set()
    lines = [line.split() for line in SHARED.read_text().splitlines()[1:]]
    return {int(line[1]) for line in lines if line[6] == "0"}


def free_shared(kept: set[int]) -> None:
    """Free all others of them that this user may free."""
    for number in shared() - kept:
        ctypes.CDLL(None).shmctl(number, FREE, None)


def threads_of(user: int) -> int:
    """How many threads a user has, in all their processes."""
    count = 0
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it has just ended
            if process.uids().real == user:
                count += process.num_threads()
    return count


class Watch:
    """What the processes below this one take, from now on.

    Args:
        seconds: how long they may work, and how long they may wait.
        patience: how long they may be there.
        memory: bytes that they may hold, beside what each began with.
    """

    def __init__(self, seconds: float, patience: float, memory: int):
        self._seconds = seconds
        self._memory = memory
        self._last = time.monotonic()
        self._until = self._last + patience
        self._own = _private(psutil.Process())
        self._shared = _shared_by_all()
        self._ended = _work_of_ended()
        self._worked = 0.0
        self._waited = 0.0

    def exceeded(self) -> str | None:
        """Whether it is too much: ``time`` or ``memory``."""
        worked = _work_of_ended() - self._ended
        held = _shared_by_all() - self._shared
        busy = False
        for number in below():
            with suppress(psutil.Error):  # it has just ended
                process = psutil.Process(number)
                with process.oneshot():
                    worked += sum(process.cpu_times()[:4])
                    held += max(0, _private(process) - self._own)
                    busy |= process.status() in WORKING
        now = time.monotonic()
        if not busy and worked <= self._worked:
            self._waited += now - self._last
        self._last, self._worked = now, worked
        if held > self._memory:
            return "memory"
        if max(worked, self._waited) > self._seconds or now > self._until:
            return "time"
        return None


def _private(process: psutil.Process) -> int:
    """Bytes that belong to one process alone, or did when it was forked."""
    held = process.memory_info()
    return held.rss - getattr(held, "shared", 0)


def _shared_by_all() -> int:
    """Bytes of memory that stand in no process, or in several.

    They are those of the whole machine: Linux says of nobody else's process
    which of them are its own.
    """
    if not LINUX:
        return 0
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("Shmem:"):
            return int(line.split()[1]) * 1024
    return 0


def _work_of_ended() -> float:
    """Seconds that processes have worked which have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def remove_folder(folder: str | Path) -> None:
    """Remove a folder and all that is in it, as far as that is allowed.

    It may be a file by now, or nothing, if foreign code has been in it.
    No matter how deep it is, how long its paths are, or whether its folders
    may be read: folders are emptied into the first one, level by level. Of a
    link only the link is removed.
    """
    with contextlib.suppress(OSError):
        if os.path.islink(folder) or not os.path.isdir(folder):
            os.unlink(folder)
        os.chmod(folder, stat.S_IRWXU)
        while inner := list(os.scandir(folder)):
            for entry in inner:
                _remove_level(entry, folder)
        os.rmdir(folder)


def _remove_level(entry: os.DirEntry, folder: str | Path) -> None:
    if not entry.is_dir(follow_symlinks=False):
        os.unlink(entry)
        return
    os.chmod(entry, stat.S_IRWXU)
    for child in list(os.scandir(entry)):
        if child.is_dir(follow_symlinks=False):
            os.chmod(child, stat.S_IRWXU)  # else it may not be moved
        os.rename(child, os.path.join(folder, secrets.token_hex(8)))
    os.rmdir(entry)
