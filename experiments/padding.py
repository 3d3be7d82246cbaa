"""How much of a batch is padding, and what do batches cost and teach?

``lengths.npz`` holds how long the pairs of three corpora are, cut into pieces
as their presets do; it is made when it is missing. ``shares`` makes batches of
these lengths in several ways, half a minute; ``times`` trains a few steps,
each way in a process of its own, ten minutes on one thread; ``gradients``
compares those of 240 batches, a minute.
"""

import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from experiments import store
from experiments.lab import Experiment, Record, RunContext
from experiments.timing import run_in_subprocess
from transformer_course.batches.buckets import BucketedBatches
from transformer_course.batches.pairs import (
    Batch,
    IdPair,
    encode_pairs,
    padded_batch,
)
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.training.loop import autocast, make_optimizer, set_seed
from transformer_course.training.loss import batch_loss
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.prepare import prepare

CORPORA = {"grammar": "grammar", "small_parallel_enja": "enja"}
CORPORA |= {"soseki": "soseki"}
"""The corpora, and the presets that say how they are cut."""
SENTENCES = 64
"""Sentences in a batch of a fixed number."""
SHAPES = (1, 6, 12, 24, 48)
TIMED = "small_parallel_enja"
TIMED_WAYS = ("random, fixed number", "sorted, by budget", "buckets, 12")
STEPS = 12
"""Training steps that are timed, twice over."""
ROUNDS = 2
"""Fresh processes for each way; the smallest time counts."""
PAIRS = 200
"""Pairs of a smoke test."""
GRADIENTS = 40
"""Batches whose gradients are compared."""
ROWS = 84
"""Sentences in them where the number is fixed: a bucket's, on average."""

Lengths = list[tuple[int, int]]
Cut = list[list[int]]
"""Batches: for each the places of its pairs."""


# --- lengths -----------------------------------------------------------------


def count_lengths(preset: str, context: RunContext) -> np.ndarray:
    """Rows of source length, target length, and how many pairs have them.

    Nothing is cut off. Eos counts on both sides, bos does not.
    """
    parts = prepare(PRESETS[preset])
    train, encode = parts.splits.train, parts.tokenizer.encode
    pairs = train.take(range(context.limit(len(train), PAIRS)))
    found = Counter(
        (len(encode(src)) + 1, len(encode(tgt)) + 1) for src, tgt in pairs
    )
    rows = [(*pair, n) for pair, n in sorted(found.items())]
    return np.array(rows, dtype=np.int32)


def lengths_of(corpus: str, context: RunContext) -> Lengths:
    """Lengths of all pairs of a corpus, cut off; counted once, then stored."""
    path = context.folder / "lengths.npz"
    known = store.arrays_in(path)
    if corpus not in known:
        known[corpus] = count_lengths(CORPORA[corpus], context)
        store.write_arrays(path, known)
    longest = PRESETS[CORPORA[corpus]].model.max_length
    return unfold(known[corpus], longest)


def unfold(counts: np.ndarray, longest: int) -> Lengths:
    """The lengths of every pair, cut off as training pairs are."""
    # a target loses bos from its room, which is not counted here
    return [
        (min(source, longest), min(target, longest - 1))
        for source, target, number in counts.tolist()
        for _ in range(number)
    ]


def pairs_of(lengths: Lengths, vocabulary: int = 4) -> list[IdPair]:
    """Pairs of these lengths, of ids drawn at random."""
    draw = random.Random(0).randrange

    def body(size: int) -> list[int]:
        return [draw(3, vocabulary) for _ in range(size - 1)]

    return [(body(s) + [EOS], [BOS, *body(t), EOS]) for s, t in lengths]


# --- ways to make batches ----------------------------------------------------


def by_number(order: Sequence[int]) -> Cut:
    """A fixed number of sentences each."""
    return [
        list(order[i : i + SENTENCES]) for i in range(0, len(order), SENTENCES)
    ]


def by_budget(order: Sequence[int], lengths: Lengths, budget: int) -> Cut:
    """Fill batches in order, up to rows times the widest side."""
    batches: Cut = []
    widest = 0
    for place in order:
        widest = max(widest, *lengths[place])
        if not batches or (len(batches[-1]) + 1) * widest > budget:
            batches.append([])
            widest = max(lengths[place])
        batches[-1].append(place)
    return batches


