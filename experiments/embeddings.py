"""How should embeddings be drawn, scaled and shared?"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from experiments.translators import (
    Build,
    Snapshot,
    Training,
    follow,
    prepared_for,
)
from transformer_course.checkpoints import checkpoint
from transformer_course.models.layers import TokenEmbedding
from transformer_course.models.transformer import Transformer
from transformer_course.training.config import LoopConfig
from transformer_course.training.loop import make_optimizer
from transformer_course.training.tasks.table import experiment_to_dict

STEPS, EVERY = 300, 25
"""Steps of a training, and between two inspections."""


# --- how they are drawn, scaled and shared -----------------------------------


def changed(change: Callable[[Transformer], None]) -> Build:
    """Build a model and change its embeddings."""

    def build(config) -> nn.Module:
        model = checkpoint.build(config)
        change(model)
        return model

    return build


def unscaled(model: Transformer) -> None:
    """Leave out the factor √d_model."""
    for embedding in {model.src_embedding, model.tgt_embedding}:
        embedding.scale = 1.0


def standard_normal(model: Transformer) -> None:
    """N(0, 1), where ``nn.Embedding`` starts, and no factor.

    The rows are the paper's, multiplied here and not in the forward pass.
    """
    with torch.no_grad():
        for embedding in {model.src_embedding, model.tgt_embedding}:
            embedding.weight.mul_(embedding.scale)
    unscaled(model)


def own_source(model: Transformer) -> None:
    """Tie the target's embedding and the output, not the source's."""
    config = model.config
    model.src_embedding = TokenEmbedding(
        config.vocab_size, config.d_model, config.pad_id
    )


def tables_of(model: Transformer) -> list[Tensor]:
    """The tables of source and target, once if they are one."""
    tables = (model.src_embedding.weight, model.tgt_embedding.weight)
    return list({id(table): table for table in tables}.values())


def faster_tables(model: Transformer, config: LoopConfig) -> torch.optim.Adam:
    """Train the tables at √d_model times the rate of all else."""
    optimizer = make_optimizer(model, config)
    tables = tables_of(model)
    others = optimizer.param_groups[0]
    kept = {id(table) for table in tables}
    others["params"] = [p for p in others["params"] if id(p) not in kept]
    optimizer.add_param_group({**others, "params": tables})

    def faster(optimizer, args, kwargs) -> None:
        optimizer.param_groups[-1]["lr"] *= model.config.d_model**0.5

    optimizer.register_step_pre_hook(faster)
    return optimizer


# --- the variants ------------------------------------------------------------

PAPER = {"build": checkpoint.build}
UNSCALED = {"build": changed(unscaled)}
STD_1 = {"build": changed(standard_normal)}
OWN_SOURCE = {"build": changed(own_source)}
FAST = {"optimizer": faster_tables}


@dataclass(frozen=True)
class Embedded(Training):
    """A training of so many steps."""

    steps: int = STEPS


def variant(
    about: str,
    seams: dict,
    tied: bool = True,
    rate: float = 4e-3,
    steps: int = STEPS,
) -> Embedded:
    """A training; ``seams`` are those of Training."""
    changes = {"model.tied": tied, "train.peak_rate": rate}
    return Embedded(about, changes, steps=steps, **seams)


VARIANTS = {
    "tied": variant("all three tied, N(0, 1/d) × √d: the paper", PAPER),
    "tied-unscaled": variant("all three tied, N(0, 1/d)", UNSCALED),
    "tied-std-1": variant("all three tied, N(0, 1)", STD_1),
    "untied": variant("none tied, N(0, 1/d) × √d", PAPER, False),
    "untied-unscaled": variant("none tied, N(0, 1/d)", UNSCALED, False),
    "untied-std-1": variant("none tied, N(0, 1)", STD_1, False),
    "target-tied": variant("target and output tied, × √d", OWN_SOURCE),
    "tied-unscaled-long": variant(
        "all three tied, N(0, 1/d), five times as long",
        UNSCALED,
        steps=5 * STEPS,
    ),
    "untied-std-1-fast": variant(
        "none tied, N(0, 1), tables' rate × √d", STD_1 | FAST, False
    ),
    "untied-unscaled-fast": variant(
        "none tied, N(0, 1/d), tables' rate × √d", UNSCALED | FAST, False
    ),
    "tied-unscaled-fast": variant(
        "all three tied, N(0, 1/d), table's rate × √d", UNSCALED | FAST
    ),
}
VARIANTS |= {
    f"untied-rate-{rate}": variant(
        f"none tied, N(0, 1/d) × √d, every rate {rate}", PAPER, False, rate
    )
    for rate in (2e-3, 8e-3)
}
VARIANTS |= {
    f"untied-unscaled-rate-{rate}": variant(
        f"none tied, N(0, 1/d), every rate {rate}", UNSCALED, False, rate
    )
    for rate in (8e-3, 16e-3)
}


# --- what is measured --------------------------------------------------------


def inspect(snapshot: Snapshot) -> Record:
    """nll, accuracy, and the mean length of a word's vector.

    The length is that of what the source's lookup gives.
    """
    embedding = snapshot.prepared.model.src_embedding
    lengths = embedding.weight[4:].detach().norm(dim=-1) * embedding.scale
    return {**snapshot.means(), "length": round(lengths.mean().item(), 2)}


def measure(training: Embedded, seed: int, context: RunContext) -> Record:
    """One training, looked at before its first step too."""
    prepared = prepared_for(training, seed, context)
    first = inspect(Snapshot(training, prepared, 0, False, context))
    curve = follow(training, seed, context, inspect, training.steps, EVERY)
    model = curve.end.prepared.model
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "dev": [{"step": 0, **first}, *curve.inspections],
    }


def settings() -> Record:
    """Settings of the curves."""
    return {
        "steps": STEPS,
        "every": EVERY,
        "variants": {
            name: {
                "about": training.about,
                "experiment": experiment_to_dict(training.experiment(0)),
            }
            for name, training in VARIANTS.items()
        },
    }


EXPERIMENT = Experiment(
    name="embeddings",
    chapter="02_tokens_and_embeddings",
    variants=VARIANTS,
    measure=measure,
    settings=settings,
)
