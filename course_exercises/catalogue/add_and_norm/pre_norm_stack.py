"""A stack of pre-norm sub-layers."""

from collections.abc import Callable, Sequence

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


def pre_norm_stack(
    x: Float[Tensor, "*batch d_model"],
    sublayers: Sequence[Callable[[Tensor], Tensor]],
    norms: Sequence[Callable[[Tensor], Tensor]],
    last_norm: Callable[[Tensor], Tensor],
) -> Float[Tensor, "*batch d_model"]:
    """Lead a stream through a whole pre-norm stack.

    Around each sub-layer there are a norm and a sum, as in ``add_and_norm``
    when ``norm_first`` is True.

    Args:
        x: the stream as it enters.
        sublayers: attention, feed-forward, attention and so on, from the
            bottom to the top.
        norms: one for each sub-layer, in the same order.
        last_norm: the one more norm that pre-norm needs, once in a stack.

    Returns:
        What leaves the stack.
    """
    ### BEGIN SOLUTION
    for sublayer, norm in zip(sublayers, norms, strict=True):
        x = x + sublayer(norm(x))
    return last_norm(x)
    ### END SOLUTION


@other
def stack_by_index(x, sublayers, norms, last_norm):
    stream = x.clone()
    for i in range(len(sublayers)):
        read = norms[i](stream)
        stream = stream + sublayers[i](read)
    return last_norm(stream)


@other
def stack_by_recursion(x, sublayers, norms, last_norm):
    if not sublayers:
        return last_norm(x)
    x = x + sublayers[0](norms[0](x))
    return stack_by_recursion(x, sublayers[1:], norms[1:], last_norm)


@other
def stack_by_parts(x, sublayers, norms, last_norm):
    parts = [x]
    for sublayer, norm in zip(sublayers, norms, strict=True):
        parts.append(sublayer(norm(sum(parts[1:], start=parts[0]))))
    return last_norm(torch.stack(parts).sum(dim=0))


def draw_stack(draw: Draw) -> Case:
    x = draw.normal(draw.size(1, 3), draw.size(1, 4), draw.size(3, 6))
    depth = draw.size(2, 4)
    sublayers = [draw.choice([rolled, squared]) for _ in range(depth)]
    norms = [draw.choice([layer_normed, halved]) for _ in range(depth)]
    return case("a random stack", x, sublayers, norms, layer_normed)


EXERCISE = exercise_of(
    pre_norm_stack,
    section="08_add_and_norm#one-more-norm-at-the-end",
    points=2,
    cases=[
        case("one sub-layer", THREE, [times_ten], [halved], plus_one),
        case(
            "two sub-layers",
            THREE,
            [times_ten, squared],
            [halved, halved],
            plus_one,
        ),
        case(
            "two norms",
            THREE,
            [times_ten, times_ten],
            [halved, plus_one],
            halved,
        ),
        case(
            "cats", CATS, [rolled, squared], [layer_normed] * 2, layer_normed
        ),
        case(
            "three sub-layers, a batch of one",
            Draw(1).normal(1, 2, 3),
            [squared, rolled, times_ten],
            [layer_normed, halved, layer_normed],
            layer_normed,
        ),
        case(
            "two sentences, float64",
            Draw(2).normal(2, 3, 4).double(),
            [rolled, squared],
            [layer_normed, plus_one],
            layer_normed,
        ),
    ],
    draw=draw_stack,
)
