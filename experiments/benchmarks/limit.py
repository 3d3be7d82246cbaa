"""How fast the processor multiplies matrices, and whether it stays so.

A machine with no load of its own can still be slowed down by others that
share its processor. Then ratios move too: what is limited by arithmetic loses
more than what is limited by memory.
"""

from collections.abc import Sequence
from functools import partial

import torch

from experiments.timing import seconds

CPU = torch.device("cpu")
SIZE, TIMES = 1024, 200
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}
STEADY = 0.8
"""The slowest product over the fastest, from which times can be trusted."""

Limits = dict[str, float]
"""GFLOP/s by precision."""


def limits() -> Limits:
    """GFLOP/s of a product of square matrices, the best of several."""
    found = {}
    for name, dtype in PRECISIONS.items():
        square = torch.ones(SIZE, SIZE, dtype=dtype)
        fastest = seconds(partial(torch.mm, square, square), CPU, 0, TIMES)
        found[name] = round(2 * SIZE**3 / fastest / 1e9, 1)
    return found


def steady(found: Sequence[Limits]) -> bool:
    """Whether the processor was as fast each time, nearly."""
    return all(
        min(each) >= STEADY * max(each)
        for each in ([one[name] for one in found] for name in PRECISIONS)
    )
