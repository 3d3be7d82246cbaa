"""Processes that code leaves behind, and their end.

Code may start processes, and these may leave their session, their group and
their parent. On Linux whoever loses its parent falls to the worker; elsewhere
it is known by a mark in its environment.
"""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import psutil

MARK = "TRANSFORMER_COURSE_CHECK"
"""A variable in the environment of a worker and of all that it starts."""
ROUNDS = 500
PAUSE = 0.005  # seconds between two looks
DEATH_SIGNAL, SUBREAPER = 1, 36  # from <linux/prctl.h>


def adopt_orphans() -> None:
    """Let all that descends from this process stay below it. Linux only."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """End this process when its parent ends. Linux only.

    Args:
        parent: its number.
    """
    ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def reap() -> None:
    """Let go of adopted processes that have ended. Linux only."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def end_group(leader: int) -> None:
    """End a process and its group at once, before they can start others."""
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(leader, signal.SIGKILL)


def end_below(root: int) -> None:
    """End all that descends from a process; until none is left.

    They may start others meanwhile.
    """
    _end(lambda: below(root))


def end_marked(mark: str, but: int | None = None) -> None:
    """End all that have a mark in their environment, except one."""
    _end(lambda: [p for p in _marked(mark) if p.pid != but])


def below(root: int) -> list[psutil.Process]:
    """The living processes that descend from one."""
    with suppress(psutil.NoSuchProcess):
        found = psutil.Process(root).children(recursive=True)
        return [process for process in found if _is_alive(process)]
    return []


def _marked(mark: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # another's, or just ended
            if process.environ().get(MARK) == mark and _is_alive(process):
                yield process


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _end(find: Callable[[], list[psutil.Process]]) -> None:
    """Stop them first: what is stopped starts no others."""
    for _ in range(ROUNDS):
        stopped: set[psutil.Process] = set()
        while new := set(find()) - stopped:
            _each(psutil.Process.suspend, new)
            stopped |= new
        if not stopped:
            return
        _each(psutil.Process.kill, stopped)
        _wait_for(stopped)


def _wait_for(processes: set[psutil.Process]) -> None:
    """Until they have ended: what is about to has no environment any more."""
    for _ in range(ROUNDS):
        if not any(map(_is_alive, processes)):
            return
        time.sleep(PAUSE)


def _each(
    do: Callable[[psutil.Process], None], processes: set[psutil.Process]
) -> None:
    for process in processes:
        with suppress(psutil.Error):  # it has just ended
            do(process)
