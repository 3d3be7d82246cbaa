"""Image patches."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.catalogue import numbered
from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
)

from . import PATCHES


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


EDITS = """
# patches_by_reshape_alone
- return ordered.reshape(batch, rows -> return tiles.reshape(batch, rows
Your "patches" are stretches of the image's numbers, not squares.

`reshape` reads the numbers in the order in which they lie in memory, row
after row of pixels. Between the rows of a square lie pixels of its
neighbours: the axes have to be moved first. The shape fits, so that no error
is raised.

# patches_column_by_column
- 2, 4 -> 4, 2
Your squares are right, but go down the columns of the image.

The exercise asks for the order of reading: the upper row of squares first. A
model's learned positions would otherwise belong to other squares.

# patches_channels_last
- .reshape(batch, rows -> .movedim(3, -1).reshape(batch, rows
In your squares the channels stand last: pixel by pixel, all colours of each.

The exercise asks for the order channel, row, column. It is the one that the
weights of a convolution have.

# patches_channels_outside
- .reshape(batch, rows -> .movedim(3, 1).reshape(batch, rows
Your patches are right for images of one channel, and for no others.

With several, all squares of the first channel come before those of the second,
and your rows join squares of one channel. The axis of the channels has to move
behind those that number the squares. Two `unfold`s leave it in front, too.

# patches_turned_over
- return ordered -> return ordered.mT
Your squares are turned over: their rows are the image's columns.

Inside a square, too, the numbers go row by row.

# patches_of_distant_pixels
- rows, size, columns, size)
+ size, rows, size, columns).permute(0, 1, 3, 2, 5, 4)
Your patches are made of pixels that lie apart, one of each square.

When an axis is split in two, the outer of the two counts first: `rows, size`
names the square and then the place within it.

# patches_grid_turned
- height // size, width // size -> width // size, height // size
You confuse the number of rows of squares with the number of columns.

On a square image that goes unnoticed. Height is the axis before the last.

# patches_grid_kept
- rows * columns, -1 -> rows, columns, -1
Your squares still stand in a grid: (batch, rows, columns, numbers).

An encoder reads a row of vectors: one axis for all squares.

# patches_not_laid_out
- rows * columns, -1 -> rows * columns, channels, size, size
Your squares are still squares: (batch, patches, channels, size, size).

A linear map takes vectors: lay each square's numbers out in a row.

# patches_as_columns
- -1) -> -1).mT
Your squares are columns: (batch, numbers, patches).

`unfold` leaves them so. An encoder reads rows: the squares are the axis before
the last, and the numbers of each are the last.
"""


@mistake
def patches_of_one_channel_each(images, size):
    """You cut a patch out of each channel by itself.

    So an image of three colours gives three times as many tokens. A patch
    holds the numbers of all channels at its place.
    """
    batch = images.size(0)
    alone = images.reshape(-1, 1, *images.shape[2:])
    found = F.unfold(alone, kernel_size=size, stride=size).mT
    return found.reshape(batch, -1, size * size)


def draw_images(draw: Draw) -> Case:
    """Images of random numbers, seldom square."""
    size = draw.size(1, 3)
    shape = [draw.size(1, 2), draw.size(1, 3)]
    sides = [size * draw.size(1, 4), size * draw.size(1, 4)]
    return case("random numbers", draw.normal(*shape, *sides), size)


EXERCISE = exercise_of(
    cut_into_patches,
    section=PATCHES,
    points=2,
    hints=(
        "On paper, number the pixels of an image of 4 × 4 and cut it into "
        "four. Which numbers lie in the first square? How far apart are they "
        "in memory?",
        "Give the height two axes, which square and which row in it, and the "
        "width too. Then there are six axes: which order must they have, so "
        "that the last three are one square?",
    ),
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
