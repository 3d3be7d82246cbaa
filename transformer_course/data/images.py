"""Images with labels: what they are, read and checked (chapter 19).

Two corpora: ``digits``, 1,797 of 8 × 8 pixels that come with scikit-learn, and
``fashion_mnist``, 70,000 of 28 × 28 (Xiao et al. 2017).
"""

import gzip
import math
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from transformer_course.data.download import fetch
from transformer_course.errors import CorpusError

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
UNSIGNED_BYTE = 8
"""The idx format's word for pixels and labels of one byte."""


@dataclass(frozen=True)
class ImageSet:
    """Images, what each shows, and what that is called.

    Raises:
        CorpusError: not one label for each image, or a label without a name.
    """

    images: UInt8[Tensor, "images channels height width"]
    """Pixels from 0 to 255."""
    labels: Int[Tensor, " labels"]
    """The number of each image's class."""
    names: tuple[str, ...]
    """Names of the classes, by number."""

    def __post_init__(self):
        if len(self.images) != len(self.labels):
            raise CorpusError(
                f"{len(self.images):,} images but {len(self.labels):,} "
                "labels: each image needs exactly one."
            )
        if len(self.labels) and not (
            int(self.labels.min()) >= 0
            and int(self.labels.max()) < len(self.names)
        ):
            raise CorpusError(
                f"the labels go from {int(self.labels.min())} to "
                f"{int(self.labels.max())}, but there are "
                f"{len(self.names)} classes, numbered from 0."
            )

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, places: slice | Int[Tensor, " places"]) -> "ImageSet":
        """The images at these places, in this order."""
        return ImageSet(self.images[places], self.labels[places], self.names)


@dataclass(frozen=True)
class ImageSplits:
    """Images in the three parts that a training needs."""

    train: ImageSet
    dev: ImageSet
    test: ImageSet


def fashion_mnist(progress: bool = True) -> ImageSplits:
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
    return ImageSplits(
        images.take(slice(learned)),
        images.take(slice(learned, None)),
        read("t10k"),
    )


def digits() -> ImageSplits:
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
    return ImageSplits(
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

    Raises:
        CorpusError: it cannot be read, is no such file, or is cut short.
    """
    try:
        content = gzip.decompress(Path(path).read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(
            f"{path} cannot be read ({error}): expected a gzipped file of "
            "the idx format. Fetch it again."
        ) from error
    if len(content) < 4 or content[:3] != bytes([0, 0, UNSIGNED_BYTE]):
        raise CorpusError(
            f"{path} begins with {content[:4].hex(' ') or 'nothing'}: "
            "expected 00 00 08, an idx file of unsigned bytes."
        )
    start = 4 + 4 * content[3]
    shape = [
        int.from_bytes(content[place : place + 4], "big")
        for place in range(4, start, 4)
    ]
    if len(content) != start + math.prod(shape):
        size = " × ".join(map(str, shape))
        raise CorpusError(
            f"{path} says that it holds {size} numbers, but has "
            f"{max(len(content) - start, 0):,} bytes of them: it is cut "
            "short or damaged. Fetch it again."
        )
    numbers = np.frombuffer(content, dtype=np.uint8, offset=start)
    return torch.as_tensor(numbers.reshape(shape).copy())
