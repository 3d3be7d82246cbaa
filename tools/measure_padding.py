"""Count and time the padding of batches: runs/padding, for chapter 11.

    python tools/measure_padding.py lengths   how long the pairs are
    python tools/measure_padding.py shares    what padding they need
    python tools/measure_padding.py times     what shapes cost on this CPU
    python tools/measure_padding.py gradients how far batches agree

``lengths`` comes first; it cuts three corpora into pieces as their presets do,
two minutes. ``shares`` makes batches of these lengths in several ways, half a
minute; ``times`` trains a few steps, each way in a process of its own, ten
minutes on one thread; ``gradients`` compares those of 240 batches, a minute.
What is there already is kept: delete a file to have it anew.
"""

import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from transformer_course import checkpoint, runs
from transformer_course.batches import (
    Batch,
    IdPair,
    encode_pairs,
    padded_batch,
)
from transformer_course.buckets import BucketedBatches
from transformer_course.device import machine
from transformer_course.experiment import keep_freed_memory, prepare, trained
from transformer_course.objective import score_batch
from transformer_course.presets import PRESETS
from transformer_course.tokenizer import BOS, EOS, PAD
from transformer_course.train import autocast, make_optimizer, set_seed

FOLDER = runs.folder("padding")
COMMAND = "python tools/measure_padding.py"
CORPORA = {"grammar": "grammar", "small_parallel_enja": "enja"}
CORPORA |= {"soseki": "soseki"}
"""The corpora, and the presets that say how they are cut."""
SENTENCES = 64
"""In a batch of a fixed number of sentences."""
SHAPES = (1, 6, 12, 24, 48)
TIMED = "small_parallel_enja"
TIMED_WAYS = ("random, fixed number", "sorted, by budget", "buckets, 12")
STEPS = 12
"""Training steps that are timed, twice over."""
ROUNDS = 2
"""Fresh processes for each way; the smallest time counts."""

GRADIENTS = 40
"""Batches whose gradients are compared."""
ROWS = 84
"""Sentences in them where the number is fixed: a bucket's, on average."""

Lengths = list[tuple[int, int]]
Cut = list[list[int]]
"""Batches: for each the places of its pairs."""


# --- lengths -----------------------------------------------------------------


def count_lengths(preset: str) -> np.ndarray:
    """Rows of source length, target length, and how many pairs have them.

    Nothing is cut off. Eos counts on both sides, bos does not.
    """
    experiment = PRESETS[preset]
    parts = prepare(experiment)
    encode = parts.tokenizer.encode
    found = Counter(
        (len(encode(src)) + 1, len(encode(tgt)) + 1)
        for src, tgt in parts.splits.train
    )
    return np.array([(*pair, n) for pair, n in sorted(found.items())])


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
    """As many in a row as fit: rows times the widest side."""
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


def describe(lengths: Lengths, cut: Cut) -> dict:
    """Padding, shapes and target tokens of batches as wide as they need."""
    shapes, tokens = [], []
    for places in cut:
        sources, targets = zip(*(lengths[i] for i in places), strict=True)
        shapes.append((len(places), max(sources), max(targets)))
        tokens.append(sum(targets))
    cells = sum(rows * (s + t) for rows, s, t in shapes)
    return {
        "padding": round(1 - sum(map(sum, lengths)) / cells, 5),
        "batches": len(cut),
        "shapes": len(set(shapes)),
        "tokens_mean": round(statistics.mean(tokens), 1),
        "tokens_sd": round(statistics.pstdev(tokens), 1),
    }


def describe_buckets(batches: BucketedBatches) -> dict:
    """The same of an epoch of buckets."""
    tokens = [int((b.tgt_out != PAD).sum()) for b in batches.epoch(0)]
    return {
        "padding": round(batches.padding_share, 5),
        "batches": len(batches),
        "shapes": len(set(batches.shapes)),
        "tokens_mean": round(statistics.mean(tokens), 1),
        "tokens_sd": round(statistics.pstdev(tokens), 1),
    }


def shares_of(lengths: Lengths, budget: int) -> dict[str, dict]:
    """Every way on one corpus."""
    found = {
        name: describe(lengths, make(lengths, budget))
        for name, make in WAYS.items()
    }
    pairs = pairs_of(lengths)
    for most in SHAPES:
        buckets = BucketedBatches(pairs, budget, max_shapes=most)
        found[f"buckets, {most}"] = describe_buckets(buckets)
    return found


# --- time --------------------------------------------------------------------


def some_batches(way: str, lengths: Lengths, budget: int) -> list[Batch]:
    """A few batches of an epoch, drawn at random."""
    pairs = pairs_of(lengths, vocabulary=6000)
    if way.startswith("buckets"):
        most = int(way.split()[-1])
        batches = BucketedBatches(pairs, budget, max_shapes=most)
        return list(batches.epoch(0))[:STEPS]
    cut = random.Random(0).sample(WAYS[way](lengths, budget), STEPS)
    return [padded_batch([pairs[i] for i in places]) for places in cut]


def time_steps(way: str, bf16: bool) -> list[dict]:
    """Train on the same few batches twice; the time of each step.

    The second time, every shape has been met before.
    """
    experiment = PRESETS[CORPORA[TIMED]]
    budget = experiment.data.token_budget
    lengths = unfold(load_lengths(TIMED), experiment.model.max_length)
    batches = some_batches(way, lengths, budget)
    keep_freed_memory()
    set_seed(0)
    model = checkpoint.build(experiment.model)
    optimizer = make_optimizer(model, experiment.train)
    steps = []
    for visit in (1, 2):
        for batch in batches:
            start = time.process_time()
            with autocast(torch.device("cpu"), bf16):
                score = score_batch(model, batch, smoothing=0.1)
            optimizer.zero_grad()
            (score.loss / score.tokens).backward()
            optimizer.step()
            steps.append(
                {
                    "visit": visit,
                    "shape": [*batch.src.shape, batch.tgt_in.size(1)],
                    "tokens": int(score.tokens),
                    "seconds": round(time.process_time() - start, 4),
                }
            )
    return steps


