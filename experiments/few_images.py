"""What does a Vision Transformer lack with few images, and what helps it?

A Vision Transformer and a convolutional network learn from 1,000 images of
Fashion-MNIST, with as many updates. What a convolution knows of images
beforehand is then given to the Transformer in three ways: by images shifted
and mirrored, by a stem of convolutions (Xiao et al. 2021), and by a
convolutional teacher, whose answers it learns besides the labels (Touvron et
al. 2021, section 4, hard distillation). The teacher has learned from the same
images in the same way.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from transformer_course.batches.images import ImageBatch, in_order
from transformer_course.data.images import ImageSet
from transformer_course.models.mode import eval_mode
from transformer_course.training.config import Experiment as Settings
from transformer_course.training.config import TrainConfig, changed_experiment
from transformer_course.training.loop import evaluate, fit, make_optimizer
from transformer_course.training.loss import LossFunction, LossSums
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.prepare import Prepared, prepare
from transformer_course.training.tasks.classification import (
    IMAGE_BATCH_SIZE,
)
from transformer_course.training.tasks.table import (
    experiment_to_dict,
    find_task,
)

STEPS = {1000: 600}
"""Updates, by the number of images."""
INSPECTIONS = 4
"""Looks at the development set in a training."""
SHIFT = 2
"""Pixels by which augmented images are moved at the most."""
SMOKE_IMAGES = 40
TINY = {"data.corpus": "digits", "model.image_size": 8}
"""Settings of a smoke test: images that come with a package."""
COMMON = {
    "data.batch_size": 64,
    "train.epochs": 1000,
    "train.warmup": 100,
}


@dataclass(frozen=True)
class Training:
    """A model that learns from few images."""

    about: str
    images: int
    preset: str = "fashion-vit"
    changes: Mapping[str, Any] = field(default_factory=dict)
    teacher: str = ""
    """The variant whose answers it learns besides the labels; none if ""."""

    def settings(self, seed: int, context: RunContext) -> Settings:
        """Settings of the package's training, with a seed."""
        images = context.limit(self.images, SMOKE_IMAGES)
        own = {"data.train_pairs": images, "train.seed": seed}
        return changed_experiment(
            PRESETS[self.preset],
            {
                **COMMON,
                **own,
                **self.changes,
                **(TINY if context.smoke else {}),
            },
        )


AUGMENTED = {"data.shift": SHIFT}
STEM = {"model.stem": "convolutions"}


def variants_of(images: int) -> dict[str, Training]:
    """All trainings with so many images."""
    cnn, cnn_augmented = f"{images}/cnn", f"{images}/cnn-augmented"

    def vit(about: str, **changes) -> Training:
        return Training(f"ViT{about}", images, **changes)

    return {
        cnn: Training("CNN", images, "fashion-cnn"),
        f"{images}/vit": vit(""),
        f"{images}/vit-augmented": vit(", augmented", changes=AUGMENTED),
        f"{images}/vit-stem": vit(", stem of convolutions", changes=STEM),
        f"{images}/vit-taught": vit(", taught by the CNN", teacher=cnn),
        cnn_augmented: Training(
            "CNN, augmented", images, "fashion-cnn", AUGMENTED
        ),
        f"{images}/vit-augmented-taught": vit(
            ", augmented, taught by the CNN",
            changes=AUGMENTED,
            teacher=cnn_augmented,
        ),
    }


VARIANTS = {
    name: training
    for images in STEPS
    for name, training in variants_of(images).items()
}
TEACHERS = {one.teacher for one in VARIANTS.values() if one.teacher}


class FixedLogits(nn.Module):
    """Stands for a model that has been called, which is done once."""

    def __init__(self, logits: Tensor):
        super().__init__()
        self.logits = logits

    def forward(self, images: Tensor) -> Tensor:
        """The outputs of the model."""
        return self.logits


def taught_by(teacher: nn.Module, loss_fn: LossFunction) -> LossFunction:
    """Half of the loss is by the labels, half by the teacher's answers.

    The answer is the teacher's likeliest class for the image as the student
    sees it, augmented or not (Touvron et al. 2021, equation 3; theirs is
    learned by a token of its own).
    """

    def both(
        model: nn.Module, batch: ImageBatch, config: TrainConfig
    ) -> LossSums:
        with torch.no_grad(), eval_mode(teacher):
            answers = teacher(batch.images).argmax(dim=-1)
        fixed = FixedLogits(model(batch.images))
        labels, taught = (
            loss_fn(fixed, asked, config)
            for asked in (batch, batch._replace(labels=answers))
        )
        return labels._replace(loss=(labels.loss + taught.loss) / 2)

    return both


def accuracy(
    prepared: Prepared, images: ImageSet, context: RunContext
) -> float:
    """Share of right answers."""
    images = images.take(slice(context.limit(len(images))))
    batches = in_order(images, IMAGE_BATCH_SIZE)
    means = evaluate(prepared.model, batches, loss_fn=prepared.task.loss)
    return round(means["accuracy"], 4)


def trained(
    training: Training, seed: int, context: RunContext
) -> tuple[nn.Module, Record]:
    """A model, and what was seen of its training."""
    loss_fn = find_task("image_classification").loss
    if training.teacher:
        teacher, _ = trained_teacher(training.teacher, seed, context)
        loss_fn = taught_by(teacher, loss_fn)
    settings = training.settings(seed, context)
    prepared = prepare(settings)  # sets the seed, whoever was trained before
    steps = context.limit(STEPS[training.images])
    every = max(1, steps // INSPECTIONS)
    right, looks = [], []

    def on_step(progress, sums, rate) -> None:
        right.append(sums.means()["accuracy"])
        if progress.step % every == 0:
            found = accuracy(prepared, prepared.splits.dev, context)
            last = right[-every:]
            looks.append(
                {
                    "step": progress.step,
                    "train": round(sum(last) / len(last), 4),
                    "dev": found,
                }
            )

    fit(
        prepared.model,
        make_optimizer(prepared.model, settings.train),
        prepared.batches,
        settings.train,
        on_step=on_step,
        loss_fn=loss_fn,
        steps=steps,
    )
    return prepared.model, {
        "looks": looks,
        "test": accuracy(prepared, prepared.splits.test, context),
        "weights": sum(p.numel() for p in prepared.model.parameters()),
    }


@functools.cache
def trained_teacher(
    name: str, seed: int, context: RunContext
) -> tuple[nn.Module, Record]:
    """A variant that teaches others, trained once."""
    return trained(VARIANTS[name], seed, context)


def measure(training: Training, seed: int, context: RunContext) -> Record:
    """One training, after its teacher's if it has one."""
    for name in TEACHERS:
        if training is VARIANTS[name]:
            return trained_teacher(name, seed, context)[1]
    return trained(training, seed, context)[1]


def settings() -> Record:
    """Settings of the trainings."""
    return {
        "steps": STEPS,
        "variants": {
            name: {
                "about": training.about,
                "teacher": training.teacher,
                "experiment": experiment_to_dict(
                    training.settings(0, RunContext(folder=None))
                ),
            }
            for name, training in VARIANTS.items()
        },
    }


EXPERIMENT = Experiment(
    name="few-images",
    chapter="19_vision_transformer",
    variants=VARIANTS,
    measure=measure,
    seeds=(0, 1, 2),
    settings=settings,
    smoke_variants=("1000/vit-stem", "1000/vit-augmented-taught"),
)
