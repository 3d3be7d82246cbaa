"""Compare score functions, their quality and their time: runs/scores.

    python tools/compare_scores.py                   all that is missing
    python tools/compare_scores.py dot-512 times     these parts

Quality: the task of chapter 04, the next Japanese word from the word before
and one look at the English sentence. Every score reads the same queries and
keys of width d_k, whose components start with variance 1; each is trained at
several rates with several seeds. A "small start" draws the two projections
smaller, by the fourth root of d_k each; a "small step" moves them slower, by
its square root. Three more are for comparison: the dot product divided by
d_k, by the root of a model eight heads wide, and no look at all, with every
score zero. Time: forward and backward of the score alone.

What is there already under ``runs/scores/`` is not made again: delete a file
to have it anew.
"""

import functools
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import runs
from transformer_course.attention import (
    AdditiveScore,
    GeneralScore,
    dot_score,
    masked_softmax,
)
from transformer_course.data.grammar import AlignedPair, grammar_splits
from transformer_course.device import machine
from transformer_course.layers import TokenEmbedding
from transformer_course.positional_encoding import sinusoidal_encoding

SEEDS = (0, 1, 2)
RATES = (0.0006, 0.002, 0.006, 0.02, 0.06)
"""At the first step; they fall to zero in a straight line."""
WIDTHS = (2, 8, 64, 512)
ASIDE = {"no-look": (64,), "wrong-root": (64,), "by-d": (64, 512)}
"""Scores for comparison, and the widths at which they are trained."""
HEADS = 8
"""The wrong root is that of the whole model, so many heads wide."""
STEPS = 400
ROWS = 32
"""Sentence pairs in a batch."""
D_MODEL = 64
TRAIN, DEV = 4000, 400

BATCH = 4
FIXED_LENGTH, FIXED_WIDTH = 64, 64
LENGTHS = (16, 32, 64, 128, 256)
TIMED_WIDTHS = (8, 16, 32, 64, 128, 256, 512)
SECONDS = 0.5
"""Each score is timed at least so long, and at least MINIMUM times."""
MINIMUM = 5


# --- the scores --------------------------------------------------------------

Score = Callable[[Tensor, Tensor], Tensor]


def scaled_score(query: Tensor, key: Tensor) -> Tensor:
    """q · k / √d_k."""
    return dot_score(query, key) / math.sqrt(query.size(-1))


def wrong_root_score(query: Tensor, key: Tensor) -> Tensor:
    """q · k / √d_model, with d_model = HEADS times d_k."""
    return dot_score(query, key) / math.sqrt(HEADS * query.size(-1))


def by_d_score(query: Tensor, key: Tensor) -> Tensor:
    """q · k / d_k."""
    return dot_score(query, key) / query.size(-1)


def no_look(query: Tensor, key: Tensor) -> Tensor:
    """Zeros: every key gets the same weight."""
    return 0 * dot_score(query, key)


SCORES: dict[str, Callable[[int], Score]] = {
    "dot": lambda d: dot_score,
    "dot-small-start": lambda d: dot_score,
    "scaled": lambda d: scaled_score,
    "scaled-small-step": lambda d: scaled_score,
    "general": lambda d: GeneralScore(d, d),
    "additive": lambda d: AdditiveScore(d, d, d),
    "no-look": lambda d: no_look,
    "wrong-root": lambda d: wrong_root_score,
    "by-d": lambda d: by_d_score,
}


# --- the task ----------------------------------------------------------------


class Task(NamedTuple):
    """Rows of numbers, filled up with 0, and the pairs they stand for."""

    src: Tensor
    tgt: Tensor
    dev_src: Tensor
    dev_tgt: Tensor
    dev: list[AlignedPair]
    sizes: tuple[int, int]
    """Numbers in use in English and in Japanese."""


def number_words(sentences: list[str]) -> dict[str, int]:
    """A number for each word; 0 fills up, 1 begins."""
    words = sorted({word for line in sentences for word in line.split()})
    return {w: i for i, w in enumerate(["<pad>", "<bos>", *words])}


def to_ids(sentences: list[str], numbers: dict[str, int]) -> Tensor:
    """A row of numbers for each sentence."""
    rows = [[numbers[w] for w in line.split()] for line in sentences]
    rows = [torch.tensor(row) for row in rows]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


