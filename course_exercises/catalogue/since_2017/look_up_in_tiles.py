"""Attention with an online softmax, tile by tile."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def look_up_in_tiles(
    scores: Float[Tensor, " keys"],
    values: Float[Tensor, "keys d_v"],
    tile: int,
) -> Float[Tensor, " d_v"]:
    """Mix values by the softmax of their scores, a tile of keys at a time.

    Scores may be large, so that no power of a score itself can be taken:
    keep the largest one so far, and correct the sums when it grows.

    Args:
        scores: of one query with each key; finite, at least one of them.
        values: one row for each key.
        tile: how many keys are read at a time; the last tile may be
            shorter.

    Returns:
        The mean of all values, weighted by the softmax of all scores.
    """
    ### BEGIN SOLUTION
    highest = scores.new_tensor(-torch.inf)
    total = scores.new_zeros(())
    mixed = values.new_zeros(values.size(1))
    for start in range(0, len(scores), tile):
        part = slice(start, start + tile)
        new = torch.maximum(highest, scores[part].max())
        weights = (scores[part] - new).exp()
        shrink = (highest - new).exp()
        total = shrink * total + weights.sum()
        mixed = shrink * mixed + weights @ values[part]
        highest = new
    return mixed / total
    ### END SOLUTION


@other
def look_up_at_once(scores, values, tile):
    return scores.softmax(dim=0) @ values


@other
def look_up_by_logarithms(scores, values, tile):
    total, mean = None, None
    for s, v in zip(scores.split(tile), values.split(tile), strict=True):
        own, here = s.logsumexp(0), s.softmax(0) @ v
        if mean is None:
            total, mean = own, here
            continue
        both = torch.logaddexp(total, own)
        mean = mean * (total - both).exp() + here * (own - both).exp()
        total = both
    return mean


def draw_scores(draw: Draw) -> Case:
    keys = draw.size(3, 9)
    return case(
        "random scores",
        3 * draw.normal(keys),
        draw.normal(keys, 3),
        draw.size(1, 4),
    )


FAR = Draw(24)

EXERCISE = exercise_of(
    look_up_in_tiles,
    section="22_since_2017#attention-in-tiles",
    points=3,
    cases=[
        case(
            "two keys, one at a time, rising",
            torch.tensor([0.0, 1.0]),
            torch.tensor([[1.0], [2.0]]),
            1,
        ),
        case(
            "two keys, one at a time, falling",
            torch.tensor([1.0, 0.0]),
            torch.tensor([[1.0], [2.0]]),
            1,
        ),
        case(
            "three keys, a last tile of one",
            torch.tensor([0.0, 1.0, 2.0]),
            torch.tensor([[1.0], [2.0], [4.0]]),
            2,
        ),
        case(
            "all in one tile",
            torch.tensor([0.0, 1.0, 2.0]),
            torch.tensor([[1.0], [2.0], [4.0]]),
            5,
        ),
        case(
            "large scores",
            torch.tensor([100.0, 99.0, 101.0, 98.0]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [3.0, 0.0]]),
            2,
        ),
        case(
            "the first score far above the others",
            torch.tensor([200.0, 0.0, 1.0]),
            torch.tensor([[1.0], [2.0], [4.0]]),
            1,
        ),
        case(
            "scores far below zero",
            torch.tensor([-200.0, -201.0]),
            torch.tensor([[1.0], [2.0]]),
            1,
        ),
        case("many keys", 4 * FAR.normal(40), FAR.normal(40, 2), 7),
    ],
    draw=draw_scores,
)
