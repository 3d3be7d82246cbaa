"""Image patches."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue import numbered
from course_exercises.engine.exercise import case, exercise_of, other


def cut_into_patches(
    images: Float[Tensor, "batch channels height width"], size: int
) -> Float[Tensor, "batch patches numbers"]:
    """Cut each image into squares, and lay each square out as a vector.

    No number is changed, each only gets another place.

    Args:
        images: a batch of them, all of one size.
        size: pixels on each side of a square; it divides height and width.

    Returns:
        A row for each square, in the order in which one reads: the upper
        row of squares from left to right, then the next. A square's numbers
        are in the order channel, row, column: all of the first channel,
        row by row, then the next channel. Of two channels of 4 × 4 pixels,
        numbered from 0 to 31, the first squares of 2 × 2 give
        0 1 4 5 16 17 20 21 and 2 3 6 7 18 19 22 23.
    """
    ### BEGIN SOLUTION
    batch, channels, height, width = images.shape
    rows, columns = height // size, width // size
    tiles = images.reshape(batch, channels, rows, size, columns, size)
    ordered = tiles.permute(0, 2, 4, 1, 3, 5)
    return ordered.reshape(batch, rows * columns, -1)
    ### END SOLUTION


@other
def patches_by_slices(images, size):
    found = [
        images[:, :, top : top + size, left : left + size].flatten(1)
        for top in range(0, images.size(2), size)
        for left in range(0, images.size(3), size)
    ]
    return torch.stack(found, dim=1)


@other
def patches_by_unfold(images, size):
    return F.unfold(images, kernel_size=size, stride=size).mT


def draw_images(draw: Draw) -> Case:
    """Images of random numbers, seldom square."""
    size = draw.size(1, 3)
    shape = [draw.size(1, 2), draw.size(1, 3)]
    sides = [size * draw.size(1, 4), size * draw.size(1, 4)]
    return case("random numbers", draw.normal(*shape, *sides), size)


EXERCISE = exercise_of(
    cut_into_patches,
    section="19_vision_transformer#an-image-as-patches",
    points=2,
    cases=[
        case("two squares, side by side", numbered(1, 1, 2, 4), 2),
        case("four squares of four pixels", numbered(1, 1, 4, 4), 2),
        case("two rows of three squares", numbered(1, 1, 4, 6), 2),
        case("two channels", numbered(1, 2, 2, 4), 2),
        case("a patch is a pixel, three channels", numbered(1, 3, 2, 2), 1),
        case("a patch is the image", numbered(1, 2, 3, 3), 3),
        case("two images", numbered(2, 2, 4, 6), 2),
    ],
    draw=draw_images,
)
