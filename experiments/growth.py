"""What do a training step and writing cost, as the work grows?

A language model of the package; one of length, batch, width and depth grows,
the others stay. Each point is measured in a process of its own, on one thread:
seconds of the processor, and the memory that the work adds to the process at
its peak. A training step is a whole one, with Adam's update, and keeps freed
memory as a training does. Writing takes one token after another, with a
cache, and knows no end of a text. *Explicit* is a training step whose
attention writes out all its weights, in place of the fused kernel.

All points are measured once before any is measured again (a seed stands for
such a round), so that what disturbs one disturbs the others too.
"""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch

from experiments.lab import Experiment, Record, RunContext
from experiments.timing import measured_alone, peak
from transformer_course.batches.pairs import Batch
from transformer_course.fast.optimize import optimize, swap
from transformer_course.models.attention import (
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from transformer_course.models.config import LanguageModelConfig
from transformer_course.models.transformer import LanguageModel
from transformer_course.training.config import LoopConfig
from transformer_course.training.loop import (
    make_optimizer,
    set_seed,
    train_step,
)

VOCABULARY = 1000
D_HEAD = 64
STEPS = 3
"""Training steps that are timed, after one that is not."""


class Size(NamedTuple):
    """Sizes of the work."""

    length: int = 64
    """Tokens of a text."""
    batch: int = 1
    """Texts."""
    width: int = 256
    depth: int = 4


class Point(NamedTuple):
    """One kind of work at one size."""

    kind: str
    size: Size


# --- the work ----------------------------------------------------------------


class ExplicitAttention(MultiHeadAttention):
    """Attention that keeps all its weights, in a fused kernel's place."""

    def attend(self, query, key, value, mask):
        return scaled_dot_product_attention(query, key, value, mask)[0]


def model(size: Size) -> LanguageModel:
    """With weights that depend on the seed alone."""
    set_seed(0)
    return LanguageModel(
        LanguageModelConfig(
            vocab_size=VOCABULARY,
            d_model=size.width,
            n_heads=size.width // D_HEAD,
            d_ff=4 * size.width,
            n_layers=size.depth,
            max_length=size.length + 1,
            norm_first=True,
        )
    )


def training(size: Size, fused: bool = True) -> Callable[[], None]:
    """One update of all weights, ready to be called."""
    learner, settings = model(size).train(), LoopConfig()
    if not fused:
        learner = swap(learner, {MultiHeadAttention: ExplicitAttention})
    learner = optimize(learner)
    optimizer = make_optimizer(learner, settings)
    batch = Batch(None, torch.randint(3, VOCABULARY, size[1::-1]))

    def work() -> None:
        train_step(learner, batch, optimizer, settings)

    return work


def explicit(size: Size) -> Callable[[], None]:
    """A training step with attention's weights stored."""
    return training(size, fused=False)


def writing(size: Size) -> Callable[[], None]:
    """Tokens one after another, with a cache."""
    writer = optimize(model(size)).eval()

    @torch.inference_mode()
    def work() -> None:
        cache = writer.new_cache()
        newest = torch.ones(size.batch, 1, dtype=torch.long)
        for _ in range(size.length):
            logits = writer.decode(newest, cache)
            newest = logits.argmax(dim=-1)

    return work


WORKS = {"training": training, "explicit": explicit, "writing": writing}


def operations(kind: str, size: Size) -> int:
    """Additions and multiplications in matrix products, counted by hand.

    Attention is counted in full: the kernels compute what the causal mask
    then hides.
    """
    length, batch, width, depth = size
    if kind != "writing":
        length -= 1  # what comes after the last token is not asked
    weights = 12 * width**2 * depth + width * VOCABULARY
    products = 2 * batch * length * weights
    attention = 4 * batch * length**2 * width * depth
    if kind == "writing":  # a token sees those before it, and itself
        return products + attention * (length + 1) // (2 * length)
    return 3 * (products + attention)  # two more of each on the way back


# --- measuring ---------------------------------------------------------------


def measured(kind: str, size: Size, steps: int) -> Record:
    """Seconds of one work, and megabytes; of steps the median of several."""
    torch.set_num_threads(1)
    WORKS[kind](Size(length=4, depth=1))()  # what is prepared at first use
    before = peak()
    work = WORKS[kind](size)
    seconds = []
    if kind != "writing":  # which repeats itself
        work()
    for _ in range(steps if kind != "writing" else 1):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return {
        "seconds": float(f"{statistics.median(seconds):.4g}"),
        "megabytes": round(peak() - before, 1),
        "operations": operations(kind, size),
    }


def measure(point: Point, seed: int, context: RunContext) -> Record:
    """One point, once."""
    steps = context.limit(STEPS, 1)
    return measured_alone(measured, point.kind, point.size, steps)


SWEEPS = {
    "training": {
        "length": (Size(), (64, 128, 256, 512, 1024, 2048, 4096)),
        "batch": (Size(), (1, 2, 4, 8, 16, 32)),
        "width": (Size(batch=4), (64, 128, 256, 512, 1024)),
        "depth": (Size(batch=4), (1, 2, 4, 8, 16)),
    },
    "explicit": {"length": (Size(), (64, 128, 256, 512, 1024, 2048))},
    "writing": {
        "length": (Size(), (64, 128, 256, 512, 1024, 2048, 4096)),
        "batch": (Size(), (1, 2, 4, 8, 16, 32)),
        "width": (Size(), (64, 128, 256, 512, 1024)),
        "depth": (Size(), (1, 2, 4, 8, 16)),
    },
}
"""For each kind and each quantity that grows: the rest, and its values."""


def points() -> dict[str, Point]:
    """All of them, by name."""
    return {
        f"{kind}/{grows} {value}": Point(kind, base._replace(**{grows: value}))
        for kind, sweeps in SWEEPS.items()
        for grows, (base, values) in sweeps.items()
        for value in values
    }


EXPERIMENT = Experiment(
    name="growth",
    chapter="21_speed",
    variants=points(),
    measure=measure,
    seeds=(0, 1, 2),
    settings=lambda: {
        "vocabulary": VOCABULARY,
        "d_head": D_HEAD,
        "steps": STEPS,
        "sweeps": {
            kind: {
                grows: {"base": base._asdict(), "values": values}
                for grows, (base, values) in sweeps.items()
            }
            for kind, sweeps in SWEEPS.items()
        },
    },
    smoke_variants=(
        "training/length 64",
        "explicit/length 64",
        "writing/batch 1",
    ),
)
