"""What does a Vision Transformer lack with few images?

A Vision Transformer, a perceptron with as many weights and a convolutional
network learn from the first 1,000 images of Fashion-MNIST; as they are, or
shifted and mirrored anew in each epoch. The convolutional network knows its
images by heart after 600 updates; the others have four times as many.

Beside them stand four classifiers of scikit-learn that read the pixels as a
row of numbers; one setting of each is chosen on dev.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch import nn

from experiments.image_classifiers import (
    COUNTS,
    OfPixels,
    forest,
    linear,
    neighbours,
    perceptron,
    svm,
)
from experiments.lab import Experiment, Record, RunContext
from experiments.vit_recipes import SMOKE, accuracy
from transformer_course.checkpoints import checkpoint
from transformer_course.fast.optimize import optimize
from transformer_course.training.config import Experiment as Settings
from transformer_course.training.config import changed_experiment
from transformer_course.training.loop import fit, make_optimizer
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.prepare import prepare
from transformer_course.training.tasks.table import experiment_to_dict

IMAGES = 1000
INSPECTIONS = 4
"""Looks at the development set in a training."""
COMMON = {
    "data.train_pairs": IMAGES,
    "data.shift": 0,
    "data.batch_size": 64,
    "train.epochs": 1000,
    "train.peak_rate": 1e-3,
    "train.warmup": 100,
    "train.schedule": "inverse_sqrt",
}
AUGMENTED = {"data.shift": 2}


@dataclass(frozen=True)
class Training:
    """A model that learns from few images."""

    about: str
    steps: int
    """Updates."""
    preset: str = "fashion-vit"
    changes: Mapping[str, Any] = field(default_factory=dict)
    build: Callable[[Any], nn.Module] = checkpoint.build

    def settings(self, seed: int, context: RunContext) -> Settings:
        """Settings of the package's training, with a seed."""
        preset = PRESETS[self.preset]
        smoke = SMOKE if context.smoke else {}
        if not hasattr(preset.model, "patch_size"):
            smoke = {k: v for k, v in smoke.items() if "patch" not in k}
        changes = {**COMMON, **self.changes, "train.seed": seed, **smoke}
        return changed_experiment(preset, changes)

    def measure(self, seed: int, context: RunContext) -> Record:
        """One training; on test its last weights."""
        settings = self.settings(seed, context)
        prepared = prepare(settings, build=self.build)
        optimize(prepared.model)
        steps = context.limit(self.steps)
        every = max(1, steps // INSPECTIONS)
        right, looks = [], []

        def on_step(progress, sums, rate) -> None:
            right.append(sums.means()["accuracy"])
            if progress.step % every == 0:
                last = right[-every:]
                looks.append(
                    {
                        "step": progress.step,
                        "train": round(sum(last) / len(last), 4),
                        "dev": accuracy(prepared, prepared.splits.dev),
                    }
                )

        fit(
            prepared.model,
            make_optimizer(prepared.model, settings.train),
            prepared.batches,
            settings.train,
            on_step=on_step,
            loss_fn=partial(prepared.task.loss, config=settings.loss),
            steps=steps,
        )
        return {
            "looks": looks,
            "test": accuracy(prepared, prepared.splits.test),
            "weights": sum(p.numel() for p in prepared.model.parameters()),
        }


def plain_and_augmented(
    name: str, about: str, steps: int, **parts: Any
) -> dict[str, Training]:
    """A model that learns from the images as they are, and from moved ones."""
    return {
        f"1000/{name}": Training(about, steps, **parts),
        f"1000/{name}-augmented": Training(
            f"{about}, augmented", steps, changes=AUGMENTED, **parts
        ),
    }


# --- the experiment ----------------------------------------------------------

VARIANTS = {
    **plain_and_augmented("cnn", "CNN", 600, preset="fashion-cnn"),
    **plain_and_augmented("mlp", "MLP", 2400, build=perceptron),
    **plain_and_augmented("vit", "ViT", 2400),
    "1000/forest": OfPixels("random forest, 100 trees", forest, (100,)),
    "pixels/linear": OfPixels(
        "logistic regression", linear, (0.001, 0.01, 0.1, 1)
    ),
    "pixels/neighbours": OfPixels("nearest neighbours", neighbours, COUNTS),
    "pixels/svm": OfPixels("SVM, RBF kernel", svm, (1, 10, 100)),
}


def measure(
    way: OfPixels | Training, seed: int, context: RunContext
) -> Record:
    """A classifier of the networks' images, or a network."""
    if isinstance(way, OfPixels):
        few = Training("", 0).settings(seed, context)
        return way.measure(few, seed, context)
    return way.measure(seed, context)


EXPERIMENT = Experiment(
    name="few-images",
    chapter="19_vision_transformer",
    variants=VARIANTS,
    measure=measure,
    seeds=(0, 1, 2),
    seeds_of={"pixels": (0,)},
    settings=lambda: {
        name: {"about": one.about}
        | (
            {
                "steps": one.steps,
                "experiment": experiment_to_dict(
                    one.settings(0, RunContext(folder=None))
                ),
            }
            if isinstance(one, Training)
            else {"chosen from": one.values}
        )
        for name, one in VARIANTS.items()
    },
    smoke_variants=("1000/cnn-augmented", "1000/mlp", "pixels/svm"),
)
