"""How far do models get that know nothing of images, and a ViT beside them?

On one split of Fashion-MNIST, three seeds each: a linear map (multinomial
logistic regression) and a multilayer perceptron with as many weights as the
Vision Transformer, both also with its recipe; the commonest class among the
nearest training images, by the distance of their pixels; a random forest; a
support vector machine (RBF kernel) on the first principal components; and the
preset ``fashion-vit``. Scored on test is the epoch, or the setting, that did
best on dev. A training of the Vision Transformer goes on where it was stopped.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from experiments.vit_recipes import Training, accuracy, followed, similarity
from transformer_course.batches.images import scaled
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import chosen_checkpoint
from transformer_course.data.images import ImageSet
from transformer_course.fast.optimize import optimize
from transformer_course.models.vit_config import VisionConfig
from transformer_course.training.run.folder import RunFolder
from transformer_course.training.run.prepare import prepare
from transformer_course.training.run.training import run

COUNTS = (1, 3, 5, 7, 9)
"""Neighbours that are tried."""
TREES = 500
COMPONENTS, PENALTIES = 50, (3, 10, 30, 100, 300)
"""Principal components of the support vector machine; values of C tried."""
AT_ONCE = 500
"""Images whose neighbours are looked for at once."""


def linear(config: VisionConfig) -> nn.Module:
    """One linear map of all pixels."""
    pixels = config.channels * config.image_size**2
    return nn.Sequential(nn.Flatten(), nn.Linear(pixels, config.n_classes))


def perceptron(config: VisionConfig) -> nn.Module:
    """One hidden layer: as many weights as the Vision Transformer."""
    pixels = config.channels * config.image_size**2
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(pixels, 256),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(256, config.n_classes),
    )


def trained(training: Training, seed: int, context: RunContext) -> Record:
    """A training in memory, and its best epoch on the test set."""
    return followed(training, seed, context, test=True)[1]


def trained_in_a_folder(
    training: Training, seed: int, context: RunContext
) -> Record:
    """The same by a run in ``outputs/``, which can be stopped."""
    settings = training.settings(seed, context)
    name = settings.name + (f"-seed-{seed}" if seed else "")
    settings = dataclasses.replace(settings, name=name)
    begun = RunFolder(context.outputs / name).begun
    output = run(
        settings,
        context.outputs,
        resume=begun,
        quiet=True,
        optimize=optimize,
    )
    epochs = [r for r in RunFolder(output).records() if r["kind"] == "epoch"]
    model = checkpoint.load(chosen_checkpoint(output)).model
    prepared = prepare(settings)._replace(model=model)
    return {
        "weights": sum(p.numel() for p in model.parameters()),
        "train": [round(one["train_accuracy"], 4) for one in epochs],
        "dev": [round(one["dev_accuracy"], 4) for one in epochs],
        "test": accuracy(prepared, prepared.splits.test),
        "positions": similarity(model.position.table.detach()[1:]),
    }


def neighbours(training: Training, seed: int, context: RunContext) -> Record:
    """The commonest class among the nearest training images."""
    splits = prepare(training.settings(seed, context)).splits
    near = nearest(splits.train, splits.dev)
    dev = {n: share_right(near[:, :n], splits.dev) for n in COUNTS}
    best = max(dev, key=dev.__getitem__)
    near = nearest(splits.train, splits.test)[:, :best]
    test = share_right(near, splits.test)
    return {"neighbours": best, "test": test}


def nearest(known: ImageSet, asked: ImageSet) -> Tensor:
    """Labels of the nearest known images, the nearest first."""
    to = scaled(known.images).flatten(1)
    squares = to.square().sum(dim=1)
    found = []
    for images in asked.images.split(AT_ONCE):
        x = scaled(images).flatten(1)
        # the squared distance, less what is the same for all known images
        distance = squares - 2 * x @ to.T
        found.append(distance.topk(max(COUNTS), largest=False).indices)
    return known.labels[torch.cat(found)]


def share_right(labels: Tensor, asked: ImageSet) -> float:
    """Share of images whose commonest label is the right one."""
    votes = nn.functional.one_hot(labels, len(asked.names)).sum(dim=1)
    right = votes.argmax(dim=1) == asked.labels
    return round(float(right.float().mean()), 4)


def best_of(
    makers: dict[str, Callable[[int], Any]],
    training: Training,
    seed: int,
    context: RunContext,
) -> Record:
    """The estimator of scikit-learn that does best on dev, scored on test."""
    splits = prepare(training.settings(seed, context)).splits
    train, dev, test = (
        (scaled(part.images).flatten(1).numpy(), part.labels.numpy())
        for part in (splits.train, splits.dev, splits.test)
    )
    found = {name: make(seed).fit(*train) for name, make in makers.items()}
    right = {
        name: round(float(model.score(*dev)), 4)
        for name, model in found.items()
    }
    best = max(right, key=right.__getitem__)
    score = round(float(found[best].score(*test)), 4)
    return {"dev": right, "best": best, "test": score}


def forest(training: Training, seed: int, context: RunContext) -> Record:
    """A random forest."""
    trees = context.limit(TREES, 5)

    def grown(seed: int) -> Any:
        return RandomForestClassifier(trees, random_state=seed)

    return best_of({f"{trees} trees": grown}, training, seed, context)


def support_vectors(
    training: Training, seed: int, context: RunContext
) -> Record:
    """A support vector machine, its penalty chosen on dev."""
    components = context.limit(COMPONENTS, 5)

    def machine(penalty: float, seed: int) -> Any:
        return make_pipeline(
            PCA(components, random_state=seed),
            SVC(C=penalty, cache_size=1500),
        )

    penalties = PENALTIES[: context.limit(len(PENALTIES), 1)]
    makers = {f"C = {c}": partial(machine, c) for c in penalties}
    return best_of(makers, training, seed, context)


class Way(NamedTuple):
    """A training, and what makes it and scores it."""

    training: Training
    measure: Callable[[Training, int, RunContext], Record] = trained


def simple(about: str, build: Any, preset: str = "fashion-cnn") -> Way:
    """A model that knows nothing of images, by the training of a preset."""
    return Way(Training(about, preset=preset, build=build))


VARIANTS = {
    "neighbours": Way(Training("nearest training images"), neighbours),
    "forest": Way(Training("random forest"), forest),
    "svm": Way(Training("support vector machine"), support_vectors),
    "logistic": simple("linear map", linear),
    "mlp": simple("perceptron", perceptron),
    "mlp-longer": simple("perceptron", perceptron, "fashion-vit"),
    "vit": Way(Training("Vision Transformer"), trained_in_a_folder),
}
EXPERIMENT = Experiment(
    name="image-classifiers",
    chapter="19_vision_transformer",
    variants=VARIANTS,
    measure=lambda way, seed, context: way.measure(
        way.training, seed, context
    ),
    settings=lambda: {
        name: {"about": way.training.about, "preset": way.training.preset}
        for name, way in VARIANTS.items()
    },
    seeds_of=dict.fromkeys(("neighbours", "forest", "svm"), (0,)),
    default_variants=(
        "logistic",
        "mlp",
        "neighbours",
        "forest",
    ),
    smoke_variants=("neighbours", "forest", "svm", "mlp-longer", "vit"),
)
