"""What does each step towards speed give, and where does the time go?

The translator of the course's presets (three layers of width 256, a
vocabulary of 6,000) learns from sentences of the built-in grammar, on one
thread. Each way of doing so is measured in a process of its own, in seconds
of the processor; all ways take turns, and each round has batches of its own.
*steps* adds one step to what most
programs do, or all three. *bf16* is all three in 32 bits and with products in
16, on another processor, which has these. *shares* says which kinds of
operations took the time of a step, and *compiled* what torch.compile takes
and gives.
"""

import contextlib
import ctypes
import functools
import os
import random
import statistics
import time
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from experiments.lab import Experiment, Record, RunContext
from experiments.timing import peak, run_in_subprocess, undisturbed
from transformer_course.batches.buckets import BucketedBatches
from transformer_course.batches.pairs import (
    Batch,
    IdPair,
    encode_pairs,
    padded_batch,
)
from transformer_course.data.corpora import load_corpus
from transformer_course.data.tokenizer import PAD, Tokenizer
from transformer_course.fast.optimize import Dropout16, swap
from transformer_course.models.config import ModelConfig
from transformer_course.models.transformer import Transformer
from transformer_course.training.config import LoopConfig
from transformer_course.training.loop import (
    make_optimizer,
    set_seed,
    train_step,
)

STEPS, ROWS, TOKEN_BUDGET = 2, 64, 1536
PAIRS, VOCABULARY = 2000, 6000


class Way(NamedTuple):
    """Ways in which a training is made faster."""

    shapes: bool = False
    """Batches of like lengths, in a few shapes that come again."""
    keeps: bool = False
    """The allocator keeps freed memory."""
    draws: bool = False
    """Dropout draws sixteen bits a number."""
    bf16: bool = False


# --- the work ----------------------------------------------------------------


@functools.cache
def encoded() -> list[IdPair]:
    """Sentences of the grammar, as ids."""
    train = load_corpus("grammar").train
    pairs = train.take(range(min(PAIRS, len(train))))
    tokenizer = Tokenizer.train([*pairs.src, *pairs.tgt], VOCABULARY, "word")
    return encode_pairs(tokenizer, pairs, 128)


def batches(shapes: bool, steps: int, seed: int = 0) -> list[Batch]:
    """Batches as most make them, or in a few shapes.

    Args:
        shapes: sentences of like lengths together.
        steps: number of batches.
        seed: which ones.
    """
    if shapes:
        epoch = BucketedBatches(encoded(), TOKEN_BUDGET).epoch(0)
        return list(islice(epoch, seed * steps, (seed + 1) * steps))
    drawn = random.Random(seed).sample(encoded(), ROWS * steps)
    starts = range(0, len(drawn), ROWS)
    return [padded_batch(drawn[start : start + ROWS]) for start in starts]


def keep_freed_memory() -> None:
    """Tell glibc to keep freed blocks in place of giving them back.

    Elsewhere than on Linux with glibc it does nothing.
    """
    trim_threshold, mmap_threshold = -1, -3
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(mmap_threshold, 2**25)
        libc.mallopt(trim_threshold, 2**30)


def translator(way: Way) -> Transformer:
    """The model, with what the way puts into its layers."""
    set_seed(0)
    model = Transformer(ModelConfig(vocab_size=VOCABULARY, norm_first=True))
    classes = {nn.Dropout: Dropout16} if way.draws else {}
    return swap(model, classes).train()


def training(
    way: Way, steps: int, seed: int
) -> tuple[Callable[[], None], int]:
    """Updates on the same batches each time, and how many tokens they have."""
    torch.set_num_threads(1)
    if way.keeps:
        keep_freed_memory()
    made = batches(way.shapes, steps, seed)
    learner = translator(way)
    settings = LoopConfig(bf16=way.bf16)
    optimizer = make_optimizer(learner, settings)

    def work() -> None:
        for batch in made:
            train_step(learner, batch, optimizer, settings)

    return work, sum(int((b.tgt_out != PAD).sum()) for b in made)


