"""How long work takes, disturbed as little as can be."""

import time
from collections.abc import Callable

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
