"""Images with labels: what they are, read and checked (chapter 19).

Two corpora: ``digits``, 1,797 of 8 × 8 pixels that come with scikit-learn, and
``fashion_mnist``, 70,000 of 28 × 28 (Xiao et al. 2017).
"""

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from transformer_course.data.download import fetch
from transformer_course.data.text import Splits

CLASSES = {
    "digits": tuple("0123456789"),
    "fashion_mnist": (
        "T-shirt/top",
        "trouser",
        "pullover",
        "dress",
        "coat",
        "sandal",
        "shirt",
        "sneaker",
        "bag",
        "ankle boot",
    ),
}
"""The classes of each corpus, in the order of their labels."""
FASHION_DEV = 5000
"""Images held out of the 60,000 to choose checkpoints by: the last ones."""
DIGITS_HELD_OUT = 300
"""Images of digits in each of dev and test."""


@dataclass(frozen=True)
class ImageSet:
    """Images, what each shows, and what that is called."""

    images: UInt8[Tensor, "images channels height width"]
    """Pixels from 0 to 255."""
    labels: Int[Tensor, " labels"]
    """The number of each image's class."""
    names: tuple[str, ...]
    """Names of the classes, by number."""

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, places: slice | Int[Tensor, " places"]) -> "ImageSet":
        """The images at these places, in this order."""
        return ImageSet(self.images[places], self.labels[places], self.names)


def fashion_mnist(progress: bool = True) -> Splits[ImageSet]:
    """Fashion-MNIST: articles of clothing, grey, 28 × 28.

    The last 5,000 of its 60,000 training images are the development set; its
    10,000 test images are the test set.

    Raises:
        CorpusError: it is not here and cannot be downloaded.
    """
    files = fetch("fashion_mnist", progress)

    def read(part: str) -> ImageSet:
        images, labels = (
            read_idx(files[f"fashion_mnist/{part}-{what}-ubyte.gz"])
            for what in ("images-idx3", "labels-idx1")
        )
        return ImageSet(
            images[:, None], labels.long(), CLASSES["fashion_mnist"]
        )

    images = read("train")
    learned = len(images) - FASHION_DEV
    return Splits(
        images.take(slice(learned)),
        images.take(slice(learned, None)),
        read("t10k"),
    )


def digits() -> Splits[ImageSet]:
    """Hand-written digits, grey, 8 × 8, in a fixed order of drawing.

    From the UCI repository (Alpaydin and Kaynak 1998), by way of
    scikit-learn, which brings them along: nothing is fetched.
    """
    from sklearn.datasets import load_digits  # takes a second

    loaded = load_digits()
    pixels = torch.as_tensor(loaded.images * (255 / 16)).round()
    drawn = torch.randperm(
        len(pixels), generator=torch.Generator().manual_seed(0)
    )
    images = ImageSet(
        pixels.to(torch.uint8)[:, None],
        torch.as_tensor(loaded.target).long(),
        CLASSES["digits"],
    ).take(drawn)
    dev, test = (
        len(images) - 2 * DIGITS_HELD_OUT,
        len(images) - DIGITS_HELD_OUT,
    )
    return Splits(
        images.take(slice(dev)),
        images.take(slice(dev, test)),
        images.take(slice(test, None)),
    )


def read_idx(path: str | Path) -> UInt8[Tensor, "..."]:
    """Read a gzipped file of the idx format, as MNIST has them.

    Two zero bytes, the type of the numbers, the number of dimensions, each
    dimension in four bytes, then the numbers, row by row.

    Args:
        path: of the file.
    """
    content = gzip.decompress(Path(path).read_bytes())
    start = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:start], dtype=">u4")
    numbers = np.frombuffer(content, dtype=np.uint8, offset=start)
    return torch.tensor(numbers.reshape(shape))
