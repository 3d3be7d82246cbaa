"""Sinusoidal positional encoding."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def sinusoidal_encoding(
    length: int, d_model: int
) -> Float[Tensor, "length d_model"]:
    """Make the paper's table of positions, section 3.5.

    PE(p, 2i) = sin(p / 10000^(2i / d_model)), and PE(p, 2i + 1) is the cosine
    of the same angle. Each cosine is in the column after its sine.

    Args:
        length: how many positions there are, from position 0.
        d_model: the width of a row; even, and at least 4.

    Returns:
        A row for each position, in float32.
    """
    ### BEGIN SOLUTION
    place = torch.arange(length)[:, None]
    column = torch.arange(0, d_model, 2)  # 2i: that of the sine
    angle = place / 10_000 ** (column / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    ### END SOLUTION


@other
def table_by_loop(length, d_model):
    rows = []
    for place in range(length):
        row = []
        for i in range(d_model // 2):
            angle = place / 10_000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


@other
def table_by_filling(length, d_model):
    table = torch.empty(length, d_model)
    speed = torch.exp(torch.arange(0, d_model, 2) * -math.log(1e4) / d_model)
    angle = torch.outer(torch.arange(length).float(), speed)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table


@other
def table_of_one_sine(length, d_model):
    column = torch.arange(d_model)
    speed = 10_000.0 ** (-(column - column % 2) / d_model)
    shift = math.pi / 2 * (column % 2)  # a cosine is a quarter turn ahead
    return torch.sin(torch.arange(length).unsqueeze(1) * speed + shift)


def draw_sizes(draw: Draw) -> Case:
    return case("random sizes", draw.size(2, 40), 2 * draw.size(2, 12))


EXERCISE = exercise_of(
    sinusoidal_encoding,
    section="03_positional_encoding#sines-and-cosines-as-clocks",
    points=2,
    cases=[
        case("one position", 1, 4),
        case("two positions", 2, 4),
        case("two positions of three hands", 2, 6),
        case("cats, drink, milk, as in the chapter", 3, 4),
        case("as many positions as columns", 8, 8),
        case("a longer and wider table", 50, 32),
    ],
    draw=draw_sizes,
    tolerance=1e-4,  # angles of up to 50 radians, in 32 bits
)
