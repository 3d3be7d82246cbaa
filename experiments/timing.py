"""How long work takes, disturbed as little as can be, and how much memory."""

import datetime
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

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
    start = "spawn"
    if "forkserver" in multiprocessing.get_all_start_methods():
        start = "forkserver"
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
    """The date, the machine's load over the last minute, the processor."""
    return {
        "date": datetime.date.today().isoformat(),
        "load": round(os.getloadavg()[0], 1),
        "processor": processor(),
    }


def processor(info: Path = Path("/proc/cpuinfo")) -> str:
    """Its name, and on Linux family and model, for one name may mean several.

    Two machines that both said "AMD EPYC" differed by a factor of two.
    """
    name = torch.cpu.get_capabilities().get("cpu_name") or "unknown"
    try:
        first, _, _ = info.read_text("utf-8").partition("\n\n")
    except OSError:
        return name
    pairs = (line.partition(":") for line in first.splitlines())
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    known = {"family": fields.get("cpu family"), "model": fields.get("model")}
    return ", ".join([name, *(f"{k} {v}" for k, v in known.items() if v)])


def peak() -> float:
    """Most memory that this process has had, in MB."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
