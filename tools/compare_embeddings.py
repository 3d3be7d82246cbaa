"""Embeddings drawn, scaled and shared in several ways: for chapter 02.

    python tools/compare_embeddings.py               all that is missing
    python tools/compare_embeddings.py untied ...    these variants

Each variant is the training of the preset ``grammar``, half as wide, with
other embeddings or another learning rate, on the same corpus, with three
seeds. What is there already under ``runs/embeddings/`` is not trained again:
delete a file to have it anew.
"""

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from transformer_course import runs
from transformer_course.config import Experiment
from transformer_course.device import machine
from transformer_course.experiment import keep_freed_memory, prepare
from transformer_course.layers import TokenEmbedding
from transformer_course.objective import evaluate
from transformer_course.presets import PRESETS
from transformer_course.train import fit, make_optimizer
from transformer_course.transformer import Transformer

SEEDS = (0, 1, 2)
STEPS = 300
EVERY = 25
"""Steps between two looks at the development set."""
PEAK_RATE = 4e-3
HALF = {"d_model": 64, "d_ff": 256}


def paper(model: Transformer) -> None:
    """One matrix from N(0, 1/d_model), its vectors times √d_model."""


def unscaled(model: Transformer) -> None:
    """Leave out the factor √d_model."""
    for embedding in {model.src_embedding, model.tgt_embedding}:
        embedding.scale = 1.0


def standard_normal(model: Transformer) -> None:
    """N(0, 1), where ``nn.Embedding`` starts, and no factor.

    The rows are the paper's, multiplied here and not in the forward pass.
    """
    for embedding in {model.src_embedding, model.tgt_embedding}:
        with torch.no_grad():
            embedding.weight.mul_(embedding.scale)
        embedding.scale = 1.0


def own_source(model: Transformer) -> None:
    """Tie the target's embedding and the output, not the source's."""
    config = model.config
    model.src_embedding = TokenEmbedding(
        config.vocab_size, config.d_model, config.pad_id
    )


@dataclasses.dataclass(frozen=True)
class Variant:
    """A model whose embeddings differ."""

    about: str
    change: Callable[[Transformer], None] = paper
    tied: bool = True
    steps: int = STEPS
    peak_rate: float = PEAK_RATE
    fast_tables: bool = False
    """Train the tables at √d_model times the rate of all else."""


VARIANTS = {
    "tied": Variant("all three tied, N(0, 1/d) × √d: the paper"),
    "tied-unscaled": Variant("all three tied, N(0, 1/d)", unscaled),
    "tied-std-1": Variant("all three tied, N(0, 1)", standard_normal),
    "untied": Variant("none tied, N(0, 1/d) × √d", tied=False),
    "untied-unscaled": Variant("none tied, N(0, 1/d)", unscaled, False),
    "untied-std-1": Variant("none tied, N(0, 1)", standard_normal, False),
    "target-tied": Variant("target and output tied, × √d", own_source),
    "tied-unscaled-long": Variant(
        "all three tied, N(0, 1/d), five times as long",
        unscaled,
        steps=5 * STEPS,
    ),
    "untied-std-1-fast": Variant(
        "none tied, N(0, 1), tables' rate × √d",
        standard_normal,
        False,
        fast_tables=True,
    ),
    "untied-unscaled-fast": Variant(
        "none tied, N(0, 1/d), tables' rate × √d",
        unscaled,
        False,
        fast_tables=True,
    ),
    "tied-unscaled-fast": Variant(
        "all three tied, N(0, 1/d), table's rate × √d",
        unscaled,
        fast_tables=True,
    ),
}
for rate in (2e-3, 8e-3):
    VARIANTS[f"untied-rate-{rate}"] = Variant(
        f"none tied, N(0, 1/d) × √d, every rate {rate}",
        tied=False,
        peak_rate=rate,
    )
