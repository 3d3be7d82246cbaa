"""How far do models get that know nothing of images, and a ViT beside them?

On one split of Fashion-MNIST, three seeds each: a linear map (multinomial
logistic regression) and a multilayer perceptron with as many weights as the
Vision Transformer, both also with its recipe; the commonest class among the
nearest training images, by the distance of their pixels; a random forest; a
support vector machine (RBF kernel) on the first principal components; and the
preset ``fashion-vit``. Scored on test is the epoch, or the setting, that did
best on dev.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from torch import nn

from experiments.lab import Experiment, Record, RunContext
from experiments.vit_recipes import Training, followed
from transformer_course.batches.images import scaled
from transformer_course.data.images import ImageSet
from transformer_course.models.vit_config import VisionConfig
from transformer_course.training.config import Experiment as Settings
from transformer_course.training.run.prepare import prepare

COUNTS = (1, 3, 5, 7, 9)
"""Neighbours that are tried."""
COMPONENTS = 50
"""Principal components that the support vector machine reads."""


# --- networks ----------------------------------------------------------------


def logistic(config: VisionConfig) -> nn.Module:
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


# --- classifiers of scikit-learn ---------------------------------------------


class OfPixels(NamedTuple):
    """A classifier that reads pixels as a row of numbers."""

    about: str
    build: Callable[[Any, int], Any]
    """From the value of its setting and a seed to an untrained classifier."""
    values: tuple[Any, ...]
    """Of the one setting, to be chosen on dev."""

    def measure(
        self, settings: Settings, seed: int, context: RunContext
    ) -> Record:
        """Learn from the images of a network's training."""
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
    return LogisticRegression(C=strength, max_iter=1000)


def neighbours(count: int, seed: int) -> Any:
    return KNeighborsClassifier(count)


def forest(trees: int, seed: int) -> Any:
    return RandomForestClassifier(trees, random_state=seed)


def svm(strength: float, seed: int) -> Any:
    return SVC(C=strength)


def svm_of_components(strength: float, seed: int) -> Any:
    components = PCA(COMPONENTS, random_state=seed)
    return make_pipeline(components, SVC(C=strength, cache_size=1500))


# --- the experiment ----------------------------------------------------------


def measure(
    way: OfPixels | Training, seed: int, context: RunContext
) -> Record:
    """A classifier, or a training and its best epoch on the test set."""
    if isinstance(way, OfPixels):
        return way.measure(Training("").settings(seed, context), seed, context)
    return followed(way, seed, context, test=True)[1]


VARIANTS = {
    "neighbours": OfPixels("nearest training images", neighbours, COUNTS),
    "forest": OfPixels("random forest", forest, (500,)),
    "svm": OfPixels(
        "support vector machine", svm_of_components, (3, 10, 30, 100, 300)
    ),
    "logistic": Training("linear map", preset="fashion-cnn", build=logistic),
    "mlp": Training("perceptron", preset="fashion-cnn", build=perceptron),
    "mlp-longer": Training("perceptron", build=perceptron),
    "vit": Training("Vision Transformer"),
}
EXPERIMENT = Experiment(
    name="image-classifiers",
    chapter="19_vision_transformer",
    variants=VARIANTS,
    measure=measure,
    settings=lambda: {
        name: {"about": way.about} for name, way in VARIANTS.items()
    },
    seeds_of=dict.fromkeys(("neighbours", "forest", "svm"), (0,)),
    default_variants=("logistic", "mlp", "neighbours", "forest"),
    smoke_variants=("neighbours", "forest", "mlp-longer", "vit"),
)
