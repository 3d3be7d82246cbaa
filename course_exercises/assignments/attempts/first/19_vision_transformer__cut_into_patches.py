import torch
import torch.nn.functional as F


def right_1(images, size):
    """Names the six axes, moves the two that number the squares in front."""
    batch, channels, height, width = images.shape
    rows, columns = height // size, width // size
    x = images.reshape(batch, channels, rows, size, columns, size)
    x = x.permute(0, 2, 4, 1, 3, 5)
    return x.reshape(batch, rows * columns, channels * size * size)


def right_2(images, size):
    """Cuts one square after the other out with slices, and stacks them."""
    height, width = images.shape[-2:]
    squares = []
    for top in range(0, height, size):
        for left in range(0, width, size):
            square = images[:, :, top : top + size, left : left + size]
            squares.append(square.flatten(1))
    return torch.stack(squares, dim=1)


def single_1(images, size):
    """A reshape into rows of the right length is enough."""
    batch, channels, height, width = images.shape
    n = (height // size) * (width // size)
    return images.reshape(batch, n, channels * size * size)


def single_2(images, size):
    """Keeps a pixel's colours together: row, column, channel."""
    batch, channels, height, width = images.shape
    rows, columns = height // size, width // size
    x = images.reshape(batch, channels, rows, size, columns, size)
    x = x.permute(0, 2, 4, 3, 5, 1)
    return x.reshape(batch, rows * columns, size * size * channels)


def single_3(images, size):
    """Goes down each column of squares first, then to the next column."""
    height, width = images.shape[-2:]
    squares = [
        images[:, :, top : top + size, left : left + size].flatten(1)
        for left in range(0, width, size)
        for top in range(0, height, size)
    ]
    return torch.stack(squares, dim=1)


def single_4(images, size):
    """Splits each axis as (size, number): the within-square axis first."""
    batch, channels, height, width = images.shape
    rows, columns = height // size, width // size
    x = images.reshape(batch, channels, size, rows, size, columns)
    x = x.permute(0, 3, 5, 1, 2, 4)
    return x.reshape(batch, rows * columns, channels * size * size)


def single_5(images, size):
    """Uses unfold, and leaves its numbers before its squares."""
    return F.unfold(images, kernel_size=size, stride=size)


def double_1(images, size):
    """1. Colours of a pixel together; 2. squares column by column."""
    batch, channels, height, width = images.shape
    rows, columns = height // size, width // size
    x = images.reshape(batch, channels, rows, size, columns, size)
    x = x.permute(0, 4, 2, 3, 5, 1)
    return x.reshape(batch, rows * columns, size * size * channels)


def double_2(images, size):
    """1. Splits axes as (size, number); 2. lays squares out column first."""
    batch, channels, height, width = images.shape
    rows, columns = height // size, width // size
    x = images.reshape(batch, channels, size, rows, size, columns)
    x = x.permute(0, 3, 5, 1, 4, 2)
    return x.reshape(batch, rows * columns, -1)
