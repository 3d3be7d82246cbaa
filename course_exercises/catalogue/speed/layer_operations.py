"""Number of multiplications of a layer."""

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def layer_operations(
    batch: int, length: int, d_model: int, n_heads: int, d_ff: int
) -> int:
    """Count the arithmetic of one encoder layer's forward pass.

    Only matrix products count: four projections, the two products of
    attention, and the two of the feed-forward part. A product of a × b with
    b × c numbers is 2abc operations, since a multiplication and an addition
    are two. No place of the scores is left out, masked or not.

    Args:
        batch: sentences.
        length: tokens of each sentence, all of them real.
        d_model: width of the stream.
        n_heads: number of heads, which share out the width.
        d_ff: width inside the feed-forward part.

    Returns:
        The number of operations.
    """
    ### BEGIN SOLUTION
    tokens = batch * length
    projections = 4 * d_model**2
    feed_forward = 2 * d_model * d_ff
    attention = 2 * length * d_model
    return 2 * tokens * (projections + feed_forward + attention)
    ### END SOLUTION


@other
def operations_that_torch_counts(batch, length, d_model, n_heads, d_ff):
    with torch.device("meta"):
        square = nn.Linear(d_model, d_model, bias=False)
        widen = nn.Linear(d_model, d_ff, bias=False)
        narrow = nn.Linear(d_ff, d_model, bias=False)
        x = torch.empty(batch, length, d_model)
        heads = torch.empty(batch, n_heads, length, d_model // n_heads)
    with FlopCounterMode(display=False) as counter:
        for _ in range(4):
            square(x)
        (heads @ heads.mT) @ heads
        narrow(widen(x))
    return counter.get_total_flops()


@other
def operations_by_shapes(batch, length, d_model, n_heads, d_ff):
    n, d, head = length, d_model, d_model // n_heads
    products = [(n, d, d)] * 4 + [(n, d, d_ff), (n, d_ff, d)]
    products += [(n, head, n), (n, n, head)] * n_heads
    return batch * sum(2 * a * b * c for a, b, c in products)


def draw_sizes(draw: Draw) -> Case:
    heads = draw.size(2, 4)
    sizes = draw.size(2, 9), draw.size(2, 40), heads * draw.size(2, 9), heads
    return case("random sizes", *sizes, draw.size(3, 90))


EXERCISE = exercise_of(
    layer_operations,
    section="21_speed#how-fast-could-it-be",
    points=2,
    cases=[
        case("one sentence of two tokens, width 1", 1, 2, 1, 1, 3),
        case("a single token", 1, 1, 2, 2, 3),
        case("two sentences", 2, 3, 2, 1, 5),
        case("two heads", 1, 3, 4, 2, 5),
        case("an inside four times as wide", 1, 2, 4, 2, 16),
        case("the paper's layer, a batch of 64", 64, 30, 512, 8, 2048),
        case("a long text", 1, 4096, 256, 4, 1024),
    ],
    draw=draw_sizes,
)
