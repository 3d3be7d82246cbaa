"""How fast the processor multiplies matrices, and whether it stays so.

A machine with no load of its own can still be slowed down by others that
share its processor. Then ratios move too: what is limited by arithmetic loses
more than what is limited by memory.
"""

import time
from collections.abc import Sequence

import torch

SIZE, TIMES = 1024, 200
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}
STEADY = 0.8
"""The slowest product over the fastest, from which times can be trusted."""

Limits = dict[str, float]
"""GFLOP/s by precision."""


def limits() -> Limits:
    """GFLOP/s of a product of square matrices, the best of several."""
    return {name: _limit(dtype) for name, dtype in PRECISIONS.items()}


def _limit(dtype: torch.dtype) -> float:
    left, right = (torch.ones(SIZE, SIZE, dtype=dtype) for _ in range(2))
    seconds = []
    for _ in range(TIMES):
        start = time.perf_counter()
        left @ right
        seconds.append(time.perf_counter() - start)
    return round(2 * SIZE**3 / min(seconds) / 1e9, 1)


def steady(found: Sequence[Limits]) -> bool:
    """Whether the processor was as fast each time, nearly."""
    return all(
        min(each) >= STEADY * max(each)
        for each in ([one[name] for one in found] for name in PRECISIONS)
    )
