"""Where to put the norm: the stored runs of chapter 08.

    python tools/compare_norms.py              all that is missing
    python tools/compare_norms.py post ...     these files

``post`` and ``pre`` hold the grid: depth × peak rate × warm-up, three seeds.
``parts`` leaves out the residual connection, the norm, or pre-norm's last
norm, or lets the sub-layers begin with small outputs. ``few-pairs`` trains on
few sentences: as it is, with dropout, with label smoothing, without norms,
without residual connections. Corpus and width are those of
``train_failures.py``, in batches half as large. What is there already under
``runs/norms/`` is not trained again: a file is written after every training.
"""

import contextlib
import dataclasses
import functools
import json
import sys
from collections.abc import Callable
from unittest import mock

import torch
from torch import nn
from train_failures import Enough, experiment_of, rate_without_warmup
from train_failures import Variant as Failure

from transformer_course import (
    checkpoint,
    objective,
    runs,
    train,
    transformer,
)
from transformer_course.batches import Batch
from transformer_course.config import Experiment
from transformer_course.device import machine
from transformer_course.errors import DivergedError
from transformer_course.experiment import (
    Prepared,
    keep_freed_memory,
    prepare,
)
from transformer_course.layers import AddNorm
from transformer_course.loss import Score
from transformer_course.objective import evaluate, score_batch
from transformer_course.tokenizer import EOS, PAD
from transformer_course.train import (
    Progress,
    fit,
    make_optimizer,
    set_seed,
)

FOLDER = runs.folder("norms")
SEEDS = (0, 1, 2)
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
DEV_BATCHES = 5
"""Batches of 50 development sentences that are looked at."""
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


def score_without_source(
    model: nn.Module, batch: Batch, smoothing: float = 0.0
) -> Score:
    """The encoder reads an empty sentence, whatever the source."""
    empty = torch.full_like(batch.src[:, :1], EOS)
    return score_batch(model, batch._replace(src=empty), smoothing)


def no_final_norm(config) -> nn.Module:
    """A stack that ends as it is."""
    return nn.Identity()


@dataclasses.dataclass(frozen=True)
class Variant:
    """One cell: what is trained."""

    depth: int = 2
    rate: float = 4e-3
    warmup: bool = True
    norm_first: bool = False
    dropout: float = 0.0
    smoothing: float = 0.1
    pairs: int | None = None
    steps: int = STEPS
    every: int | None = None
    """Steps between two looks, besides the last."""
    replaced: dict[tuple[object, str], Callable] = dataclasses.field(
        default_factory=dict, repr=False
    )
    """Functions and classes put in the place of (module, name)."""

    @property
    def settings(self) -> dict:
        """What is stored of it."""
        values = {
            f.name: getattr(self, f.name) for f in dataclasses.fields(self)
        }
        replaced = values.pop("replaced").values()
        return {**values, "replaced": [new.__name__ for new in replaced]}


def cell(depth: int, rate: float, warmup: bool) -> str:
    """What a cell of the grid is called in its file."""
    how = "warm-up" if warmup else "no warm-up"
    return f"{depth} layers, rate {rate:g}, {how}"


def _grid(norm_first: bool) -> dict[str, Variant]:
    return {
        cell(depth, rate, warmup): Variant(
            depth, rate, warmup, norm_first=norm_first
        )
        for depth in DEPTHS
        for rate in RATES
        for warmup in (True, False)
    }


def small_start(model: nn.Module) -> None:
    """The package's weights; what sub-layers add starts small.

    The last matrix of each sub-layer over √(2 × layers).
    """
    INITIALISE(model)
    factor = (2 * model.config.n_layers) ** -0.5
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("to_output.weight", "narrow.weight")):
                weight.mul_(factor)


INITIALISE = transformer._initialise
ADD_ONLY = {(transformer, "AddNorm"): AddOnly}
NORM_ONLY = {(transformer, "AddNorm"): NormOnly}
NO_END = {(transformer, "_final_norm"): no_final_norm}
SMALL = {(transformer, "_initialise"): small_start}
NO_SOURCE = {(objective, "score_batch"): score_without_source}

FOUR = [(4, 4e-3, True)]
EIGHT = [(8, 1e-3, True), (8, 4e-3, True)]
COLD = [(4, 4e-3, False)]
"""Depth, rate, and whether there is a warm-up."""
PARTS = {
    "no residual": (FOUR, {}, NORM_ONLY),
    "no norm": (FOUR, {}, ADD_ONLY),
    "pre-norm, no final norm": (FOUR, {"norm_first": True}, NO_END),
    "post-norm, small start": ([*FOUR, *EIGHT, *COLD], {}, SMALL),
    "pre-norm, small start": (FOUR, {"norm_first": True}, SMALL),
    "pre-norm, no source": (FOUR, {"norm_first": True}, NO_SOURCE),
}


def _few(**changes) -> Variant:
    return Variant(
        rate=FEW_RATE,
        pairs=FEW,
        steps=FEW_STEPS,
        every=FEW_EVERY,
        **{"smoothing": 0.0, "norm_first": True} | changes,
    )


FILES: dict[str, dict[str, Variant]] = {
    "post": _grid(norm_first=False),
    "pre": _grid(norm_first=True),
    "parts": {
        f"{name}, {cell(depth, rate, warmup)}": Variant(
            depth, rate, warmup, replaced=replaced, **values
        )
        for name, (cells, values, replaced) in PARTS.items()
        for depth, rate, warmup in cells
    },
    "few-pairs": {
        "neither": _few(),
        "dropout": _few(dropout=0.1),
        "smoothing": _few(smoothing=0.1),
        "no norm": _few(replaced=ADD_ONLY, norm_first=False),
        "no residual": _few(replaced=NORM_ONLY, norm_first=False),
    },
}