for rate in (8e-3, 16e-3):
    VARIANTS[f"untied-unscaled-rate-{rate}"] = Variant(
        f"none tied, N(0, 1/d), every rate {rate}",
        unscaled,
        tied=False,
        peak_rate=rate,
    )


def experiment_of(variant: Variant, seed: int) -> Experiment:
    """The preset, half as wide."""
    base = PRESETS["grammar"]
    return dataclasses.replace(
        base,
        model=dataclasses.replace(base.model, tied=variant.tied, **HALF),
        train=dataclasses.replace(
            base.train, peak_rate=variant.peak_rate, seed=seed, epochs=1000
        ),
    )


def tables_of(model: Transformer) -> list[Tensor]:
    """The tables of source and target, once if they are one."""
    tables = (model.src_embedding.weight, model.tgt_embedding.weight)
    return list({id(table): table for table in tables}.values())


def hasten_tables(model: Transformer, optimizer: torch.optim.Adam) -> None:
    """Multiply the tables' learning rate by √d_model, at every step."""
    tables = tables_of(model)
    others = optimizer.param_groups[0]
    kept = {id(table) for table in tables}
    others["params"] = [p for p in others["params"] if id(p) not in kept]
    optimizer.add_param_group({"params": tables})

    def faster(optimizer, args, kwargs) -> None:
        optimizer.param_groups[1]["lr"] *= model.config.d_model**0.5

    optimizer.register_step_pre_hook(faster)


def length(model: Transformer) -> float:
    """The mean length of a word's vector, as the source's lookup gives it."""
    embedding = model.src_embedding
    lengths = embedding.weight[4:].detach().norm(dim=-1) * embedding.scale
    return lengths.mean().item()


class Enough(Exception):
    """The last step has been made."""


def train_once(variant: Variant, seed: int) -> dict:
    """One training: nll and accuracy on the development set, step by step.

    With them, the mean length of the vectors that come from the lookup.
    """
    experiment = experiment_of(variant, seed)
    prepared = prepare(experiment)
    model = prepared.model
    variant.change(model)
    looks: list[dict] = []

    def look(step: int) -> None:
        means = evaluate(model, prepared.dev_batches)
        rounded = {k: round(means[k], 4) for k in ("nll", "accuracy")}
        rounded["length"] = round(length(model), 2)
        looks.append({"step": step, **rounded})

    def on_step(progress, score, rate) -> None:
        if progress.step % EVERY == 0:
            look(progress.step)
        if progress.step >= variant.steps:
            raise Enough

    look(0)
    optimizer = make_optimizer(model, experiment.train)
    if variant.fast_tables:
        hasten_tables(model, optimizer)
    with contextlib.suppress(Enough):
        fit(
            model,
            optimizer,
            prepared.batches,
            experiment.train,
            on_step=on_step,
        )
    return {
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "dev": looks,
    }


def write_settings(folder: Path) -> None:
    """What the curves were made with."""
    runs.write_json(
        folder / "settings.json",
        {
            "command": "python tools/compare_embeddings.py",
            "machine": machine(),
            "seeds": SEEDS,
            "steps": STEPS,
            "every": EVERY,
            "variants": {
                name: {
                    "about": variant.about,
                    "fast_tables": variant.fast_tables,
                    "experiment": dataclasses.asdict(
                        experiment_of(variant, SEEDS[0])
                    ),
                }
                for name, variant in VARIANTS.items()
            },
        },
    )


def main() -> None:
    """Train what is missing of the variants named, or of all."""
    folder = runs.folder("embeddings")
    write_settings(folder)
    keep_freed_memory()
    for name in sys.argv[1:] or VARIANTS:
        variant = VARIANTS[name]
        for found in runs.add_seeds(
            folder / f"{name}.json",
            {"about": variant.about},
            SEEDS,
            functools.partial(train_once, variant),
        ):
            first, *_, last = found["dev"]
            print(name, found["seed"], first, last, flush=True)


if __name__ == "__main__":
    main()