@functools.cache
def make_task() -> Task:
    """Next word, given the source and the word before."""
    train, dev, _ = grammar_splits(train=TRAIN, dev=DEV, test=0)
    english = number_words([p.src for p in train + dev])
    japanese = number_words([p.tgt for p in train + dev])
    ids = [
        ids
        for part in (train, dev)
        for ids in (
            to_ids([p.src for p in part], english),
            to_ids(["<bos> " + p.tgt for p in part], japanese),
        )
    ]
    return Task(*ids, dev, (len(english), len(japanese)))


class Aligner(nn.Module):
    """One head of attention between word vectors and the next word.

    The vectors are normalised, and the projections drawn with variance
    1/d_model, so that the components of queries and keys have variance 1.
    """

    def __init__(self, name: str, d_k: int, sizes: tuple[int, int]):
        super().__init__()
        self.of_src = TokenEmbedding(sizes[0], D_MODEL)
        self.of_tgt = TokenEmbedding(sizes[1], D_MODEL)
        self.to_query = nn.Linear(D_MODEL, d_k, bias=False)
        self.to_key = nn.Linear(D_MODEL, d_k, bias=False)
        self.to_value = nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.to_logits = nn.Linear(D_MODEL, sizes[1])
        self.score = SCORES[name](d_k)
        self.position = sinusoidal_encoding(64, D_MODEL)
        small = d_k**-0.25 if name == "dot-small-start" else 1.0
        for part in (self.to_query, self.to_key):
            nn.init.normal_(part.weight, std=small * D_MODEL**-0.5)
        if isinstance(self.score, nn.Module):
            for weight in self.score.parameters():
                nn.init.normal_(weight, std=weight.size(1) ** -0.5)

    def forward(self, src: Tensor, tgt_in: Tensor) -> tuple[Tensor, ...]:
        """Logits, scores, and weights of the attention."""
        memory = self.of_src(src) + self.position[: src.size(1)]
        query = self.of_tgt(tgt_in) + self.position[: tgt_in.size(1)]
        memory = F.layer_norm(memory, (D_MODEL,))
        query = F.layer_norm(query, (D_MODEL,))
        scores = self.score(self.to_query(query), self.to_key(memory))
        weights = masked_softmax(scores, (src != 0)[:, None, :])
        output = self.to_logits(weights @ self.to_value(memory))
        return output, scores, weights


@torch.no_grad()
def look(model: Aligner, task: Task) -> dict[str, float]:
    """Loss, share of words aligned as the grammar has it, and spreads.

    The loss is in nats per word; entropy too, of the mean row of weights.
    """
    logits, scores, weights = model(task.dev_src, task.dev_tgt[:, :-1])
    answers = task.dev_tgt[:, 1:]
    loss = F.cross_entropy(logits.mT, answers, ignore_index=0)
    right = []
    best = weights.argmax(dim=-1).tolist()
    for pair, places in zip(task.dev, best, strict=True):
        gold = set(pair.alignment)
        for t in {t for _, t in gold}:
            right.append((places[t], t) in gold)
    real = (answers != 0)[:, :, None] & (task.dev_src != 0)[:, None, :]
    entropy = torch.special.entr(weights).sum(dim=-1)[answers != 0].mean()
    return {
        "loss": round(loss.item(), 4),
        "aligned": round(sum(right) / len(right), 4),
        "entropy": round(entropy.item(), 4),
        "spread": round(scores[real].std().item(), 3),
    }


