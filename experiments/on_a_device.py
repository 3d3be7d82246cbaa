"""What does one device do: a GPU beside one thread of a CPU?

``python -m experiments on-a-device`` measures the CPU, and with ``--only
cuda`` a GPU, in some minutes. The work is the same on both, in 32 bits where
nothing else is said (on a GPU without TF32). The smallest time of several
counts, on one thread of a CPU in its own seconds, on a GPU by the clock, when
all that was begun is done.

*profile*: a training step of the model of ``faster``: the shares of its kinds
of operations, how many operations it starts, and what starting one takes.
*roofline*: the most products and bytes in a second. *padding*: sentences at
random, or of like lengths. *rows*: tokens a second of a training step, by the
rows of its batch. *bits*: a training step under autocast, and products with
32, 16 and 8 bits.
*guesses*: ``en-ja`` with four guesses of ``en-ja-draft`` before each call.
*writing*: a decoder of SmolLM2's sizes behind 256 positions, without and with
a cache, for one text or several. *compiled*: a token of one text with a cache
whose shape stays: by PyTorch as it is, by ``torch.compile``, and on a GPU by
CUDA graphs, which record the launches of both once.
"""

import random
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from experiments.decoding_speed import (
    Question,
    growing,
    model_of,
    static_writer,
)
from experiments.drafts import LONG
from experiments.faster import KINDS, REST, Way, encoded, kind_of, translator
from experiments.lab import Experiment, Record, RunContext
from experiments.small_weights import COLUMNS, ROWS, summed_8
from experiments.timing import conditions, finish, seconds, undisturbed
from transformer_course.batches.buckets import BucketedBatches
from transformer_course.batches.pairs import Batch, padded_batch
from transformer_course.checkpoints.int8 import quantized
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.data.tokenizer import PAD
from transformer_course.decoding.generate import greedy_search
from transformer_course.decoding.search import last_logits
from transformer_course.decoding.translate import encode_source
from transformer_course.device import pick_device
from transformer_course.fast.speculative import DraftModel, speculative_search
from transformer_course.training.config import LoopConfig
from transformer_course.training.loop import make_optimizer, train_step

BATCH, BUDGET, BATCHES = 32, 768, 10
"""Rows of a batch at random, tokens of one of like lengths, and how many."""
TRAINED = {"cpu": (4, 16, 64, 256), "cuda": (4, 16, 64, 256, 1024)}
WRITTEN = {"cpu": (1, 8, 32), "cuda": (1, 8, 32, 256)}
"""Rows of a training step, and texts that are written at a time."""
CONTEXT, STEPS = 256, 4
"""Positions behind which tokens are written, and how many are."""
SIDE = {"cpu": 2048, "cuda": 8192}
NUMBERS = {"cpu": 2**25, "cuda": 2**28}
"""Rows of square matrices, and length of vectors, beyond every cache."""
REPEATS = {"cpu": 1, "cuda": 10}
"""Calls between two looks at the clock."""
STARTED, GUESSES = 1000, 4
EVERYDAY = (
    "i like dogs .",
    "please sit down .",
    "where did you buy that book ?",
    "he is taller than his brother .",
)
aten = torch.ops.aten


class On(NamedTuple):
    """A device, and how much is done there."""

    device: torch.device
    context: RunContext

    def of(self, amounts: dict[str, int]) -> int:
        """The amount for this device; in a smoke test very little."""
        return self.context.limit(amounts[self.device.type], 64)

    def took(self, work: Callable[[], object]) -> float:
        """Seconds of a call."""
        calls = self.context.limit(REPEATS[self.device.type], 1)

        def repeated() -> None:
            for _ in range(calls):
                work()

        smoke = self.context.smoke
        at_least, times = (0.0, 1) if smoke else (0.5, 3)
        return seconds(repeated, self.device, at_least, times) / calls

    def rate(self, amount: float, work: Callable[[], object]) -> float:
        """So much in a second, to four digits."""
        return float(f"{amount / self.took(work):.4g}")


# --- training ----------------------------------------------------------------


def training(
    on: On, batches: list[Batch], bf16: bool = False
) -> tuple[Callable[[], None], int]:
    """Updates on these batches, and their real target tokens."""
    model = translator(Way()).to(on.device)
    settings = LoopConfig(bf16=bf16)
    optimizer = make_optimizer(model, settings)
    moved = [batch.to(on.device) for batch in batches]

    def work() -> None:
        for batch in moved:
            train_step(model, batch, optimizer, settings)

    return work, sum(int((b.tgt_out != PAD).sum()) for b in batches)


def at_random(rows: int, count: int = 1) -> list[Batch]:
    """Batches of sentences of any length."""
    draw = random.Random(0)
    return [padded_batch(draw.sample(encoded(), rows)) for _ in range(count)]


