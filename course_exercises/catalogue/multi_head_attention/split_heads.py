"""Splitting into heads."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue import numbered
from course_exercises.engine.exercise import case, exercise_of, other


def split_heads(
    x: Float[Tensor, "batch length d_model"], n_heads: int
) -> Float[Tensor, "batch heads length d_head"]:
    """Give each head its own section of every token's numbers.

    No number is changed, each only gets another place.

    Args:
        x: what a projection has made of a batch of sentences.
        n_heads: how many heads share the width; it divides ``d_model``.

    Returns:
        An axis for the heads, ahead of the length. The first head has the
        first ``d_model / n_heads`` numbers of each token, the second one the
        next, and so on.
    """
    ### BEGIN SOLUTION
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    ### END SOLUTION


@other
def split_by_chunks(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


@other
def split_by_slices(x, n_heads):
    width = x.size(-1) // n_heads
    heads = [x[:, :, i * width : (i + 1) * width] for i in range(n_heads)]
    return torch.cat([head[:, None] for head in heads], dim=1)


@other
def split_of_transposed(x, n_heads):
    columns = x.mT.unflatten(1, (n_heads, -1))  # (batch, heads, d_head, ...)
    return columns.mT


def draw_stream(draw: Draw) -> Case:
    n_heads, d_head = draw.size(2, 4), draw.size(1, 4)
    shape = draw.size(1, 3), draw.size(3, 6), n_heads * d_head
    return case("random numbers", draw.normal(*shape), n_heads)


EXERCISE = exercise_of(
    split_heads,
    section="07_multi_head_attention#splitting-and-merging",
    points=1,
    cases=[
        case("two tokens, two heads of width 1", numbered(1, 2, 2), 2),
        case("a single token", numbered(1, 1, 4), 2),
        case("two tokens, two heads of width 2", numbered(1, 2, 4), 2),
        case("one head", numbered(1, 2, 3), 1),
        case("two heads of width 3", numbered(1, 2, 6), 2),
        case("two sentences", numbered(2, 3, 4), 2),
        case("three heads, five tokens", numbered(2, 5, 6), 3),
        case("float64", numbered(2, 2, 4).double(), 2),
    ],
    draw=draw_stream,
)
