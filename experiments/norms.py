"""Where to put the norm?

``post`` and ``pre`` hold the grid: depth × peak rate × warm-up. ``parts``
leaves out the residual connection, the norm, or pre-norm's last norm, or lets
the sub-layers begin with small outputs. ``few-pairs`` trains on few sentences:
as it is, with dropout, with label smoothing, without norms, without residual
connections. Batches are half as large as elsewhere.
"""

import torch
from torch import nn

from experiments.failures import rate_without_warmup
from experiments.lab import Experiment, Record, RunContext
from experiments.memory_spread import spread_of
from experiments.translators import Snapshot, Training, follow, with_parts
from transformer_course.batches.pairs import Batch
from transformer_course.data.tokenizer import EOS
from transformer_course.models.layers import AddNorm
from transformer_course.models.transformer import Transformer
from transformer_course.training.config import SequenceLossConfig
from transformer_course.training.loop import evaluate, learning_rate
from transformer_course.training.loss import LossSums, compute_loss
from transformer_course.training.tasks.table import experiment_to_dict

STEPS, WARMUP = 150, 50
TOKENS = 512
"""Target tokens in a batch."""
DEPTHS = (2, 4, 8)
"""Layers of the encoder, and of the decoder."""
RATES = (1e-3, 4e-3, 1.6e-2)
FEW, FEW_STEPS, FEW_RATE = 500, 400, 2e-3
"""Training pairs, steps and rate of ``few-pairs``."""
FEW_EVERY = 50
"""Its steps between two looks at the development set."""
DEV_BATCHES, OWN_BATCHES = 5, 10
"""Batches that are looked at, of the development set and of those learned."""
TOGETHER = 5
"""Steps whose mean loss is stored as one number."""


# --- what is left out --------------------------------------------------------


class AddOnly(AddNorm):
    """x + Sublayer(x): no norm."""

    def forward(self, x, sublayer):
        """``x`` with what the sub-layer adds to it."""
        return x + self.dropout(sublayer(x))


class NormOnly(AddNorm):
    """LayerNorm(Sublayer(x)): no residual connection."""

    def forward(self, x, sublayer):
        """The sub-layer's output in the place of ``x``."""
        return self.norm(self.dropout(sublayer(x)))


class NoFinalNorm(Transformer):
    """Both stacks end as they are."""

    def init_weights(self) -> None:
        """Take the norms at the end away, then draw."""
        self.encoder.norm = self.decoder.norm = nn.Identity()
        super().init_weights()


class SmallStart(Transformer):
    """Residual branches that start small."""

    def init_weights(self) -> None:
        """Draw; the last matrix of each sub-layer over √(2 × layers)."""
        super().init_weights()
        factor = (2 * self.config.n_layers) ** -0.5
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if name.endswith(("to_output.weight", "down_proj.weight")):
                    weight.mul_(factor)


def loss_without_source(
    model: nn.Module, batch: Batch, config: SequenceLossConfig
) -> LossSums:
    """The encoder reads an empty sentence, whatever the source."""
    empty = torch.full_like(batch.src[:, :1], EOS)
    return compute_loss(model, batch._replace(src=empty), config)


ADD_ONLY = with_parts(AddNorm, lambda c: AddOnly(c.d_model, c.dropout))
NORM_ONLY = with_parts(AddNorm, lambda c: NormOnly(c.d_model, c.dropout))


# --- the variants ------------------------------------------------------------


def cell(depth: int, rate: float, warmup: bool) -> str:
    """Name of a variant of the grid."""
    how = "warm-up" if warmup else "no warm-up"
    return f"{depth} layers, rate {rate:g}, {how}"


def variant(
    depth: int = 2,
    rate: float = 4e-3,
    warmup: bool = True,
    norm_first: bool = False,
    dropout: float = 0.0,
    smoothing: float = 0.1,
    pairs: int | None = None,
    **seams,
) -> Training:
    """A training of these settings; ``seams`` are those of Training."""
    changes = {
        "model.n_layers": depth,
        "model.norm_first": norm_first,
        "model.dropout": dropout,
        "data.token_budget": TOKENS,
        "data.train_pairs": pairs,
        "train.peak_rate": rate,
        "train.warmup": WARMUP,
        "loss.label_smoothing": smoothing,
    }
    schedule = learning_rate if warmup else rate_without_warmup
    return Training("", changes, schedule=schedule, **seams)