class Started(TorchDispatchMode):
    """Counts the operations that compute something."""

    number = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.number += not operation.is_view
        return operation(*args, **(kwargs or {}))


def started(work: Callable[[], object]) -> int:
    """How many operations a call starts."""
    with Started() as seen:
        work()
    return seen.number


def profiled(on: On) -> Record:
    """A training step, and what an operation on one number takes."""
    work, _ = training(on, at_random(on.context.limit(64)))
    taken = on.took(work)
    kinds = [ProfilerActivity.CPU]
    if on.device.type == "cuda":
        kinds.append(ProfilerActivity.CUDA)
    with profile(activities=kinds) as seen:
        work()
        finish(on.device)
    where = "cpu" if on.device.type == "cpu" else "device"
    found = dict.fromkeys([*KINDS, REST], 0.0)
    for row in seen.key_averages():
        if where == "cpu" or row.key.startswith("aten::"):  # kernels have rows
            spent = getattr(row, f"self_{where}_time_total")
            found[kind_of(row.key)] += spent / 1e6
    whole = max(sum(found.values()), 1e-9)
    one = torch.zeros(1, device=on.device)
    tiny = on.took(lambda: [one.add_(1.0) for _ in range(STARTED)])
    record = {
        "milliseconds": round(1000 * taken, 3),
        "operations": started(work),
        "microseconds to start one": round(1e6 * tiny / STARTED, 3),
        "shares": {kind: round(t / whole, 4) for kind, t in found.items()},
    }
    if where == "device":  # the share of the time in which it does anything
        record["computing"] = round(whole / taken, 4)
    return record


def padding(on: On) -> Record:
    """Real tokens a second of batches at random, and of like lengths."""
    count = on.context.limit(BATCHES, 1)
    alike = islice(BucketedBatches(encoded(), BUDGET).epoch(0), count)
    made = {"random": at_random(BATCH, count), "alike": list(alike)}
    found = {}
    for name, batches in made.items():
        work, tokens = training(on, batches)
        found[name] = on.rate(tokens, work)
    return found


def rows(on: On) -> Record:
    """Tokens a second and FLOPs a second in products, by rows of a batch."""
    found = {}
    for number in TRAINED[on.device.type]:
        work, tokens = training(on, at_random(on.context.limit(number)))
        with FlopCounterMode(display=False) as counter:
            work()
        counted = counter.get_flop_counts()["Global"]
        taken = on.took(work)
        found[str(number)] = {
            "rate": float(f"{tokens / taken:.4g}"),
            "products": (counted[aten.mm] + counted[aten.addmm]) / taken,
        }
    return found


# --- the machine -------------------------------------------------------------


@torch.inference_mode()
def roofline(on: On) -> Record:
    """The most bytes and products in a second."""
    numbers, side = on.of(NUMBERS), on.of(SIDE)
    x, y, z = torch.zeros(3, numbers, device=on.device).unbind()
    ways = (  # and how many numbers each reads and writes
        (x.sum, 1),
        (partial(z.copy_, x), 2),
        (partial(x.add_, 1.0), 2),
        (partial(torch.add, x, y, out=z), 3),
    )
    moved = max(on.rate(n * x.nbytes, way) for way, n in ways)
    products = {}
    for name, kind in (("32 bits", torch.float32), ("bf16", torch.bfloat16)):
        a = torch.randn(side, side, device=on.device).to(kind)
        products[name] = on.rate(2 * side**3, partial(torch.matmul, a, a))
    return {"bytes": moved, "products": products}


def bits(on: On) -> Record:
    """Training in 16 bits, and products in 32, 16 and 8."""
    batch = at_random(on.context.limit(TRAINED[on.device.type][-1]))
    found = {}
    for name, bf16 in (("32 bits", False), ("bf16", True)):
        work, tokens = training(on, batch, bf16)
        found[f"training, {name}"] = on.rate(tokens, work)
    with torch.inference_mode():
        return found | products_of(on)


def products_of(on: On) -> Record:
    """Milliseconds of a matrix times one token, and times many."""
    size = on.context.limit(ROWS, 64), COLUMNS
    weight = torch.randn(size, device=on.device) / 64
    half, (whole, scale) = weight.bfloat16(), quantized(weight)
    ways = {}
    for tokens in (256, 1):
        x = torch.randn(tokens, COLUMNS, device=on.device)
        ways[f"{tokens}, 32 bits"] = partial(F.linear, x, weight)
        ways[f"{tokens}, bf16"] = partial(F.linear, x.bfloat16(), half)
    many = torch.ones(256, COLUMNS, dtype=torch.int8, device=on.device)
    ways["256, int8"] = partial(torch._int_mm, many, whole.T)
    summed = torch.compile(summed_8)  # one loop that reads the bytes
    ways["1, int8"] = partial(summed, x, whole, scale)
    return {
        name: float(f"{1000 * on.took(way):.4g}") for name, way in ways.items()
    }


