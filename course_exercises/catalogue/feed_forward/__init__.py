"""Chapter 09: the feed-forward part."""

import torch
from torch import Tensor

from course_exercises.candidate.draw import Draw

ONE_WORD = (
    "one word, two units: one fires, one does not",
    torch.tensor([[[1.0]]]),
    torch.tensor([[2.0, -3.0]]),
    torch.tensor([0.5, 1.0]),
    torch.tensor([[10.0], [100.0]]),
    torch.tensor([-1.0]),
)


def draw_part(
    draw: Draw, batch: int, length: int, width: int, inside: int
) -> list[Tensor]:
    """An input and the weights of a feed-forward network."""
    return [
        draw.normal(batch, length, width),
        draw.normal(width, inside),
        draw.normal(inside),
        draw.normal(inside, width),
        draw.normal(width),
    ]


def random_part(draw: Draw) -> list[Tensor]:
    """An input and weights of random sizes."""
    width, inside = draw.size(2, 4), draw.size(5, 8)
    return draw_part(draw, draw.size(1, 3), draw.size(2, 5), width, inside)