def shuffled(lengths: Lengths) -> list[int]:
    """The places in an order drawn at random."""
    order = list(range(len(lengths)))
    random.Random(0).shuffle(order)
    return order


def by_length(lengths: Lengths) -> list[int]:
    """The places, shortest source first, then shortest target."""
    return sorted(range(len(lengths)), key=lambda i: lengths[i])


WAYS: dict[str, Callable[[Lengths, int], Cut]] = {
    "random, fixed number": lambda x, _: by_number(shuffled(x)),
    "random, by budget": lambda x, b: by_budget(shuffled(x), x, b),
    "sorted, fixed number": lambda x, _: by_number(by_length(x)),
    "sorted, by budget": lambda x, b: by_budget(by_length(x), x, b),
}


def describe(padding: float, shapes: list, tokens: list[int]) -> Record:
    """Padding, shapes and target tokens of some batches."""
    return {
        "padding": round(padding, 5),
        "batches": len(tokens),
        "shapes": len(set(shapes)),
        "tokens_mean": round(statistics.mean(tokens), 1),
        "tokens_sd": round(statistics.pstdev(tokens), 1),
    }


def describe_cut(lengths: Lengths, cut: Cut) -> Record:
    """Describe batches that are as wide as they need."""
    shapes, tokens = [], []
    for places in cut:
        sources, targets = zip(*(lengths[i] for i in places), strict=True)
        shapes.append((len(places), max(sources), max(targets)))
        tokens.append(sum(targets))
    cells = sum(rows * (s + t) for rows, s, t in shapes)
    return describe(1 - sum(map(sum, lengths)) / cells, shapes, tokens)


def describe_buckets(batches: BucketedBatches) -> Record:
    """Describe an epoch of buckets."""
    tokens = [int((b.tgt_out != PAD).sum()) for b in batches.epoch(0)]
    return describe(batches.padding_share, batches.shapes, tokens)


def shares_of(corpus: str, context: RunContext) -> Record:
    """Every way on one corpus."""
    lengths = lengths_of(corpus, context)
    budget = PRESETS[CORPORA[corpus]].data.token_budget
    ways = {
        name: describe_cut(lengths, make(lengths, budget))
        for name, make in WAYS.items()
    }
    pairs = pairs_of(lengths)
    for most in SHAPES:
        buckets = BucketedBatches(pairs, budget, max_shapes=most)
        ways[f"buckets, {most}"] = describe_buckets(buckets)
    return {"ways": ways}


# --- time --------------------------------------------------------------------


def some_batches(
    way: str, lengths: Lengths, budget: int, size: int
) -> list[Batch]:
    """A few batches of an epoch, drawn at random."""
    pairs = pairs_of(lengths, vocabulary=6000)
    if way.startswith("buckets"):
        most = int(way.split()[-1])
        batches = BucketedBatches(pairs, budget, max_shapes=most)
        return list(batches.epoch(0))[:size]
    cut = random.Random(0).sample(WAYS[way](lengths, budget), size)
    return [padded_batch([pairs[i] for i in places]) for places in cut]


def time_steps(
    way: str, bf16: bool, lengths: Lengths, size: int
) -> list[dict]:
    """Train on the same few batches twice; the time of each step.

    The second time, every shape has been met before.
    """
    experiment = PRESETS[CORPORA[TIMED]]
    budget = experiment.data.token_budget
    batches = some_batches(way, lengths, budget, size)
    set_seed(0)
    model = checkpoint.build(experiment.model)
    optimizer = make_optimizer(model, experiment.train)
    steps = []
    for visit in (1, 2):
        for batch in batches:
            start = time.process_time()
            with autocast(torch.device("cpu"), bf16):
                sums = batch_loss(model, batch, smoothing=0.1)
            optimizer.zero_grad()
            (sums.loss / sums.tokens).backward()
            optimizer.step()
            steps.append(
                {
                    "visit": visit,
                    "shape": [*batch.src.shape, batch.tgt_in.size(1)],
                    "tokens": int(sums.tokens),
                    "seconds": round(time.process_time() - start, 4),
                }
            )
    return steps