# --- training and measuring --------------------------------------------------


def experiment_for(variant: Variant, seed: int) -> Experiment:
    """The settings of a training."""
    model = {"n_layers": variant.depth, "norm_first": variant.norm_first}
    model["dropout"] = variant.dropout
    base = experiment_of(Failure("", model=model), seed)
    return dataclasses.replace(
        base,
        data=dataclasses.replace(
            base.data, token_budget=TOKENS, train_pairs=variant.pairs
        ),
        train=dataclasses.replace(
            base.train,
            peak_rate=variant.rate,
            warmup=WARMUP,
            label_smoothing=variant.smoothing,
        ),
    )


@functools.cache
def _data_of(seed: int, pairs: int | None) -> Prepared:
    """Corpus and batches, which all cells of a seed share."""
    tokenizer = None if pairs is None else _data_of(seed, None).tokenizer
    return prepare(experiment_for(Variant(pairs=pairs), seed), tokenizer)


def prepared_for(variant: Variant, seed: int) -> Prepared:
    """Data, and a model with its first weights."""
    data = _data_of(seed, variant.pairs)
    experiment = experiment_for(variant, seed)
    config = dataclasses.replace(
        experiment.model, vocab_size=data.tokenizer.vocab_size
    )
    set_seed(seed)
    return data._replace(
        model=checkpoint.build(config),
        dev_batches=data.dev_batches[:DEV_BATCHES],
    )


@torch.inference_mode()
def spread_of(prepared: Prepared) -> float:
    """How much the memory differs between the words of a sentence.

    The standard deviation over the positions of a sentence, averaged over
    components and sentences, over the memory's root mean square.
    """
    model = prepared.model.eval()
    src = prepared.dev_batches[0].src
    found, size = [], []
    for row, vectors in zip(src, model.encode(src), strict=True):
        real = vectors[row != PAD]
        found.append(real.std(dim=0).mean())
        size.append(real.square().mean())
    model.train()
    return float(torch.stack(found).mean() / torch.stack(size).mean().sqrt())


def train_once(variant: Variant, seed: int) -> dict:
    """One training: its curve, and what was seen on the development set."""
    prepared = prepared_for(variant, seed)
    experiment = experiment_for(variant, seed)
    losses: list[float] = []
    looks: list[dict] = []

    def on_step(progress: Progress, score: Score, rate: float) -> None:
        losses.append(score.means()["nll"])
        if variant.every and progress.step % variant.every == 0:
            looks.append({"step": progress.step, **look(prepared)})
        if progress.step >= variant.steps:
            raise Enough

    optimizer = make_optimizer(prepared.model, experiment.train)
    stopped = None
    try:
        with contextlib.suppress(Enough):
            fit(
                prepared.model,
                optimizer,
                prepared.batches,
                experiment.train,
                on_step=on_step,
            )
    except DivergedError as error:
        stopped = str(error).split(":")[0]
    return {
        "seed": seed,
        "nll": [
            round(sum(part) / len(part), 3)
            for part in (
                losses[i : i + TOGETHER]
                for i in range(0, len(losses), TOGETHER)
            )
        ],
        **look(prepared),
        **({"looks": looks} if variant.every else {}),
        "stopped": stopped,
    }


def look(prepared: Prepared) -> dict:
    """What is measured after the last step, without dropout."""
    batches = prepared.batches.epoch(0)
    own = [batch for batch, _ in zip(batches, range(10), strict=False)]
    dev, seen = (
        evaluate(prepared.model, part, score=objective.score_batch)
        for part in (prepared.dev_batches, own)
    )
    return {
        "dev_nll": round(dev["nll"], 4),
        "dev_accuracy": round(dev["accuracy"], 4),
        "train_nll": round(seen["nll"], 4),
        "spread": round(spread_of(prepared), 4),
    }


def train_missing(name: str, seed: int) -> None:
    """Train the cells of a file that have no result for this seed."""
    path = FOLDER / f"{name}.json"
    stored = {key: [] for key in FILES[name]}
    if path.exists():
        stored |= json.loads(path.read_text("utf-8"))
    for key, variant in FILES[name].items():
        if any(result["seed"] == seed for result in stored[key]):
            continue
        patched = dict(variant.replaced)
        if not variant.warmup:
            patched[train, "learning_rate"] = rate_without_warmup
        with contextlib.ExitStack() as stack:
            for (module, attribute), new in patched.items():
                stack.enter_context(mock.patch.object(module, attribute, new))
            result = train_once(variant, seed)
        stored[key].append(result)
        runs.write_json(path, stored)
        shown = {k: v for k, v in result.items() if "_nll" in k}
        print(name, "|", key, "|", shown, flush=True)


def write_settings() -> None:
    """What the runs were made with."""
    experiment = experiment_for(Variant(), SEEDS[0])
    runs.write_json(
        FOLDER / "settings.json",
        {
            "command": "python tools/compare_norms.py",
            "machine": machine(),
            "seeds": SEEDS,
            "steps": STEPS,
            "warmup": WARMUP,
            "depths": DEPTHS,
            "rates": RATES,
            "together": TOGETHER,
            "experiment": dataclasses.asdict(experiment),
            "cells": {
                name: {key: variant.settings for key, variant in cells.items()}
                for name, cells in FILES.items()
            },
        },
    )


def main() -> None:
    """Train what is missing of the files named, or of all, seed by seed."""
    write_settings()
    keep_freed_memory()
    for seed in SEEDS:
        for name in sys.argv[1:] or FILES:
            train_missing(name, seed)


if __name__ == "__main__":
    main()
