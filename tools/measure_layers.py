"""Time one layer against length and width: runs/layer-times.

    python tools/measure_layers.py          on the device that is there
    python tools/measure_layers.py cpu      on this one

Three layers of one width: self-attention with its projections, a GRU, and a
convolution of kernel 3; besides, the two products of attention alone. A time
is that of a forward and a backward pass, the smallest of several. It is stored
with the share of the machine's own rate in a large matrix product that the
layer reaches. On a CUDA device ``busy`` is added, what ``nvidia-smi`` calls
utilisation: the share of time in which any kernel ran.

Let nothing else run meanwhile. What is there already in
``runs/layer-times/DEVICE.json`` is not measured again: delete the file to have
it anew.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import runs
from transformer_course.attention import MultiHeadAttention
from transformer_course.device import machine, pick_device

BATCH = 8
KERNEL = 3
D_HEAD = 64
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
WIDTHS = (32, 64, 128, 256, 512, 1024)
FIXED_LENGTH, FIXED_WIDTH = 256, 256
"""The length at which widths are compared, and the other way round."""
SECONDS = 1.0
"""Each layer is timed at least so long, and at least MINIMUM times."""
MINIMUM = 5
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
    """Of a forward pass over one row of n vectors."""
    return {
        "attention": 4 * n * d**2 + 2 * n**2 * d,
        "products": 2 * n**2 * d,
        "recurrence": 6 * n * d**2,
        "convolution": KERNEL * n * d**2,
    }[layer]


# --- measuring ---------------------------------------------------------------


def clock(device: torch.device) -> Callable[[], float]:
    """Seconds; of one thread its own, so that others disturb it less."""
    if device.type == "cpu" and torch.get_num_threads() == 1:
        return time.process_time
    return time.perf_counter


def finish(device: torch.device) -> None:
    """Wait for what the device still has to do."""
    if device.type != "cpu":
        getattr(torch, device.type).synchronize()


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """The smallest time of several, after a first that does not count."""
    now = clock(device)

    def once() -> float:
        start = now()
        work()
        finish(device)
        return now() - start

    once()
    times: list[float] = []
    while len(times) < MINIMUM or sum(times) < SECONDS:
        times.append(once())
    return min(times)


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


def product_rate(device: torch.device) -> float:
    """Multiplications a second in a large matrix product."""
    a = torch.randn(LARGE, LARGE).to(device)
    return LARGE**3 / seconds(lambda: a @ a, device)


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


def measure(name: str, n: int, d: int, device, rate: float) -> dict:
    """Everything about one layer at one size."""
    work = training_step(name, n, d, device)
    taken = seconds(work, device)
    # a backward pass has two products for each one of the forward pass
    done = 3 * BATCH * multiplications(name, n, d)
    result = {
        "layer": name,
        "n": n,
        "d": d,
        "seconds": float(f"{taken:.4g}"),
        "share_of_product_rate": round(done / taken / rate, 4),
    }
    if device.type == "cuda":
        result["busy"] = round(busy(work, device), 1)
    return result


# --- storing -----------------------------------------------------------------


def main() -> None:
    """Measure what is missing, size by size."""
    device = pick_device(sys.argv[1] if sys.argv[1:] else "auto")
    torch.backends.cudnn.allow_tf32 = False  # nor do other products use it
    path = runs.folder("layer-times") / f"{device.type}.json"
    stored = {
        "command": f"python tools/measure_layers.py {device.type}",
        "machine": machine(),
        "batch": BATCH,
        "kernel": KERNEL,
        "d_head": D_HEAD,
        "large_product": LARGE,
        "product_rate": float(f"{product_rate(device):.4g}"),
        "times": [],
    }
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
    known = {(r["layer"], r["n"], r["d"]) for r in stored["times"]}
    sizes = [(n, FIXED_WIDTH) for n in LENGTHS]
    sizes += [(FIXED_LENGTH, d) for d in WIDTHS if d != FIXED_WIDTH]
    for n, d in sizes:
        for name in LAYERS:
            if (name, n, d) in known:
                continue
            result = measure(name, n, d, device, stored["product_rate"])
            stored["times"].append(result)
            runs.write_json(path, stored, indent=1)
            print(result, flush=True)


if __name__ == "__main__":
    main()
