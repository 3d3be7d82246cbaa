"""Merging of heads."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue import numbered
from course_exercises.engine.exercise import case, exercise_of, other


def merge_heads(
    x: Float[Tensor, "batch heads length d_head"],
) -> Float[Tensor, "batch length d_model"]:
    """Concatenate the heads' answers, the reverse of ``split_heads``.

    Args:
        x: what each head says at each token.

    Returns:
        For each token the numbers of the first head, then those of the
        second, and so on; ``d_model`` is heads · d_head.
    """
    ### BEGIN SOLUTION
    return x.transpose(1, 2).flatten(2)
    ### END SOLUTION


@other
def merge_by_cat(x):
    return torch.cat([x[:, i] for i in range(x.size(1))], dim=-1)


@other
def merge_by_flatten(x):
    return x.permute(0, 2, 1, 3).flatten(start_dim=2)


@other
def merge_by_filling(x):
    batch, heads, length, width = x.shape
    merged = x.new_empty(batch, length, heads * width)
    for head in range(heads):
        merged[..., head * width : (head + 1) * width] = x[:, head]
    return merged


def draw_answers(draw: Draw) -> Case:
    batch, heads = draw.size(1, 3), draw.size(2, 4)
    answers = draw.normal(batch, heads, draw.size(2, 6), draw.size(2, 4))
    return case("random numbers", answers)


EXERCISE = exercise_of(
    merge_heads,
    section="07_multi_head_attention#splitting-and-merging",
    points=1,
    cases=[
        case("two heads of width 1", numbered(1, 2, 2, 1)),
        case("two heads of width 2", numbered(1, 2, 2, 2)),
        case("a single token", numbered(1, 3, 1, 2)),
        case("one head", numbered(1, 1, 3, 2)),
        case("three heads, two tokens", numbered(1, 3, 2, 2)),
        case("two sentences", numbered(2, 2, 3, 2)),
        case(
            "heads that were split from a row",
            numbered(2, 3, 3, 2).transpose(1, 2),
        ),
        case("float64", numbered(2, 2, 2, 3).double()),
    ],
    draw=draw_answers,
)
