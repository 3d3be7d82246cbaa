"""Rotary positions for any position and base."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def rotary(
    x: Float[Tensor, "batch heads length d_head"],
    positions: Int[Tensor, " length"],
    base: float,
) -> Float[Tensor, "batch heads length d_head"]:
    """Turn queries, or keys, by their positions.

    Su et al. 2021, section 3.4. Neighbours form a pair: numbers 2i and 2i + 1
    of a vector are an arrow. At position p it is turned by the angle
    p / base^(2i / d_head), from the first of its numbers towards the second:
    an arrow (1, 0) becomes (cos, sin) of the angle. Angles are computed in 32
    bits, whatever the precision of x.

    Args:
        x: queries or keys of every head; d_head is even. The heads are
            turned alike.
        positions: the position of each vector of a text. They need not begin
            at 0: x may be the latest part of a longer text.
        base: how slowly the pairs turn, the later ones more than the first.

    Returns:
        All arrows turned, each where it was, in the shape and dtype of x.
    """
    ### BEGIN SOLUTION
    pair = torch.arange(0, x.size(-1), 2, device=x.device)
    angle = positions[:, None] / base ** (pair / x.size(-1))
    cos, sin = angle.cos(), angle.sin()  # each (length, d_head / 2)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)
    ### END SOLUTION


@other
def turn_by_complex_numbers(x, positions, base):
    half = x.size(-1) // 2
    speed = float(base) ** (-torch.arange(half).float() / half)
    angle = torch.outer(positions.float(), speed)
    arrows = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    turned = arrows * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


@other
def turn_by_a_quarter(x, positions, base):
    speed = base ** -(torch.arange(0, x.size(-1), 2) / x.size(-1))
    angle = positions[:, None] * speed.repeat_interleave(2)
    quarter = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return (x * angle.cos() + quarter * angle.sin()).to(x.dtype)


@other
def turn_pair_by_pair(x, positions, base):
    turned = x.float().clone()
    for i in range(0, x.size(-1), 2):
        angle = positions.double() * base ** (-i / x.size(-1))
        cos, sin = angle.cos().float(), angle.sin().float()
        turned[..., i] = x[..., i] * cos - x[..., i + 1] * sin
        turned[..., i + 1] = x[..., i] * sin + x[..., i + 1] * cos
    return turned.to(x.dtype)


def draw_heads(draw: Draw) -> Case:
    batch, heads = draw.size(1, 3), draw.size(1, 3)
    length, d_head = draw.size(2, 6), 2 * draw.size(2, 4)
    first = draw.size(1, 40)
    return case(
        "random heads",
        draw.normal(batch, heads, length, d_head),
        torch.arange(first, first + length),
        draw.choice([500.0, 10_000.0, 100_000.0]),
    )


EXERCISE = exercise_of(
    rotary,
    section="22_since_2017#a-model-of-today",
    points=2,
    cases=[
        case(
            "a pair at two positions",
            torch.tensor([[[[1.0, 0], [1, 0]]]]),
            torch.arange(2),
            100.0,
        ),
        case(
            "two pairs, a base of 100",
            torch.tensor([[[[1.0, 0, 2, 0], [1, 0, 2, 0]]]]),
            torch.arange(2),
            100.0,
        ),
        case(
            "one word, at position 7",
            torch.tensor([[[[1.0, 2, 3, 4]]]]),
            torch.tensor([7]),
            10_000.0,
        ),
        case(
            "two texts in one row: the positions begin again",
            Draw(1).normal(1, 1, 5, 4),
            torch.tensor([0, 1, 2, 0, 1]),
            10_000.0,
        ),
        case(
            "a batch of two, three heads",
            Draw(2).normal(2, 3, 4, 6),
            torch.arange(4),
            100_000.0,
        ),
        case(
            "as many heads as positions",
            Draw(3).normal(1, 3, 3, 4),
            torch.arange(3),
            100_000.0,
        ),
        case(
            "16 bits, position 301",
            Draw(4).normal(1, 1, 1, 4).bfloat16(),
            torch.tensor([301]),
            10_000.0,
        ),
    ],
    draw=draw_heads,
    tolerance=1e-4,  # angles of up to 46 radians, in 32 bits
)
