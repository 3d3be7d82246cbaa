"""Which rate, dropout, schedule, augmentation and patch suit a small ViT?

Short trainings on Fashion-MNIST, judged by the development set after each
epoch; the test set is not looked at. From the training that the convolutional
network has, one thing after another is changed.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import nn

from experiments.lab import Experiment, Record, RunContext
from transformer_course.batches.images import in_order
from transformer_course.checkpoints import checkpoint
from transformer_course.data.images import ImageSet
from transformer_course.fast.optimize import optimize
from transformer_course.training.config import Experiment as Settings
from transformer_course.training.config import changed_experiment
from transformer_course.training.loop import evaluate, fit, make_optimizer
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.prepare import Prepared, prepare
from transformer_course.training.tasks.classification import (
    IMAGE_BATCH_SIZE,
)

SMOKE = {
    "data.corpus": "digits",
    "data.train_pairs": 40,
    "data.batch_size": 20,
    "model.image_size": 8,
    "model.patch_size": 4,
}


@dataclass(frozen=True)
class Training:
    """A training on images, in which settings are changed."""

    about: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    preset: str = "fashion-vit"
    """Whose data and training it has; the model is a Vision Transformer, or
    what ``build`` makes of its config."""
    build: Callable[[Any], nn.Module] = checkpoint.build

    def settings(self, seed: int, context: RunContext) -> Settings:
        """Settings of the package's training, with a seed."""
        smoke = SMOKE | {"train.epochs": 1} if context.smoke else {}
        preset, vit = PRESETS[self.preset], PRESETS["fashion-vit"]
        return changed_experiment(
            dataclasses.replace(preset, model=vit.model),
            {**self.changes, "train.seed": seed, **smoke},
        )


def accuracy(prepared: Prepared, images: ImageSet) -> float:
    """Share of right answers."""
    batches = in_order(images, IMAGE_BATCH_SIZE)
    means = evaluate(prepared.model, batches, prepared.task.unsmoothed_loss)
    return round(means["accuracy"], 4)


def followed(
    training: Training, seed: int, context: RunContext, test: bool = False
) -> tuple[Prepared, Record]:
    """Train, and judge each epoch by dev.

    Args:
        training: what is trained.
        seed: of weights and batches.
        context: how much of it.
        test: whether the epoch that does best on dev is scored on test.
    """
    settings = training.settings(seed, context)
    prepared = prepare(settings, build=training.build)
    optimize(prepared.model)
    train, dev, best = [], [], {}

    def on_epoch(progress, means) -> None:
        train.append(round(means["accuracy"], 4))
        dev.append(accuracy(prepared, prepared.splits.dev))
        if test and dev[-1] > max(dev[:-1], default=-1):
            best["test"] = accuracy(prepared, prepared.splits.test)

    fit(
        prepared.model,
        make_optimizer(prepared.model, settings.train),
        prepared.batches,
        settings.train,
        on_epoch=on_epoch,
        loss_fn=partial(prepared.task.loss, config=settings.loss),
    )
    return prepared, {
        "weights": sum(p.numel() for p in prepared.model.parameters()),
        "train": train,
        "dev": dev,
        **best,
    }


def similarity(vectors: torch.Tensor) -> list[list[float]]:
    """Cosines between rows."""
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return [[round(x, 2) for x in row] for row in (unit @ unit.T).tolist()]


def measure(training: Training, seed: int, context: RunContext) -> Record:
    """One training; and how alike the patches' learned positions are."""
    prepared, record = followed(training, seed, context)
    positions = prepared.model.position.table.detach()[1:]
    return {**record, "positions": similarity(positions)}


SHORT = {
    "model.patch_size": 7,
    "model.dropout": 0.1,
    "data.shift": 0,
    "train.epochs": 5,
    "train.schedule": "inverse_sqrt",
}
COSINE = {"model.dropout": 0.0, "train.schedule": "cosine"}
LONG = {"train.epochs": 25}


def short(about: str, rate: float, **changes: Any) -> Training:
    """Five epochs with patches of 7, unless said otherwise."""
    return Training(about, SHORT | {"train.peak_rate": rate} | changes)


VARIANTS = {
    "before": short("1e-3, dropout", 1e-3),
    "cosine": short("3e-3, cosine", 3e-3, **COSINE),
    "rate-6e-3": short("6e-3, cosine", 6e-3, **COSINE),
    "shift-1": short(
        "3e-3, cosine, shifts of 1", 3e-3, **COSINE, **{"data.shift": 1}
    ),
    "patch-4-once": short(
        "3e-3, patches of 4, 1 epoch",
        3e-3,
        **COSINE | {"model.patch_size": 4, "train.epochs": 1},
    ),
    "long-dropout": short(
        "3e-3, cosine, dropout, 25 epochs",
        3e-3,
        **COSINE | LONG | {"model.dropout": 0.1},
    ),
    "long-shift": short(
        "3e-3, cosine, shifts of 1, 25 epochs",
        3e-3,
        **COSINE | LONG | {"data.shift": 1},
    ),
}
EXPERIMENT = Experiment(
    name="vit-recipes",
    chapter="19_vision_transformer",
    variants=VARIANTS,
    measure=measure,
    seeds=(0,),
    settings=lambda: {
        name: {"about": one.about, "changes": dict(one.changes)}
        for name, one in VARIANTS.items()
    },
    smoke_variants=("before",),
)