# --- measuring ---------------------------------------------------------------


def trained(way: Way, steps: int, seed: int) -> Record:
    """Target tokens a second; all shapes have been met before."""
    work, tokens = training(way, steps, seed)
    work()
    start = time.process_time()
    work()
    rate = tokens / (time.process_time() - start)
    return {"rate": round(rate, 1), "megabytes": round(peak())}


KINDS = {
    "matrix products": ("mm", "linear", "matmul"),
    "attention": ("attention",),
    "dropout's draws": ("bernoulli", "random_"),
    "loss": ("softmax", "nll_loss", "index", "nonzero", "argmax"),
    "norms": ("layer_norm",),
    "Adam, clipping": ("adam", "norm"),
}
"""Parts of the names of operations; the first that fits counts."""
REST = "all else"


def kind_of(operation: str) -> str:
    """The kind of an operation."""
    if not operation.startswith("aten::"):
        return REST
    for kind, parts in KINDS.items():
        if any(part in operation for part in parts):
            return kind
    return REST


def shares(way: Way, steps: int, seed: int) -> Record:
    """Shares of a step's time, by kind of operation."""
    work, _ = training(way, steps, seed)
    work()
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        work()
    found = dict.fromkeys([*KINDS, REST], 0.0)
    for row in seen.key_averages():
        found[kind_of(row.key)] += row.self_cpu_time_total
    whole = sum(found.values())
    return {"shares": {kind: round(t / whole, 4) for kind, t in found.items()}}


def compiled(way: Way, times: int, seed: int) -> Record:
    """Cost and gain of torch.compile for one shape.

    Needs a compiler of C++.
    """
    torch.set_num_threads(1)
    keep_freed_memory()
    (batch,) = batches(way.shapes, 1, seed)
    settings = LoopConfig()
    learners = [translator(way), translator(way)]
    optimizers = [make_optimizer(one, settings) for one in learners]
    learners[1].forward = torch.compile(learners[1].forward)

    def took(which: int) -> float:
        start = sum(os.times()[:4])  # what compiles may be a process
        train_step(learners[which], batch, optimizers[which], settings)
        return sum(os.times()[:4]) - start

    first = took(1)
    took(0)
    ratios = [took(0) / took(1) for _ in range(times)]
    ratio = statistics.median(ratios)
    return {"compiling": round(first, 1), "ratio": round(ratio, 3)}


DONE = {
    "steps": trained,
    "bf16": trained,
    "compiled": compiled,
    "shares": shares,
}


class Question(NamedTuple):
    """A kind of measurement, of one way."""

    kind: str
    way: Way


def measure(question: Question, seed: int, context: RunContext) -> Record:
    """One way, once, in a process of its own."""
    much = context.limit(STEPS, 1)
    about = undisturbed(context.smoke)
    work = DONE[question.kind]
    return {**about, **run_in_subprocess(work, question.way, much, seed)}


FULL = Way(shapes=True, keeps=True, draws=True)
WAYS = {
    "steps/nothing": Way(),
    "steps/less padding": Way(shapes=True),
    "steps/memory kept": Way(keeps=True),
    "steps/cheaper draws": Way(draws=True),
    "steps/all three": FULL,
    "bf16/32 bits": FULL,
    "bf16/16 bits": FULL._replace(bf16=True),
    "compiled/one shape": Way(shapes=True),
    "shares/before": Way(),
    "shares/after": FULL,
}
EXPERIMENT = Experiment(
    name="faster",
    chapter="21_speed",
    variants={k: Question(k.partition("/")[0], w) for k, w in WAYS.items()},
    measure=measure,
    settings=lambda: {
        "steps": STEPS,
        "rows": ROWS,
        "token_budget": TOKEN_BUDGET,
        "vocabulary": VOCABULARY,
    },
    seeds=(0, 1, 2, 3, 4),
    seeds_of={"bf16": (0, 1, 2), "compiled": (0,), "shares": (0,)},
    default_variants=("steps", "shares"),
    smoke_variants=("steps/all three", "shares/after"),
)