# --- writing -----------------------------------------------------------------


@torch.inference_mode()
def guesses(on: On) -> Record:
    """Times as fast as greedy search."""
    large, small = load_shipped("en-ja"), load_shipped("en-ja-draft")
    model, draft = large.model.to(on.device), small.model.to(on.device)
    found = {}
    for name, texts in (("everyday", EVERYDAY), ("long", LONG)):
        few = texts[: on.context.limit(len(texts), 1)]
        ids = [encode_source(large.tokenizer, text) for text in few]
        sources = [torch.tensor([one], device=on.device) for one in ids]

        def greedy(sources=sources) -> list:
            return [greedy_search(model, src)[0] for src in sources]

        def guessed(sources=sources) -> list:
            return [
                speculative_search(
                    model, DraftModel(draft, src), src, count=GUESSES
                )
                for src in sources
            ]

        found[name] = {"gain": round(on.took(greedy) / on.took(guessed), 3)}
    return found


def decoder_of(on: On, way: str, texts: int = 1):
    """A decoder, what is asked of it, and the newest token of each text."""
    size = "small" if on.context.smoke else "smollm2"
    newest = torch.ones(texts, 1, dtype=torch.long, device=on.device)
    asked = Question(size, way, CONTEXT, texts)
    return model_of(size).to(on.device), asked, newest


@torch.inference_mode()
def writing(on: On) -> Record:
    """Tokens a second without a cache, and with one for several texts."""
    model, _, _ = decoder_of(on, "reserved")
    ids = torch.randint(3, 8000, (1, CONTEXT)).to(on.device)
    found = {
        "weights": sum(weight.numel() for weight in model.parameters()),
        "no cache": on.rate(1, lambda: last_logits(model, ids)),
    }
    for texts in WRITTEN[on.device.type]:
        _, asked, newest = decoder_of(on, "reserved", texts)
        with on.device:  # where keys and values are drawn
            step = growing(model, asked)

        def work(step=step, newest=newest) -> None:
            for i in range(STEPS):
                step(newest, CONTEXT + i)

        found[f"{texts} at a time"] = on.rate(STEPS * texts, work)
    return found


@torch.inference_mode()
def compiled(on: On) -> Record:
    """Tokens a second of one text, with a cache whose shape stays."""
    at = torch.tensor([CONTEXT], device=on.device)
    ways = {}
    for way in ("static", "compiled"):
        model, asked, newest = decoder_of(on, way)
        with on.device:
            writer = static_writer(model, asked)
        ways[way] = partial(writer, newest, at)
    ways["compiled"]()
    if on.device.type == "cuda":
        ways |= {f"{w}, recorded": recorded(way) for w, way in ways.items()}
    return {name: on.rate(1, way) for name, way in ways.items()}


def recorded(work: Callable[[], object]) -> Callable[[], None]:
    """A CUDA graph: the launches of a call, recorded once, all at once."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


# --- the experiment ----------------------------------------------------------

WORKS = {
    "profile": profiled,
    "roofline": roofline,
    "padding": padding,
    "rows": rows,
    "guesses": guesses,
    "writing": writing,
    "bits": bits,
    "compiled": compiled,
}
"""What may fail on a new device, because it is compiled, comes last."""


def measure(asked: tuple[str, str], seed: int, context: RunContext) -> Record:
    """One work on one device, once."""
    torch.set_num_threads(1)
    where, work = asked
    device = pick_device(where)
    quiet = (
        conditions if where == "cuda" else partial(undisturbed, context.smoke)
    )
    about, start = quiet(), time.perf_counter()
    found = WORKS[work](On(device, context))
    return {**about, "took": round(time.perf_counter() - start, 1), **found}


EXPERIMENT = Experiment(
    name="on-a-device",
    chapter="21_speed",
    variants={
        f"{where}/{work}": (where, work)
        for where in ("cpu", "cuda")
        for work in WORKS
    },
    measure=measure,
    seeds=(0,),
    settings=lambda: {
        "rows": BATCH,
        "token_budget": BUDGET,
        "batches": BATCHES,
        "context": CONTEXT,
        "matrix": [ROWS, COLUMNS],
        "guesses": GUESSES,
        "everyday": EVERYDAY,
    },
    default_variants=("cpu",),
    smoke_variants=("cpu/profile", "cpu/writing"),
)
