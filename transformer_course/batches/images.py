"""Images as tensors: scaled, in shuffled batches, a little shifted.

Chapter 19. What text has in ``batches`` and ``buckets`` is easier here: all
images have one size.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from transformer_course.data.images import ImageSet
from transformer_course.device import moved


class ImageBatch(NamedTuple):
    """Images as a model takes them, and what each shows."""

    images: Float[Tensor, "batch channels height width"]
    """From -1 to 1."""
    labels: Int[Tensor, " batch"]
    """Numbers of classes."""

    to = moved


def scaled(
    pixels: UInt8[Tensor, "*images"],
) -> Float[Tensor, "*images"]:
    """Pixels from 0 to 255 as numbers from -1 to 1."""
    return pixels.float() / 127.5 - 1


def shifted(
    images: Float[Tensor, "batch channels height width"],
    most: int,
    generator: torch.Generator,
) -> Float[Tensor, "batch channels height width"]:
    """Each image moved by up to ``most`` pixels, and every other mirrored.

    What comes in at the border is -1, black. The usual augmentation for small
    images (He et al. 2016, section 4.2).

    Args:
        images: from -1 to 1.
        most: pixels, to each side.
        generator: draws how far each image moves.
    """
    batch, _, height, width = images.shape
    padded = F.pad(images, [most] * 4, value=-1.0)
    moves = torch.randint(2 * most + 1, (2, batch), generator=generator)
    mirror = torch.rand(batch, generator=generator) < 0.5
    rows = moves[0][:, None] + torch.arange(height)
    columns = moves[1][:, None] + torch.arange(width)
    columns = torch.where(mirror[:, None], columns.flip(1), columns)
    each = torch.arange(batch)[:, None, None]
    moved = padded[each, :, rows[:, :, None], columns[:, None, :]]
    return moved.permute(0, 3, 1, 2).contiguous()


def in_order(images: ImageSet, size: int) -> list[ImageBatch]:
    """Batches of at most ``size`` images, in the order of the set."""
    pairs = zip(
        images.images.split(size), images.labels.split(size), strict=True
    )
    return [ImageBatch(scaled(pixels), labels) for pixels, labels in pairs]


class ImageBatches:
    """Shuffled batches of one size, drawn anew in each epoch.

    What is left over at an epoch's end is left out of that epoch.

    Args:
        images: to learn from.
        size: images in a batch.
        seed: fixes order and augmentation.
        most: pixels by which an image may be shifted; 0 also mirrors none.
    """

    def __init__(self, images: ImageSet, size: int, seed: int, most: int = 0):
        self.images, self.seed, self.most = images, seed, most
        self.size = min(size, len(images))

    def __len__(self) -> int:
        return len(self.images) // self.size

    def epoch(self, number: int) -> Iterator[ImageBatch]:
        """The batches of one epoch, always the same for one number."""
        generator = torch.Generator().manual_seed(
            self.seed * 1_000_003 + number
        )
        order = torch.randperm(len(self.images), generator=generator)
        for places in order.split(self.size)[: len(self)]:
            images = scaled(self.images.images[places])
            if self.most:
                images = shifted(images, self.most, generator)
            yield ImageBatch(images, self.images.labels[places])