def measured_elsewhere(way: str, precision: str) -> list[dict]:
    """:func:`time_steps` in a process that has met no shape yet."""
    command = [sys.executable, __file__, "once", way, precision]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


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
    score = score_batch(model, batch, smoothing=0.1)
    (score.loss / score.tokens).backward()
    parts = [weight.grad.flatten() for weight in model.parameters()]
    return torch.cat(parts), int(score.tokens)


def grammar_batches(pairs: list[IdPair], way: str) -> list[Batch]:
    """Some batches of the grammar, of about as many tokens in each way."""
    budget = PRESETS["grammar"].data.token_budget
    if way == "buckets, by budget":
        return list(BucketedBatches(pairs, budget).epoch(0))[:GRADIENTS]
    lengths = [(len(src), len(tgt) - 1) for src, tgt in pairs]
    order = shuffled(lengths)
    if way == "sorted, fixed number":
        order.sort(key=lambda i: lengths[i])
    cut = [order[i : i + ROWS] for i in range(0, len(order), ROWS)]
    chosen = random.Random(0).sample(cut, GRADIENTS)
    return [padded_batch([pairs[i] for i in places]) for places in chosen]


def noise_of(model: nn.Module, pairs: list[IdPair]) -> dict[str, list]:
    """Tokens of each batch, and how far its gradient is from the mean one.

    The mean is over batches in random order, each counted by its tokens; the
    distance is squared and relative to the squared length of the mean.
    """
    ways = {
        way: grammar_batches(pairs, way)
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
        apart = (gradient - mean).square().sum() / mean.square().sum()
        return [n, round(float(apart), 4)]

    return {way: [compare(b) for b in found] for way, found in ways.items()}


# --- storing -----------------------------------------------------------------


def load_lengths(corpus: str) -> np.ndarray:
    """What ``lengths`` has stored of a corpus."""
    path = FOLDER / "lengths.npz"
    if not path.exists():
        raise SystemExit(f"first: {COMMAND} lengths")
    with np.load(path) as arrays:
        return arrays[corpus]


def store_lengths() -> None:
    """Make what is missing of lengths.npz."""
    path, known = FOLDER / "lengths.npz", {}
    if path.exists():
        with np.load(path) as arrays:
            known = dict(arrays)
    for corpus, preset in CORPORA.items():
        if corpus not in known:
            known[corpus] = count_lengths(preset).astype(np.int32)
            runs.write_arrays(path, known)
            print(corpus, len(known[corpus]), flush=True)


def store_shares() -> None:
    """Make what is missing of shares.json."""
    path = FOLDER / "shares.json"
    stored = {"command": f"{COMMAND} shares", "corpora": {}}
    stored |= {"machine": machine(), "sentences": SENTENCES}
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
    for corpus, preset in CORPORA.items():
        if corpus in stored["corpora"]:
            continue
        experiment = PRESETS[preset]
        longest = experiment.model.max_length
        budget = experiment.data.token_budget
        lengths = unfold(load_lengths(corpus), longest)
        stored["corpora"][corpus] = {
            "pairs": len(lengths),
            "token_budget": budget,
            "max_length": longest,
            "ways": shares_of(lengths, budget),
        }
        runs.write_json(path, stored, indent=1)
        print(corpus, stored["corpora"][corpus], flush=True)


def store_times() -> None:
    """Make what is missing of times.json."""
    path = FOLDER / "times.json"
    stored = {"command": f"{COMMAND} times", "machine": machine()}
    stored |= {"corpus": TIMED, "rounds": ROUNDS, "times": {}}
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
    for precision in ("fp32", "bf16"):
        for way in TIMED_WAYS:
            name = f"{way}, {precision}"
            if name in stored["times"]:
                continue
            rounds = [
                measured_elsewhere(way, precision) for _ in range(ROUNDS)
            ]
            stored["times"][name] = fastest(rounds)
            runs.write_json(path, stored)
            print(name, flush=True)


def store_gradients() -> None:
    """Make what is missing of gradients.json."""
    path = FOLDER / "gradients.json"
    stored = {"command": f"{COMMAND} gradients", "machine": machine()}
    stored |= {"rows": ROWS, "models": {}}
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
    experiment = PRESETS["grammar"]
    parts = prepare(experiment)
    pairs = encode_pairs(
        parts.tokenizer, parts.splits.train, experiment.model.max_length
    )
    models = {
        "untrained": lambda: parts.model,
        "trained": lambda: trained(experiment).model.cpu(),
    }
    for name, model in models.items():
        if name not in stored["models"]:
            stored["models"][name] = noise_of(model().train(), pairs)
            runs.write_json(path, stored)
            print(name, flush=True)


def main(what: str = "", *options: str) -> None:
    """Make what is missing of one file."""
    if what == "once":
        way, precision = options
        print(json.dumps(time_steps(way, precision == "bf16")))
        return
    kinds = {"lengths": store_lengths, "shares": store_shares}
    kinds |= {"times": store_times, "gradients": store_gradients}
    if what not in kinds:
        raise SystemExit(f"say what to measure: {', '.join(kinds)}")
    kinds[what]()


if __name__ == "__main__":
    main(*sys.argv[1:])
