"""Which score function?

Quality: the task of chapter 04, the next Japanese word from the word before
and one look at the English sentence. Every score reads the same queries and
keys of width d_k, whose components start with variance 1; each is trained at
several rates. A "small start" draws the two projections smaller, by the fourth
root of d_k each; a "small step" moves them slower, by its square root, and
with them the two matrices by which the additive score reads them. Three more
are for comparison: the dot product divided by d_k, by the root of a model
eight heads wide, and no look at all, with every score zero. Time: forward and
backward of the score alone.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from experiments.timing import TIMES, seconds
from transformer_course.data.grammar import AlignedPair, grammar_splits
from transformer_course.models.attention import (
    AdditiveScore,
    GeneralScore,
    dot_score,
    masked_softmax,
)
from transformer_course.models.layers import TokenEmbedding
from transformer_course.models.positional_encoding import sinusoidal_encoding

RATES = (0.0006, 0.002, 0.006, 0.02, 0.06)
"""Learning rates of the first step; they fall linearly to zero."""
FURTHER = {"scaled-small-step": (0.2,)}
"""Rates beyond, for what is best at the highest of all at some width."""
WIDTHS = (2, 8, 64, 512)
ASIDE = {
    "additive-small-step": (8, 64),
    "no-look": (64,),
    "wrong-root": (64,),
    "by-d": (64, 512),
}
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
"""Each score is timed at least so long."""


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
    "additive-small-step": lambda d: AdditiveScore(d, d, d),
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
def evaluate_aligner(model: Aligner, task: Task) -> dict[str, float]:
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


class Trained(NamedTuple):
    """A score of one width, at one rate."""

    score: str
    d_k: int
    rate: float

    def measure(self, seed: int, context: RunContext) -> Record:
        """One training: how it starts, and how it ends."""
        task = make_task()
        torch.manual_seed(seed)
        model = Aligner(self.score, self.d_k, task.sizes)
        optimizer = self.optimizer(model)
        generator = torch.Generator().manual_seed(seed)
        start = evaluate_aligner(model, task)
        for step in range(context.limit(STEPS)):
            src, tgt = draw_batch(task, generator)
            logits = model(src, tgt[:, :-1])[0]
            loss = F.cross_entropy(logits.mT, tgt[:, 1:], ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * (1 - step / STEPS)
            optimizer.step()
        end = evaluate_aligner(model, task)
        return {"rate": self.rate, "start": start, "end": end}

    def optimizer(self, model: Aligner) -> torch.optim.Adam:
        """Adam; the projections are a group, with a peak rate of their own."""
        slower = self.d_k**-0.5 if self.score.endswith("small-step") else 1.0
        projections = [model.to_query, model.to_key]
        if isinstance(model.score, AdditiveScore):
            projections += [model.score.of_query, model.score.of_key]
        slow = [layer.weight for layer in projections]
        others = [
            p for p in model.parameters() if all(p is not q for q in slow)
        ]
        return torch.optim.Adam(
            [
                {"params": others, "peak": self.rate},
                {"params": slow, "peak": slower * self.rate},
            ]
        )


class Timed(NamedTuple):
    """A score of so many queries and keys of one width."""

    score: str
    n: int
    d: int

    @property
    def name(self) -> str:
        """The name of the variant, in its group."""
        return f"{self.score}, {self.n} × {self.d}"

    def measure(self, seed: int, context: RunContext) -> Record:
        """Forward and backward of the scores of n queries with n keys."""
        torch.manual_seed(0)
        score = SCORES[self.score](self.d)
        size = (BATCH, self.n, self.d)
        query, key = torch.randn(2, *size, requires_grad=True)
        upstream = torch.randn(BATCH, self.n, self.n)
        wanted = [query, key]
        if isinstance(score, nn.Module):
            wanted += score.parameters()
        taken = seconds(
            lambda: torch.autograd.grad(score(query, key), wanted, upstream),
            query.device,
            0.0 if context.smoke else SECONDS,
            context.limit(TIMES),
        )
        return {**self._asdict(), "seconds": float(f"{taken:.4g}")}


# --- storing -----------------------------------------------------------------


def settings() -> Record:
    """Settings of the trainings."""
    return {
        "rates": RATES,
        "further": FURTHER,
        "widths": WIDTHS,
        "aside": ASIDE,
        "steps": STEPS,
        "rows": ROWS,
        "d_model": D_MODEL,
        "batch": BATCH,
        "pairs": {"train": TRAIN, "dev": DEV},
    }


SIZES = [(n, FIXED_WIDTH) for n in LENGTHS]
SIZES += [(FIXED_LENGTH, d) for d in TIMED_WIDTHS if d != FIXED_WIDTH]
VARIANTS: dict[str, Trained | Timed] = {
    f"{name}-{d_k}/rate {rate}": Trained(name, d_k, rate)
    for d_k in WIDTHS
    for name in SCORES
    if d_k in ASIDE.get(name, WIDTHS)
    for rate in (*RATES, *FURTHER.get(name, ()))
}
VARIANTS |= {
    f"times/{size.name}": size
    for n, d in SIZES
    for name in ("dot", "scaled", "general", "additive")
    for size in [Timed(name, n, d)]
}

EXPERIMENT = Experiment(
    name="scores",
    chapter="05_score_functions",
    variants=VARIANTS,
    measure=lambda variant, seed, context: variant.measure(seed, context),
    seeds_of={"times": (0,)},
    settings=settings,
    smoke_variants=(
        *(f"{name}-64/rate {RATES[0]}" for name in SCORES),
        f"times/additive, {LENGTHS[0]} × {FIXED_WIDTH}",
    ),
)