def times_of(way: str, precision: str, context: RunContext) -> Record:
    """:func:`time_steps` in processes that have met no shape yet."""
    lengths = lengths_of("grammar" if context.smoke else TIMED, context)
    asked = (way, precision == "bf16", lengths, context.limit(STEPS))
    rounds = [
        run_in_subprocess(time_steps, *asked)
        for _ in range(context.limit(ROUNDS, 1))
    ]
    return {"steps": fastest(rounds)}


def fastest(rounds: list[list[dict]]) -> list[dict]:
    """Each step with the smallest of its times."""
    return [
        step | {"seconds": min(r[i]["seconds"] for r in rounds)}
        for i, step in enumerate(rounds[0])
    ]


# --- gradients ---------------------------------------------------------------


def gradient_of(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """The gradient of the loss per token, and the number of tokens."""
    model.zero_grad()
    sums = batch_loss(model, batch, smoothing=0.1)
    (sums.loss / sums.tokens).backward()
    parts = [weight.grad.flatten() for weight in model.parameters()]
    return torch.cat(parts), int(sums.tokens)


def grammar_batches(
    pairs: list[IdPair], way: str, number: int = GRADIENTS
) -> list[Batch]:
    """Some batches of the grammar, of about as many tokens in each way."""
    budget = PRESETS["grammar"].data.token_budget
    if way == "buckets, by budget":
        return list(BucketedBatches(pairs, budget).epoch(0))[:number]
    lengths = [(len(src), len(tgt) - 1) for src, tgt in pairs]
    order = shuffled(lengths)
    if way == "sorted, fixed number":
        order.sort(key=lambda i: lengths[i])
    cut = [order[i : i + ROWS] for i in range(0, len(order), ROWS)]
    chosen = random.Random(0).sample(cut, number)
    return [padded_batch([pairs[i] for i in places]) for places in chosen]


def noise_of(
    model: nn.Module, pairs: list[IdPair], number: int = GRADIENTS
) -> dict[str, list]:
    """Tokens of each batch, and how far its gradient is from the mean one.

    The mean is over batches in random order, each counted by its tokens; the
    distance is squared and relative to the squared length of the mean.
    """
    ways = {
        way: grammar_batches(pairs, way, number)
        for way in (
            "random, fixed number",
            "sorted, fixed number",
            "buckets, by budget",
        )
    }
    total, tokens = torch.zeros(()), 0
    for batch in ways["random, fixed number"]:
        gradient, n = gradient_of(model, batch)
        total, tokens = total + n * gradient, tokens + n
    mean = total / tokens

    def compare(batch: Batch) -> list:
        gradient, n = gradient_of(model, batch)
        deviation = (gradient - mean).square().sum() / mean.square().sum()
        return [n, round(float(deviation), 4)]

    return {way: [compare(b) for b in found] for way, found in ways.items()}


def gradients_of(name: str, context: RunContext) -> Record:
    """Noise in the grammar's translator, untrained or trained."""
    experiment = PRESETS["grammar"]
    parts = prepare(experiment)
    pairs = encode_pairs(
        parts.tokenizer, parts.splits.train, experiment.model.max_length
    )
    model = parts.model
    if name == "trained":
        model = load_shipped("grammar").model
    noise = noise_of(model.train(), pairs, context.limit(GRADIENTS))
    return {"ways": noise}


# --- storing -----------------------------------------------------------------

Measure = Callable[[RunContext], Record]
VARIANTS: dict[str, Measure] = {
    **{f"shares/{c}": partial(shares_of, c) for c in CORPORA},
    **{
        f"times/{way}, {precision}": partial(times_of, way, precision)
        for precision in ("fp32", "bf16")
        for way in TIMED_WAYS
    },
    **{
        f"gradients/{name}": partial(gradients_of, name)
        for name in ("untrained", "trained")
    },
}

EXPERIMENT = Experiment(
    name="padding",
    chapter="11_batches",
    variants=VARIANTS,
    measure=lambda measure, seed, context: measure(context),
    seeds=(0,),
    settings=lambda: {
        "sentences": SENTENCES,
        "corpus": TIMED,
        "rounds": ROUNDS,
        "rows": ROWS,
    },
    smoke_variants=(
        "shares/grammar",
        f"times/{TIMED_WAYS[-1]}, bf16",
        "gradients/untrained",
    ),
)
