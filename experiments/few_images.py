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
from typing import Any, NamedTuple

from torch import nn

from experiments.image_classifiers import COUNTS, perceptron
from experiments.lab import Experiment, Record, RunContext
from experiments.vit_recipes import SMOKE, accuracy
from transformer_course.batches.images import scaled
from transformer_course.checkpoints import checkpoint
from transformer_course.data.images import ImageSet
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


# --- classifiers of scikit-learn ---------------------------------------------


class OfPixels(NamedTuple):
    """A classifier that reads pixels as a row of numbers."""

    about: str
    build: Callable[[Any, int], Any]
    """From the value of its setting and a seed to an untrained classifier."""
    values: tuple[Any, ...] = (None,)
    """Of the one setting, to be chosen on dev."""

    def measure(self, seed: int, context: RunContext) -> Record:
        """Learn from the same images as the networks."""
        settings = Training("", 0).settings(seed, context)
        splits = prepare(settings).splits
        train = splits.train.take(slice(settings.data.train_pairs))
        dev, test = (
            images.take(slice(context.limit(len(images), 20)))
            for images in (splits.dev, splits.test)
        )
        found = []
        for value in self.values:
            model = self.build(value, seed).fit(*rows_of(train))
            found.append((model.score(*rows_of(dev)), value, model))
        best, value, model = max(found, key=lambda each: each[0])
        return {
            "chosen": value,
            "dev": round(best, 4),
            "test": round(model.score(*rows_of(test)), 4),
        }


def rows_of(images: ImageSet) -> tuple[Any, Any]:
    """Pixels, a row for each image, and labels."""
    return scaled(images.images).flatten(1).numpy(), images.labels.numpy()


def linear(strength: float, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=1000)


def neighbours(count: int, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(count)


def forest(_: None, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=seed)


def svm(strength: float, seed: int) -> Any:
    from sklearn.svm import SVC

    return SVC(C=strength)


# --- the experiment ----------------------------------------------------------

VARIANTS = {
    **plain_and_augmented("cnn", "CNN", 600, preset="fashion-cnn"),
    **plain_and_augmented("mlp", "MLP", 2400, build=perceptron),
    **plain_and_augmented("vit", "ViT", 2400),
    "1000/forest": OfPixels("random forest, 100 trees", forest),
    "pixels/linear": OfPixels(
        "logistic regression", linear, (0.001, 0.01, 0.1, 1)
    ),
    "pixels/neighbours": OfPixels("nearest neighbours", neighbours, COUNTS),
    "pixels/svm": OfPixels("SVM, RBF kernel", svm, (1, 10, 100)),
}

EXPERIMENT = Experiment(
    name="few-images",
    chapter="19_vision_transformer",
    variants=VARIANTS,
    measure=lambda way, seed, context: way.measure(seed, context),
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
