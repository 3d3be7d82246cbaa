"""Rotary position embedding (RoPE)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def turn_by_position(
    x: Float[Tensor, "batch heads length d_head"],
) -> Float[Tensor, "batch heads length d_head"]:
    """Turn queries, or keys, by their positions, as rotary positions do.

    Neighbours form a pair: numbers 2i and 2i + 1 of a vector are an arrow.
    At position p, counted from 0, it is turned by the angle
    p / 10000^(2i / d_head), from the first of its numbers towards the
    second: an arrow (1, 0) becomes (cos, sin) of the angle.

    Args:
        x: queries or keys of every head; d_head is even. The heads are
            turned alike.

    Returns:
        All arrows turned, each where it was, in the shape and dtype of x.
    """
    ### BEGIN SOLUTION
    length, d_head = x.shape[-2:]
    place = torch.arange(length)[:, None]
    angle = place / 10_000 ** (torch.arange(0, d_head, 2) / d_head)
    cos, sin = angle.cos(), angle.sin()  # each (length, d_head / 2)
    first, second = x[..., 0::2], x[..., 1::2]
    new_first = first * cos - second * sin
    new_second = first * sin + second * cos
    return torch.stack([new_first, new_second], dim=-1).flatten(-2)
    ### END SOLUTION


@other
def turn_by_complex_numbers(x):
    length, d_head = x.shape[-2:]
    speed = 10_000.0 ** (-torch.arange(0, d_head, 2).double() / d_head)
    angle = torch.outer(torch.arange(length).double(), speed)
    arrows = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    factor = torch.polar(torch.ones_like(angle), angle).to(arrows.dtype)
    return torch.view_as_real(arrows * factor).flatten(-2)


@other
def turn_by_matrices(x):
    places = []
    for p in range(x.size(2)):
        blocks = []
        for i in range(x.size(3) // 2):
            angle = p / 10_000 ** (2 * i / x.size(3))
            cos, sin = math.cos(angle), math.sin(angle)
            blocks.append(torch.tensor([[cos, sin], [-sin, cos]]))
        R = torch.block_diag(*blocks).to(x.dtype)
        places.append(x[:, :, p] @ R)
    return torch.stack(places, dim=2)


@other
def turn_by_a_quarter(x):
    speed = 1e4 ** -(torch.arange(0, x.size(-1), 2) / x.size(-1))
    angle = torch.arange(x.size(-2))[:, None] * speed.repeat_interleave(2)
    quarter = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * angle.cos() + quarter * angle.sin()


def draw_heads(draw: Draw) -> Case:
    batch, heads = draw.size(1, 3), draw.size(1, 3)
    length, d_head = draw.size(2, 6), 2 * draw.size(2, 4)
    return case("random heads", draw.normal(batch, heads, length, d_head))


EXERCISE = exercise_of(
    turn_by_position,
    section="03_positional_encoding#rotary-positions",
    points=3,
    cases=[
        case("a pair at two positions", torch.tensor([[[[1.0, 0], [1, 0]]]])),
        case("one pair, upright", torch.tensor([[[[0.0, 1], [0, 1]]]])),
        case(
            "two pairs at two positions",
            torch.tensor([[[[1.0, 0, 2, 0], [1, 0, 2, 0]]]]),
        ),
        case(
            "two heads",
            torch.tensor([[[[1.0, 0, 2, 0]] * 2, [[0.0, 1, 3, 0]] * 2]]),
        ),
        case("a batch of two, three heads", Draw(14).normal(2, 3, 4, 6)),
        case("as many heads as positions", Draw(15).normal(1, 3, 3, 4)),
        case("a longer sentence", Draw(16).normal(1, 2, 30, 8)),
        case("float64", Draw(17).normal(1, 1, 3, 4).double()),
    ],
    draw=draw_heads,
    tolerance=1e-4,  # angles of up to 30 radians, in 32 bits
)
