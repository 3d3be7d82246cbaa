import torch
import torch.nn.functional as F


def right_1(images, size):
    """Splits both axes in two, and brings the small ones to the end."""
    batch, channels, height, width = images.shape
    x = images.reshape(
        batch, channels, height // size, size, width // size, size
    )
    x = x.permute(0, 2, 4, 1, 3, 5)
    number = (height // size) * (width // size)
    return x.reshape(batch, number, channels * size * size)


def right_2(images, size):
    """Cuts out square by square, in two loops."""
    height, width = images.shape[-2:]
    squares = [
        images[:, :, top : top + size, left : left + size].flatten(1)
        for top in range(0, height, size)
        for left in range(0, width, size)
    ]
    return torch.stack(squares, dim=1)


def single_1(images, size):
    """Lays a square out pixel by pixel, with the channels last."""
    cut = images.unfold(2, size, size).unfold(3, size, size)
    cut = cut.permute(0, 2, 3, 4, 5, 1)
    return cut.flatten(3).flatten(1, 2)


def single_2(images, size):
    """Puts the squares one below the other, column after column."""
    squares = []
    for left in range(0, images.shape[3], size):
        for top in range(0, images.shape[2], size):
            square = images[:, :, top : top + size, left : left + size]
            squares.append(square.reshape(len(images), -1))
    return torch.stack(squares, 1)


def single_3(images, size):
    """Believes that a reshape alone cuts into squares."""
    batch, channels, height, width = images.shape
    number = height * width // size**2
    return images.reshape(batch, number, channels * size**2)


def single_4(images, size):
    """Inside a square, column comes before row."""
    batch, channels, height, width = images.shape
    x = images.reshape(
        batch, channels, height // size, size, width // size, size
    )
    x = torch.einsum("bchiwj->bhwcji", x)
    return x.reshape(batch, -1, channels * size * size)


def single_5(images, size):
    """Cuts each channel by itself: a row for each square of each channel."""
    x = images.unfold(2, size, size).unfold(3, size, size)
    return x.reshape(len(images), -1, size * size)


def double_1(images, size):
    """1. Lets the squares overlap, one pixel on each time; 2. puts the
    channels last."""
    batch, channels = images.shape[:2]
    windows = F.unfold(images, size)
    windows = windows.reshape(batch, channels, size * size, -1)
    return windows.permute(0, 3, 2, 1).flatten(2)


def double_2(images, size):
    """1. The squares go column after column; 2. so do the pixels in each."""
    batch, channels, height, width = images.shape
    x = images.reshape(
        batch, channels, height // size, size, width // size, size
    )
    x = x.permute(0, 4, 2, 1, 5, 3)
    return x.reshape(batch, -1, channels * size * size)
