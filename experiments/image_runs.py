"""How often is a training on images right?

Scored is the checkpoint that did best on the development set, on all test
images.
"""

import dataclasses
from pathlib import Path

from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    checkpoint_of,
    store_each,
)
from transformer_course.batches.images import in_order
from transformer_course.checkpoints import checkpoint
from transformer_course.data.corpora import load_images
from transformer_course.data.images import ImageSet
from transformer_course.fast.optimize import optimize
from transformer_course.training.config import changed_experiment
from transformer_course.training.loop import evaluate
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.training import run
from transformer_course.training.tasks.classification import (
    IMAGE_BATCH_SIZE,
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


def results(output: Path, context: RunContext) -> tuple[Record, None]:
    """Scores of the checkpoint that a training chose."""
    chosen = checkpoint_of(output)
    loaded = checkpoint.load(chosen)
    test = test_of(loaded.details["corpus"], context)
    batches = in_order(test, IMAGE_BATCH_SIZE)
    loss = find_task("image_classification").unsmoothed_loss
    means = evaluate(loaded.model, batches, loss_fn=loss)
    return {
        "credit": CREDIT,
        "parameters": sum(p.numel() for p in loaded.model.parameters()),
        "weights": chosen.name,
        "test": {"images": len(test), "accuracy": means["accuracy"]},
        "classes": test.names,
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
    analyse=store_each(results, lambda found: str(found["test"])),
    inputs=tuple(f"outputs/{name}" for name in NAMES),
    smoke_inputs=smoke_inputs,
    writes=NAMES,
)
