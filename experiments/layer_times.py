"""What does a layer cost, against the length and the width?

Three layers of one width: self-attention with its projections, a GRU, and a
convolution of kernel 3; besides, the two products of attention alone. A time
is that of a forward and a backward pass on a CPU, the smallest of several. Let
nothing else run meanwhile.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from experiments.timing import TIMES, seconds
from transformer_course.models.attention import MultiHeadAttention

BATCH = 8
KERNEL = 3
D_HEAD = 64
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
WIDTHS = (32, 64, 128, 256, 512, 1024)
FIXED_LENGTH, FIXED_WIDTH = 256, 256
"""The length at which widths are compared, and the other way round."""


# --- the layers --------------------------------------------------------------


class Products(nn.Module):
    """softmax(X Xᵀ) X: attention without its projections."""

    def forward(self, x: Tensor) -> Tensor:
        """Each row, mixed from all rows."""
        rows = x[:, None]  # a single head
        return F.scaled_dot_product_attention(rows, rows, rows)[:, 0]


class Recurrence(nn.GRU):
    """A GRU that gives its states only."""

    def forward(self, x: Tensor) -> Tensor:
        """The state at each position."""
        return super().forward(x)[0]


class Convolution(nn.Conv1d):
    """A convolution along the length; the width is its channels."""

    def forward(self, x: Tensor) -> Tensor:
        """The same length, each position from its neighbourhood."""
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


LAYERS: dict[str, Callable[[int], nn.Module]] = {
    "attention": lambda d: MultiHeadAttention(d, max(1, d // D_HEAD)),
    "products": lambda d: Products(),
    "recurrence": lambda d: Recurrence(d, d, batch_first=True),
    "convolution": lambda d: Convolution(d, d, KERNEL, padding=KERNEL // 2),
}


# --- measuring ---------------------------------------------------------------


def training_step(name: str, n: int, d: int) -> Callable[[], None]:
    """A forward and a backward pass of a layer, ready to be called."""
    torch.manual_seed(0)
    layer = LAYERS[name](d)
    x = torch.randn(BATCH, n, d, requires_grad=True)
    upstream = torch.randn(BATCH, n, d)

    def work() -> None:
        layer.zero_grad()
        x.grad = None
        layer(x).backward(upstream)

    return work


class Size(NamedTuple):
    """A layer at one size."""

    layer: str
    n: int
    d: int


def measure(size: Size, seed: int, context: RunContext) -> Record:
    """Seconds of one layer at one size."""
    work = training_step(*size)
    at_least = 0.0 if context.smoke else 1.0
    cpu = torch.device("cpu")
    taken = seconds(work, cpu, at_least, context.limit(TIMES))
    return {**size._asdict(), "seconds": float(f"{taken:.4g}")}


def name_of(layer: str, n: int, d: int) -> str:
    """Name of a layer of one size among the variants."""
    return f"{layer}, {n} × {d}"


SIZES = [(n, FIXED_WIDTH) for n in LENGTHS]
SIZES += [(FIXED_LENGTH, d) for d in WIDTHS if d != FIXED_WIDTH]

EXPERIMENT = Experiment(
    name="layer-times",
    chapter="01_sequence_to_sequence",
    variants={
        f"cpu/{name_of(layer, n, d)}": Size(layer, n, d)
        for n, d in SIZES
        for layer in LAYERS
    },
    measure=measure,
    seeds=(0,),
    settings=lambda: {
        "batch": BATCH,
        "kernel": KERNEL,
        "d_head": D_HEAD,
    },
    smoke_variants=tuple(
        f"cpu/{name_of(x, LENGTHS[0], FIXED_WIDTH)}" for x in LAYERS
    ),
)