def few(**changes) -> Training:
    """A training on few sentences."""
    usual = {"smoothing": 0.0, "norm_first": True}
    return variant(rate=FEW_RATE, pairs=FEW, **usual | changes)


GRID = [(d, r, w) for d in DEPTHS for r in RATES for w in (True, False)]
FOUR = [(4, 4e-3, True)]
MORE = [*FOUR, (8, 1e-3, True), (8, 4e-3, True), (4, 4e-3, False)]
PARTS = {
    "no residual": (FOUR, {"build": NORM_ONLY}),
    "no norm": (FOUR, {"build": ADD_ONLY}),
    "pre-norm, no final norm": (
        FOUR,
        {"norm_first": True, "build": NoFinalNorm},
    ),
    "post-norm, small start": (MORE, {"build": SmallStart}),
    "pre-norm, small start": (FOUR, {"norm_first": True, "build": SmallStart}),
    "pre-norm, no source": (
        FOUR,
        {"norm_first": True, "loss_fn": loss_without_source},
    ),
}
VARIANTS = {
    f"{group}/{cell(*where)}": variant(*where, norm_first=group == "pre")
    for group in ("post", "pre")
    for where in GRID
}
VARIANTS |= {
    f"parts/{name}, {cell(*where)}": variant(*where, **changes)
    for name, (cells, changes) in PARTS.items()
    for where in cells
}
VARIANTS |= {
    "few-pairs/neither": few(),
    "few-pairs/dropout": few(dropout=0.1),
    "few-pairs/smoothing": few(smoothing=0.1),
    "few-pairs/no norm": few(build=ADD_ONLY, norm_first=False),
    "few-pairs/no residual": few(build=NORM_ONLY, norm_first=False),
}


# --- what is measured --------------------------------------------------------


def inspect(snapshot: Snapshot) -> Record:
    """Losses without dropout, and the spread of the memory."""
    prepared, training = snapshot.prepared, snapshot.training
    epoch = prepared.batches.epoch(0)
    own = [b for b, _ in zip(epoch, range(OWN_BATCHES), strict=False)]
    dev = prepared.dev_batches[:DEV_BATCHES]
    dev, seen = (
        evaluate(prepared.model, part, training.unsmoothed_loss)
        for part in (dev, own)
    )
    spread = spread_of(prepared.model, [prepared.dev_batches[0].src])
    return {
        "dev_nll": round(dev["nll"], 4),
        "dev_accuracy": round(dev["accuracy"], 4),
        "train_nll": round(seen["nll"], 4),
        "spread": round(spread.share, 4),
    }


def measure(training: Training, seed: int, context: RunContext) -> Record:
    """The curve, and what was seen after the last step."""
    watched = training.changes["data.train_pairs"] is not None
    curve = follow(
        training,
        seed,
        context,
        inspect if watched else None,
        steps=FEW_STEPS if watched else STEPS,
        every=FEW_EVERY,
    )
    nll = [means["nll"] for means in curve.steps]
    parts = [nll[i : i + TOGETHER] for i in range(0, len(nll), TOGETHER)]
    return {
        "nll": [round(sum(part) / len(part), 3) for part in parts],
        **inspect(curve.end),
        **({"looks": curve.inspections} if watched else {}),
    }


def settings() -> Record:
    """Settings of the trainings."""
    return {
        "steps": STEPS,
        "warmup": WARMUP,
        "depths": DEPTHS,
        "rates": RATES,
        "together": TOGETHER,
        "experiment": experiment_to_dict(variant().experiment(0)),
        "cells": {name: dict(v.changes) for name, v in VARIANTS.items()},
    }


EXPERIMENT = Experiment(
    name="norms",
    chapter="08_add_and_norm",
    variants=VARIANTS,
    measure=measure,
    settings=settings,
    smoke_variants=(
        "post/2 layers, rate 0.001, no warm-up",
        "parts",
        "few-pairs",
    ),
)