def draw_batch(task: Task, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Some pairs, filled up no further than they need."""
    rows = torch.randint(len(task.src), (ROWS,), generator=generator)
    src, tgt = task.src[rows], task.tgt[rows]
    src = src[:, : int((src != 0).sum(dim=1).max())]
    return src, tgt[:, : int((tgt != 0).sum(dim=1).max())]


def train_once(name: str, d_k: int, rate: float, seed: int) -> dict:
    """One training: how it starts, and how it ends."""
    task = make_task()
    torch.manual_seed(seed)
    model = Aligner(name, d_k, task.sizes)
    pair = [model.to_query.weight, model.to_key.weight]
    others = [p for p in model.parameters() if all(p is not q for q in pair)]
    optimizer = torch.optim.Adam([{"params": others}, {"params": pair}])
    slower = d_k**-0.5 if name == "scaled-small-step" else 1.0
    generator = torch.Generator().manual_seed(seed)
    start = look(model, task)
    for step in range(STEPS):
        src, tgt = draw_batch(task, generator)
        logits = model(src, tgt[:, :-1])[0]
        loss = F.cross_entropy(logits.mT, tgt[:, 1:], ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        now = rate * (1 - step / STEPS)
        optimizer.param_groups[0]["lr"] = now
        optimizer.param_groups[1]["lr"] = slower * now
        optimizer.step()
    return {
        "rate": rate,
        "seed": seed,
        "start": start,
        "end": look(model, task),
    }


def train_missing(path: Path, name: str, d_k: int) -> None:
    """The trainings that the file of a score and a width does not have."""
    stored = {"score": name, "d_k": d_k, "trainings": []}
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
    known = {(t["rate"], t["seed"]) for t in stored["trainings"]}
    for rate in RATES:
        for seed in SEEDS:
            if (rate, seed) in known:
                continue
            result = train_once(name, d_k, rate, seed)
            stored["trainings"].append(result)
            stored["trainings"].sort(key=lambda t: (t["rate"], t["seed"]))
            runs.write_json(path, stored, indent=1)
            print(path.stem, rate, seed, result["end"], flush=True)


# --- time --------------------------------------------------------------------


def seconds(work: Callable[[], object]) -> float:
    """The smallest time of several, after a first that does not count."""
    single = torch.get_num_threads() == 1  # then count this process only
    now = time.process_time if single else time.perf_counter
    work()
    times: list[float] = []
    while len(times) < MINIMUM or sum(times) < SECONDS:
        start = now()
        work()
        times.append(now() - start)
    return min(times)


def time_of(name: str, n: int, d: int) -> float:
    """Forward and backward of the scores of n queries with n keys."""
    torch.manual_seed(0)
    score = SCORES[name](d)
    query, key = torch.randn(2, BATCH, n, d, requires_grad=True)
    upstream = torch.randn(BATCH, n, n)
    wanted = [query, key]
    if isinstance(score, nn.Module):
        wanted += score.parameters()
    return seconds(
        lambda: torch.autograd.grad(score(query, key), wanted, upstream)
    )


def time_missing(path: Path) -> None:
    """The times that the file does not have."""
    stored = {"machine": machine(), "batch": BATCH, "times": []}
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
    known = {(t["score"], t["n"], t["d"]) for t in stored["times"]}
    sizes = [(n, FIXED_WIDTH) for n in LENGTHS]
    sizes += [(FIXED_LENGTH, d) for d in TIMED_WIDTHS if d != FIXED_WIDTH]
    for n, d in sizes:
        for name in ("dot", "scaled", "general", "additive"):
            if (name, n, d) in known:
                continue
            taken = float(f"{time_of(name, n, d):.4g}")
            stored["times"].append(
                {"score": name, "n": n, "d": d, "seconds": taken}
            )
            runs.write_json(path, stored, indent=1)
            print("time", name, n, d, taken, flush=True)


# --- storing -----------------------------------------------------------------


def write_settings(folder: Path) -> None:
    """What the trainings were made with."""
    runs.write_json(
        folder / "settings.json",
        {
            "command": "python tools/compare_scores.py",
            "machine": machine(),
            "seeds": SEEDS,
            "rates": RATES,
            "widths": WIDTHS,
            "aside": ASIDE,
            "steps": STEPS,
            "rows": ROWS,
            "d_model": D_MODEL,
            "pairs": {"train": TRAIN, "dev": DEV},
        },
        indent=1,
    )


def main() -> None:
    """Make what is missing of the parts named, or of all."""
    folder = runs.folder("scores")
    write_settings(folder)
    parts = [
        f"{name}-{d_k}"
        for d_k in WIDTHS
        for name in SCORES
        if d_k in ASIDE.get(name, WIDTHS)
    ]
    for part in sys.argv[1:] or [*parts, "times"]:
        path = folder / f"{part}.json"
        if part == "times":
            time_missing(path)
        else:
            name, _, d_k = part.rpartition("-")
            train_missing(path, name, int(d_k))


if __name__ == "__main__":
    main()
