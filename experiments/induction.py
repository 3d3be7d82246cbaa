"""Do two layers of attention learn to go on with what they have seen?

Small models of attention alone read random tokens that come twice. In the
second half the successor of each token is known: it stood behind it the first
time. Of each trained model is stored how often it is right there; what each
head looks at; what is left without each head, and with one head put back.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.lab import Experiment, Record, RunContext
from transformer_course.interpretation.hooks import (
    attention_maps,
    heads_of,
    patch_heads,
)
from transformer_course.models.attention_only import (
    AttentionOnly,
    induction_scores,
    previous_scores,
    repeated,
)

VOCABULARY = 40
LENGTHS = (6, 16)
"""The shortest and the longest half in training."""
TESTED = 20
"""Tokens of a half in the test: longer than in training."""
ROWS = 64
STEPS = 1000
PEAK_RATE = 3e-3
WARMUP = 50


@dataclass(frozen=True)
class Size:
    """A model to be trained."""

    about: str
    n_layers: int
    n_heads: int = 1
    d_head: int = 32


VARIANTS = {
    "two-layers": Size("two layers of one head", 2),
    "four-heads": Size("two layers of four heads", 2, 4, 16),
    "one-layer": Size("one layer of four heads", 1, 4, 16),
}


def trained(size: Size, seed: int, context: RunContext) -> AttentionOnly:
    """A model that has read repeated tokens, each half of another length."""
    torch.manual_seed(seed)
    width = size.n_heads * size.d_head
    model = AttentionOnly(VOCABULARY, size.n_layers, width, size.n_heads)
    optimizer = torch.optim.Adam(model.parameters(), lr=PEAK_RATE)
    generator = torch.Generator().manual_seed(seed)
    shortest, longest = LENGTHS
    for step in range(context.limit(STEPS)):
        optimizer.param_groups[0]["lr"] = PEAK_RATE * min(1, step / WARMUP)
        span = longest - shortest + 1
        drawn = torch.randint(span, (), generator=generator)
        length = shortest + int(drawn)
        ids = repeated(ROWS, length, VOCABULARY, generator)
        logits = model(ids)[:, length:-1]  # only where the answer is known
        loss = F.cross_entropy(
            logits.flatten(0, 1), ids[:, length + 1 :].flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@torch.no_grad()
def accuracy(model: AttentionOnly, ids: Tensor) -> float:
    """Share of right answers in the second half."""
    half = ids.size(1) // 2
    right = model(ids)[:, half:-1].argmax(dim=-1) == ids[:, half + 1 :]
    return round(float(right.float().mean()), 4)


def measure(size: Size, seed: int, context: RunContext) -> Record:
    """Train one model, and take it apart."""
    model = trained(size, seed, context)
    generator = torch.Generator().manual_seed(1000 + seed)
    ids = repeated(context.limit(200), TESTED, VOCABULARY, generator)
    maps = attention_maps(model, ids)
    without = {}
    for head in heads_of(model):
        with patch_heads(model, {head: 0.0}):
            without[str(head)] = accuracy(model, ids)
    return {
        "accuracy": accuracy(model, ids),
        "previous": {k: scores(previous_scores(w)) for k, w in maps.items()},
        "induction": {k: scores(induction_scores(w)) for k, w in maps.items()},
        "without": without,
    }


def scores(values: Tensor) -> list[float]:
    """To three digits."""
    return torch.round(values.double(), decimals=3).tolist()


EXPERIMENT = Experiment(
    name="induction",
    chapter="20_reading_attention",
    variants=VARIANTS,
    measure=measure,
    seeds=(0, 1, 2, 3, 4),
    settings=lambda: {
        "about": {name: size.about for name, size in VARIANTS.items()}
    },
)
