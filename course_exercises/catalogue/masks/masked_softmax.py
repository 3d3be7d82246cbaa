"""Masked softmax."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.score_functions.stable_softmax import (
    stable_softmax,
)
from course_exercises.engine.exercise import case, exercise_of, other


def masked_softmax(
    scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "..."]
) -> Float[Tensor, "*batch query key"]:
    """Weigh the keys that may be attended to, and no others.

    Args:
        scores: how well each key answers each query.
        mask: True = may be attended to; broadcast to the scores' shape.

    Returns:
        A softmax over the keys that the mask allows; the hidden ones have
        weight 0. A row that may attend nowhere is all zeros, and its
        gradient is not NaN either. All of it holds for scores of any size,
        and for float16 too; the weights have the dtype of the scores.
    """
    ### BEGIN SOLUTION
    somewhere = mask.any(dim=-1, keepdim=True)
    opened = mask | ~somewhere  # rows that are empty see all, for now
    return stable_softmax(scores.masked_fill(~opened, -torch.inf)) * somewhere
    ### END SOLUTION


@other
def softmax_by_where(scores, mask):
    mask = mask.expand_as(scores)
    empty = ~mask.any(dim=-1, keepdim=True)
    hidden = torch.where(mask | empty, scores, float("-inf"))
    weights = torch.softmax(hidden, dim=-1)
    return torch.where(empty, torch.zeros_like(weights), weights)


@other
def softmax_by_hand(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    largest = hidden.amax(dim=-1, keepdim=True).detach()
    largest = largest.clamp(min=torch.finfo(scores.dtype).min)
    terms = (hidden - largest).exp()
    total = terms.sum(dim=-1, keepdim=True)
    return terms / total.masked_fill(total == 0, 1.0)


@other
def softmax_mended(scores, mask):
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


@other
def softmax_of_finite_minimum(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def draw_scores(draw: Draw) -> Case:
    batch, heads = draw.size(1, 3), draw.size(1, 3)
    query, key = draw.size(2, 5), draw.size(2, 6)
    shape = draw.choice([(batch, 1, 1, key), (1, 1, query, key)])
    scores = 2 * draw.normal(batch, heads, query, key)
    return case("random scores", scores, draw.mask(*shape))


EXERCISE = exercise_of(
    masked_softmax,
    section="06_masks#why-minus-infinity-and-why-before-the-softmax",
    points=3,
    cases=[
        case(
            "one query, one of two keys hidden",
            torch.tensor([[1.0, 2.0]]),
            torch.tensor([[True, False]]),
        ),
        case(
            "a row that may attend nowhere",
            torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
            torch.tensor([[False, False], [True, True]]),
        ),
        case(
            "a hidden score that is far larger",
            torch.tensor([[200.0, 0.0, 1.0]]),
            torch.tensor([[False, True, True]]),
        ),
        case(
            "everything visible",
            torch.tensor([[0.0, 1.0], [3.0, 0.0], [1.0, 1.0]]),
            torch.tensor([[True, True]]),
        ),
        case(
            "large scores",
            torch.tensor([[200.0, 201.0, 0.0]]),
            torch.tensor([[True, True, False]]),
        ),
        case(
            "a row far below another",
            torch.tensor([[200.0, 201.0], [0.0, 1.0]]),
            torch.tensor([[True, True]]),
        ),
        case(
            "very low scores",
            torch.tensor([[-1e5, -1.1e5, 0.0]]),
            torch.tensor([[True, True, False]]),
        ),
        case(
            "float16",
            torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float16),
            torch.tensor([[True, True, False]]),
        ),
        case(
            "padding, the same for all heads and queries",
            Draw(10).normal(2, 2, 3, 4),
            torch.tensor([[True] * 4, [True, True, False, False]])[
                :, None, None
            ],
        ),
        case(
            "the future hidden",
            Draw(11).normal(1, 2, 4, 4),
            torch.ones(4, 4, dtype=torch.bool).tril()[None, None],
        ),
    ],
    draw=draw_scores,
)
