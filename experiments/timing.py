"""How long work takes, disturbed as little as can be, and how much memory."""

import datetime
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import torch

from transformer_course.errors import CourseError

QUIET = 0.5
"""Cores that other programs may keep busy while something is timed."""
AT_LEAST, TIMES = 1.0, 5
"""Work is timed for so many seconds at the least, and so often."""


def clock(device: torch.device) -> Callable[[], float]:
    """Seconds; of one thread its own, so that others disturb it less."""
    if device.type == "cpu" and torch.get_num_threads() == 1:
        return time.process_time
    return time.perf_counter


def finish(device: torch.device) -> None:
    """Wait for what the device still has to do."""
    if device.type != "cpu":
        getattr(torch, device.type).synchronize()


def seconds(
    work: Callable[[], object],
    device: torch.device,
    at_least: float = AT_LEAST,
    times: int = TIMES,
) -> float:
    """The smallest time of several, after a first that does not count."""
    now = clock(device)

    def once() -> float:
        start = now()
        work()
        finish(device)
        return now() - start

    once()
    found: list[float] = []
    while len(found) < times or sum(found) < at_least:
        found.append(once())
    return min(found)


def run_in_subprocess(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own, and give its result.

    What it asks of the allocator is then gone with it, and its peak of memory
    is nobody else's. The process is a copy of one that has imported the
    function's module and done nothing, where the system can copy.
    """
    ways = multiprocessing.get_all_start_methods()
    start = "forkserver" if "forkserver" in ways else "spawn"
    context = multiprocessing.get_context(start)
    context.set_forkserver_preload([work.__module__])
    with ProcessPoolExecutor(1, mp_context=context) as process:
        return process.submit(work, *arguments).result()


def measured_alone(
    work: Callable[..., dict[str, Any]], *arguments: Any
) -> dict[str, Any]:
    """The record of a work in a process of its own, under what conditions."""
    return {**conditions(), **run_in_subprocess(work, *arguments)}


def conditions() -> dict[str, Any]:
    """The date, the cores that others keep busy, the processor."""
    return {
        "date": datetime.date.today().isoformat(),
        "load": round(busy(), 2),
        "processor": processor(),
    }


def undisturbed(smoke: bool = False) -> dict[str, Any]:
    """The conditions; but in a smoke test, they have to be quiet.

    Raises:
        CourseError: other programs keep more than :data:`QUIET` cores busy.
    """
    found = conditions()
    if found["load"] > QUIET and not smoke:
        raise CourseError(
            f"other programs keep {found['load']} cores busy, and times need "
            f"a quiet machine, at most {QUIET}: wait, and type the same "
            "again. It goes on with what is missing."
        )
    return found


def busy() -> float:
    """Cores that are busy while this process waits for a moment."""
    return psutil.cpu_count() * psutil.cpu_percent(0.15) / 100


def processor() -> str:
    """Its name, and on Linux family and model, for one name may mean several.

    Two machines that both said "AMD EPYC" differed by a factor of two.
    """
    name = torch.cpu.get_capabilities().get("cpu_name") or "unknown"
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return name
    first = text.partition("\n\n")[0].splitlines()
    pairs = (line.partition(":") for line in first)
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    known = {"family": fields.get("cpu family"), "model": fields.get("model")}
    return ", ".join([name, *(f"{k} {v}" for k, v in known.items() if v)])


def peak() -> float:
    """Most memory that this process has had, in MB."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
