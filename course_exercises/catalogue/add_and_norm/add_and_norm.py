"""Residual connection and layer norm, post-norm and pre-norm."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other

from . import (
    CATS,
    THREE,
    halved,
    layer_normed,
    plus_one,
    rolled,
    squared,
    times_ten,
)


def add_and_norm(
    x: Float[Tensor, "*batch d_model"],
    sublayer: Callable[[Tensor], Tensor],
    norm: Callable[[Tensor], Tensor],
    norm_first: bool,
) -> Float[Tensor, "*batch d_model"]:
    """Put a sum and a norm around a sub-layer, in one of the two ways.

    There is nothing else, no dropout either.

    Args:
        x: the stream, with any axes ahead of its width.
        sublayer: attention, say, or a feed-forward part; call it with a
            tensor, and it gives one of the same shape.
        norm: a layer norm, called likewise.
        norm_first: pre-norm if True, post-norm if False.

    Returns:
        The stream as it goes on, of the shape of ``x``.
    """
    ### BEGIN SOLUTION
    if norm_first:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))
    ### END SOLUTION


@other
def added_by_steps(x, sublayer, norm, norm_first):
    read = norm(x) if norm_first else x
    out = torch.stack([x, sublayer(read)]).sum(dim=0)
    return out if norm_first else norm(out)


@other
def added_by_composing(x, sublayer, norm, norm_first):
    def same(y):
        return y

    before, after = (norm, same) if norm_first else (same, norm)
    return after(torch.add(sublayer(before(x)), x))


def draw_sublayer(draw: Draw) -> Case:
    x = draw.normal(draw.size(1, 3), draw.size(1, 4), draw.size(3, 6))
    sublayer = draw.choice([times_ten, rolled, squared])
    norm = draw.choice([layer_normed, halved, plus_one])
    first = draw.choice([True, False])
    return case("random numbers", x, sublayer, norm, first)


EXERCISE = exercise_of(
    add_and_norm,
    section="08_add_and_norm#post-norm-and-pre-norm",
    points=1,
    cases=[
        case("post-norm", THREE, times_ten, halved, False),
        case("pre-norm", THREE, times_ten, halved, True),
        case("post-norm of a square", THREE, squared, plus_one, False),
        case("pre-norm of a square", THREE, squared, plus_one, True),
        case("cats in post-norm", CATS, rolled, layer_normed, False),
        case("cats in pre-norm", CATS, rolled, layer_normed, True),
        case(
            "a batch of one in post-norm",
            Draw(1).normal(1, 2, 4),
            squared,
            layer_normed,
            False,
        ),
        case(
            "two sentences in pre-norm, float64",
            Draw(2).normal(2, 3, 4).double(),
            squared,
            layer_normed,
            True,
        ),
    ],
    draw=draw_sublayer,
)
