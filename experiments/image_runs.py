"""How often is a training on images right, and what does a step of it cost?

Scored is the checkpoint that did best on the development set, on all test
images; which class is taken for which is kept. The time is that of one update
with a batch as in the training, by a model of the same sizes.
"""

import dataclasses
from functools import partial
from pathlib import Path

import torch

from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    checkpoint_of,
    store_each,
)
from experiments.timing import seconds
from transformer_course.batches.images import ImageBatches, in_order
from transformer_course.checkpoints import checkpoint
from transformer_course.data.corpora import load_images
from transformer_course.data.images import ImageSet
from transformer_course.fast.optimize import optimize
from transformer_course.training.config import (
    Experiment,
    LossConfig,
    changed_experiment,
)
from transformer_course.training.loop import make_optimizer, train_step
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.folder import RunFolder
from transformer_course.training.run.training import run
from transformer_course.training.tasks.classification import (
    IMAGE_BATCH_SIZE,
    class_probabilities,
)
from transformer_course.training.tasks.table import find_task

CREDIT = "Images: Fashion-MNIST, by Zalando SE (MIT licence)."
TINY = {
    "data.train_pairs": 60,
    "data.batch_size": 20,
    "train.epochs": 1,
    "train.device": "cpu",
}


def test_of(corpus: str, context: RunContext) -> ImageSet:
    """A corpus's test images; in a smoke test few of them."""
    test = load_images(corpus).test
    return test.take(slice(context.limit(len(test), 20)))


def taken_for(guesses: torch.Tensor, images: ImageSet) -> list[list[int]]:
    """Numbers of images of each class (row) taken for each (column)."""
    count = len(images.names)
    pairs = images.labels * count + guesses
    return pairs.bincount(minlength=count**2).view(count, count).tolist()


def step_seconds(output: Path) -> float:
    """Seconds of one update, as in a training; the least of several."""
    settings = RunFolder(output).settings()
    config = checkpoint.load(checkpoint_of(output)).model.config
    task = find_task("image_classification")
    experiment = Experiment(name="timed", model=config)
    train = experiment.train
    images = load_images(settings["data"]["corpus"]).train.take(slice(2000))
    model = checkpoint.build(config).train()
    optimizer = make_optimizer(model, train)
    batches = ImageBatches(images, settings["data"]["batch_size"], seed=0)
    batch = next(batches.epoch(0))
    loss_fn = partial(task.loss, config=LossConfig())

    def step() -> None:
        train_step(model, batch, optimizer, train, loss_fn)

    return seconds(step, torch.device("cpu"))


def results(output: Path, context: RunContext) -> tuple[Record, None]:
    """Scores of the checkpoint that a training chose."""
    chosen = checkpoint_of(output)
    loaded = checkpoint.load(chosen)
    test = test_of(loaded.details["corpus"], context)
    batches = in_order(test, IMAGE_BATCH_SIZE)
    guesses = class_probabilities(loaded.model, batches).argmax(dim=-1)
    table = taken_for(guesses, test)
    right = sum(row[i] for i, row in enumerate(table))
    return {
        "credit": CREDIT,
        "parameters": sum(p.numel() for p in loaded.model.parameters()),
        "weights": chosen.name,
        "test": {"images": len(test), "accuracy": right / len(test)},
        "classes": test.names,
        "taken_for": table,
        "seconds_per_step": round(step_seconds(output), 4),
    }, None


def tiny(scratch: Path, kind: str, **changes: int) -> Path:
    """A training of a second, on the digits."""
    digits = {"data.corpus": "digits", "model.image_size": 8}
    preset = PRESETS[f"fashion-{kind}"]
    settings = changed_experiment(preset, TINY | digits | changes)
    settings = dataclasses.replace(settings, name=f"tiny-{kind}")
    return run(settings, scratch, quiet=True, optimize=optimize)


def smoke_inputs(scratch: Path) -> list[Path]:
    """A tiny training of each kind."""
    vit = tiny(scratch, "vit", **{"model.patch_size": 4})
    return [vit, tiny(scratch, "cnn")]


NAMES = ("fashion-cnn", "fashion-cnn-narrow")
EXPERIMENT = Analysis(
    name="image-runs",
    chapter="19_vision_transformer",
    analyse=store_each(
        results,
        lambda found: f"{found['test']}, {found['seconds_per_step']} s a step",
    ),
    inputs=tuple(f"outputs/{name}" for name in NAMES),
    smoke_inputs=smoke_inputs,
    writes=NAMES,
)
