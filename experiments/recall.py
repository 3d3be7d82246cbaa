"""Which ways to a smaller cache still recall a pair from far back?

Multi-query associative recall (Arora et al. 2023, "Zoology"), in small
decoders of today with two layers. A text of 512 tokens holds 256 pairs of a
key and a value, in any order, and asks once for each key after its pair; the
answer is the value. A pair is one token whose embedding is the sum of its
key's and its value's, so that one look-up is enough and no layer has to join
neighbouring tokens first. Keys and values are drawn anew for each text.

``rates`` tries learning rates for each way, by one seed and texts of its own,
until the best has a worse one on either side; ``ways`` takes the best with
five more seeds. What is reported is the share of right answers, whole and by
distance from the pair.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from experiments import store
from experiments.lab import Experiment, Record, RunContext
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig

KEYS, VALUES = 256, 16
ASKED = VALUES
"""In place of a value: what the value was."""
LENGTHS = ((60, 32), (40, 128), (120, 512))
"""Steps, and tokens of a text in them: short texts are learned first."""
TOKENS = 1024
"""Tokens of a batch."""
WARMUP, COOLDOWN = 20, 0.4
"""Steps in which the rate rises; the share of all in which it falls."""
RATES = (5e-3, 1e-2, 2e-2)
LOWER, HIGHER = (2.5e-3, *RATES), (*RATES, 4e-2)
TUNED_ON, SEEDS = 9, (0, 1, 2, 3, 4)
TESTED = 64
"""Texts of the test."""
DISTANCES = (1, 32, 64, 128, 256, 512)
"""Bounds of the distances that are counted together."""
SIZES = {
    "d_model": 64,
    "n_heads": 4,
    "n_kv_heads": 4,
    "d_ff": 128,
    "n_layers": 2,
    "max_length": 512,
    "tied": False,
    "global_every": 2,
}


@dataclass(frozen=True)
class Way:
    """A way to a smaller cache, at about the same number of weights."""

    about: str
    model: Mapping[str, Any] = field(default_factory=dict)
    """Settings beside SIZES."""
    rates: tuple[float, ...] = RATES
    """Those that are tried."""
    rate: float | None = None
    """The learning rate; None takes the best that was tried."""


NONE_GLOBAL = {"global_every": 3}
WAYS = {
    "own": Way("4 heads of keys and values for 4 of queries", rates=HIGHER),
    "grouped": Way("2 heads", {"n_kv_heads": 2, "d_ff": 149}, HIGHER),
    "one": Way("1 head", {"n_kv_heads": 1, "d_ff": 160}, HIGHER),
    "latent": Way(
        "a latent vector of 16 and a rotary part of 8",
        {"latent": 16, "d_rotary": 8, "d_ff": 141},
        LOWER,
    ),
    "window": Way("a window of 64", {"window": 64, **NONE_GLOBAL}),
    "half-window": Way(
        "a window of 64 in 1 of 2 layers", {"window": 64}, LOWER
    ),
    "state": Way(
        "a state", {"linear": True, "d_ff": 125, **NONE_GLOBAL}, HIGHER
    ),
    "half-state": Way(
        "a state in 1 of 2 layers", {"linear": True, "d_ff": 127}
    ),
}
VARIANTS = {
    **{
        f"rates/{name}-{rate:g}": Way(way.about, way.model, rate=rate)
        for name, way in WAYS.items()
        for rate in way.rates
    },
    **{f"ways/{name}": way for name, way in WAYS.items()},
}


class PairEmbedding(nn.Module):
    """Of a pair, its key's vector plus that of its value, or of the question.

    Args:
        d_model: width.
    """

    def __init__(self, d_model: int):
        super().__init__()
        self.key = nn.Embedding(KEYS, d_model)
        self.value = nn.Embedding(VALUES + 1, d_model)

    def forward(self, ids: Int[Tensor, "rows length"]) -> Tensor:
        """From ids ``key * (VALUES + 1) + value`` to vectors."""
        key, value = ids // (VALUES + 1), ids % (VALUES + 1)
        return self.key(key) + self.value(value)


def build(way: Way) -> ModernLanguageModel:
    """The decoder, drawn with 1/√fan-in, with pairs for tokens."""
    settings = {**SIZES, **way.model, "vocab_size": KEYS * (VALUES + 1)}
    model = ModernLanguageModel(ModernConfig(**settings))
    width = model.config.d_model
    model.to_logits = nn.Linear(width, VALUES, bias=False)
    for name, weight in model.named_parameters():
        if weight.dim() == 2 and not name.startswith("embedding"):
            nn.init.normal_(weight, std=weight.size(1) ** -0.5)
    model.embedding = PairEmbedding(width)
    return model


def draw_texts(
    rows: int, length: int, generator: torch.Generator
) -> tuple[Int[Tensor, "rows length"], Int[Tensor, "rows length"], Tensor]:
    """Texts, the answers (-100 at a pair), and the distances (0 at a pair)."""
    pairs = length // 2
    keys = torch.rand(rows, KEYS, generator=generator).argsort(dim=1)
    values = torch.randint(VALUES, (rows, pairs), generator=generator)
    # each number of a pair stands twice; the second time it is asked for
    order = torch.rand(rows, length, generator=generator).argsort(1) % pairs
    place = torch.arange(length).expand(rows, -1)
    first = torch.full((rows, pairs), length)
    first.scatter_reduce_(1, order, place, "amin")
    distance = place - first.gather(1, order)
    key, value = keys.gather(1, order), values.gather(1, order)
    asked = distance > 0
    ids = key * (VALUES + 1) + value.masked_fill(asked, ASKED)
    return ids, value.masked_fill(~asked, -100), distance


def measure(way: Way, seed: int, context: RunContext) -> Record:
    """Train, and ask for pairs at all distances."""
    rate = way.rate or best_rate(way, context)
    torch.manual_seed(seed)
    model = build(way)
    optimizer = torch.optim.Adam(
        model.parameters(), betas=(0.9, 0.98), fused=True
    )
    generator = torch.Generator().manual_seed(seed)
    lengths = [length for steps, length in LENGTHS for _ in range(steps)]
    total = len(lengths)
    for step, length in enumerate(lengths[: context.limit(total)]):
        ids, answers, _ = draw_texts(TOKENS // length, length, generator)
        logits = model.decode(ids).flatten(0, 1)
        loss = F.cross_entropy(logits, answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        up, down = (step + 1) / WARMUP, (1 - step / total) / COOLDOWN
        optimizer.param_groups[0]["lr"] = rate * min(1, up, down)
        optimizer.step()
    weights = sum(p.numel() for p in model.parameters())
    return {"rate": rate, "weights": weights, **scores(model, seed, context)}


@torch.no_grad()
def scores(model: nn.Module, seed: int, context: RunContext) -> Record:
    """The share of right answers, whole and by distance."""
    generator = torch.Generator().manual_seed(1000 + seed)
    texts = context.limit(TESTED), LENGTHS[-1][1], generator
    ids, answers, distance = draw_texts(*texts)
    right = model.decode(ids).argmax(dim=-1) == answers
    found = {"right": round(float(right[distance > 0].float().mean()), 4)}
    found["by_distance"] = []
    for low, high in itertools.pairwise(DISTANCES):
        there = (distance >= low) & (distance < high)
        share = float(right[there].float().mean())
        found["by_distance"].append(round(share, 4))
    return found


def best_rate(way: Way, context: RunContext) -> float:
    """The rate that was best for a way, of those tried."""
    (name,) = (name for name, one in WAYS.items() if one is way)
    stored = store.records_in(context.folder)
    tried = [stored[f"rates/{name}-{rate:g}"][0] for rate in way.rates]
    return max(tried, key=lambda one: one["right"])["rate"]


EXPERIMENT = Experiment(
    name="recall",
    chapter="22_since_2017",
    variants=VARIANTS,
    measure=measure,
    seeds=(TUNED_ON, *SEEDS),
    seeds_of={"rates": (TUNED_ON,), "ways": SEEDS},
    settings=lambda: {
        "keys": KEYS,
        "values": VALUES,
        "lengths": LENGTHS,
        "tokens": TOKENS,
        "rates": {name: way.rates for name, way in WAYS.items()},
        "tuned_on": TUNED_ON,
        "tested": TESTED,
        "distances": DISTANCES,
        "sizes": SIZES,
        "about": {name: way.about for name, way in WAYS.items()},
    },
    smoke_variants=("rates/latent-0.01", "rates/state-0.01"),
)
