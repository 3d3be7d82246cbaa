"""What does a layer cost, against the length and the width?

Three layers of one width: self-attention with its projections, a GRU, and a
convolution of kernel 3; besides, the two products of attention alone. A time
is that of a forward and a backward pass, the smallest of several. It is stored
with the share of the machine's own rate in a large matrix product that the
layer reaches. On a CUDA device, with ``--only cuda``, ``busy`` is added, what
``nvidia-smi`` calls utilisation: the share of time in which any kernel ran.

Let nothing else run meanwhile.
"""

import functools
import subprocess
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments import store
from experiments.lab import Experiment, Record, RunContext
from experiments.timing import TIMES, finish, seconds
from transformer_course.device import pick_device
from transformer_course.models.attention import MultiHeadAttention

BATCH = 8
KERNEL = 3
D_HEAD = 64
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
WIDTHS = (32, 64, 128, 256, 512, 1024)
FIXED_LENGTH, FIXED_WIDTH = 256, 256
"""The length at which widths are compared, and the other way round."""
WATCHED = 5.0
"""Seconds over which a GPU's utilisation is watched."""
LARGE = 2048
"""Side of the matrices of the large product."""


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


def multiplications(layer: str, n: int, d: int) -> int:
    """Multiplications of a forward pass over one row of n vectors."""
    return {
        "attention": 4 * n * d**2 + 2 * n**2 * d,
        "products": 2 * n**2 * d,
        "recurrence": 6 * n * d**2,
        "convolution": KERNEL * n * d**2,
    }[layer]


# --- measuring ---------------------------------------------------------------


def training_step(name: str, n: int, d: int, device) -> Callable[[], None]:
    """A forward and a backward pass of a layer, ready to be called."""
    torch.manual_seed(0)
    layer = LAYERS[name](d).to(device)
    x = torch.randn(BATCH, n, d).to(device).requires_grad_()
    upstream = torch.randn(BATCH, n, d).to(device)

    def work() -> None:
        layer.zero_grad()
        x.grad = None
        layer(x).backward(upstream)

    return work


@functools.cache
def product_rate(device: str) -> float:
    """Multiplications a second in a large matrix product."""
    there = pick_device(device)
    a = torch.randn(LARGE, LARGE).to(there)
    rate = LARGE**3 / seconds(lambda: a @ a, there)
    return float(f"{rate:.4g}")


def busy(work: Callable[[], None], device: torch.device) -> float:
    """Percent of the time in which a kernel ran, as nvidia-smi says it."""
    command = ["nvidia-smi", "--query-gpu=utilization.gpu"]
    command += ["--format=csv,noheader,nounits"]
    if device.index is not None:
        command += [f"--id={device.index}"]
    stop, seen = threading.Event(), []

    def watch() -> None:
        while not stop.wait(0.25):
            said = subprocess.run(
                command, capture_output=True, text=True, check=True
            )
            seen.append(float(said.stdout.split()[0]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    end = time.perf_counter() + WATCHED
    while time.perf_counter() < end:
        work()
        finish(device)
    stop.set()
    watcher.join()
    late = seen[len(seen) // 2 :]  # it reports the second before
    return sum(late) / len(late)


class Size(NamedTuple):
    """A layer at one size, on one kind of device."""

    device: str
    layer: str
    n: int
    d: int


def measure(size: Size, seed: int, context: RunContext) -> Record:
    """Everything about one layer at one size."""
    torch.backends.cudnn.allow_tf32 = False  # nor do other products use it
    device = pick_device(size.device)
    work = training_step(size.layer, size.n, size.d, device)
    at_least = 0.0 if context.smoke else 1.0
    taken = seconds(work, device, at_least, context.limit(TIMES))
    # a backward pass has two products for each one of the forward pass
    done = 3 * BATCH * multiplications(size.layer, size.n, size.d)
    rate = known_rate(size.device, context)
    share = done / taken / rate
    result = {
        "layer": size.layer,
        "n": size.n,
        "d": size.d,
        "seconds": float(f"{taken:.4g}"),
        "share_of_product_rate": round(share, 4),
        "product_rate": rate,
    }
    if size.device == "cuda":
        result["busy"] = round(busy(work, device), 1)
    return result


def known_rate(device: str, context: RunContext) -> float:
    """The rate with which the stored times are compared, or a new one."""
    for variant, (record,) in store.records_in(context.folder).items():
        if variant.startswith(f"{device}/"):
            return record["product_rate"]
    return product_rate(device)


def name_of(layer: str, n: int, d: int) -> str:
    """Name of a layer of one size among the variants."""
    return f"{layer}, {n} × {d}"


SIZES = [(n, FIXED_WIDTH) for n in LENGTHS]
SIZES += [(FIXED_LENGTH, d) for d in WIDTHS if d != FIXED_WIDTH]

EXPERIMENT = Experiment(
    name="layer-times",
    chapter="01_sequence_to_sequence",
    variants={
        f"{device}/{name_of(layer, n, d)}": Size(device, layer, n, d)
        for device in ("cpu", "cuda")
        for n, d in SIZES
        for layer in LAYERS
    },
    measure=measure,
    seeds=(0,),
    settings=lambda: {
        "batch": BATCH,
        "kernel": KERNEL,
        "d_head": D_HEAD,
        "large_product": LARGE,
    },
    default_variants=("cpu",),
    smoke_variants=tuple(
        f"cpu/{name_of(x, LENGTHS[0], FIXED_WIDTH)}" for x in LAYERS
    ),
)
