"""Scaled dot-product attention."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.masks.masked_softmax import masked_softmax
from course_exercises.catalogue.score_functions.stable_softmax import (
    stable_softmax,
)
from course_exercises.engine.exercise import case, exercise_of, other


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch query d_v"], Float[Tensor, "*batch query key"]
]:
    """Compute softmax(Q Kᵀ / √d_k) V, and say with which weights.

    Section 3.2.1 of the paper, equation 1. Scores may be large: no
    exponential overflows on the way. The softmax is
    ``stable_softmax(scores)``, or ``masked_softmax(scores, mask)`` where
    there is a mask. You write these two in chapters 05 and 06, and the
    course's stand in for them until then; another softmax that is right will
    do as well.

    Args:
        query: a row for each position that asks.
        key: a row for each position that may be looked at, as wide as a
            query.
        value: what is handed over from there; it may have another width.
            `*batch` stands for any number of axes in front, or none: a
            sentence, a batch of them, or heads besides.
        mask: True = may be looked at; broadcast to the shape of the weights.
            None means that all may be looked at. No query is without a key
            that may be.

    Returns:
        Two tensors, in the dtype of what is given: the output, a row for
        each query; then the weights, of which each row sums to one.
    """
    ### BEGIN SOLUTION
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is None:
        weights = stable_softmax(scores)
    else:
        weights = masked_softmax(scores, mask)
    return weights @ value, weights
    ### END SOLUTION


@other
def attention_by_einsum(query, key, value, mask=None):
    query = query / query.shape[-1] ** 0.5
    scores = torch.einsum("...qd,...kd->...qk", query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


@other
def attention_by_broadcasting(query, key, value, mask=None):
    pairs = query[..., :, None, :] * key[..., None, :, :]
    scores = pairs.sum(dim=-1) * key.size(-1) ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, -1e9)
    weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
    return (weights[..., None] * value[..., None, :, :]).sum(-2), weights


@other
def attention_by_two_roots(query, key, value, mask=None):
    root = query.size(-1) ** 0.25  # of the root: both are made smaller
    scores = torch.matmul(query / root, (key / root).mT)
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.sub(scores.amax(dim=-1, keepdim=True)).exp()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return torch.matmul(weights, value), weights


def shares(scores, mask, hidden=-torch.inf, dim=-1):
    """A softmax with the options that mistakes choose from."""
    if mask is not None:
        scores = scores.masked_fill(~mask, hidden)
    return scores.softmax(dim)


def draw_attention(draw: Draw) -> Case:
    batch = draw.choice([(), (2,), (3,), (2, 3)])
    query, key = draw.size(1, 5), draw.size(2, 6)
    d_k, d_v = draw.size(2, 6), draw.size(2, 6)
    mask = draw.mask(*batch, query, key)
    mask[..., 0] = True
    return case(
        "random rows",
        2 * draw.normal(*batch, query, d_k),
        draw.normal(*batch, key, d_k),
        draw.normal(*batch, key, d_v),
        draw.choice([None, mask]),
    )


EXERCISE = exercise_of(
    scaled_dot_product_attention,
    section="04_attention#all-queries-at-once",
    points=2,
    cases=[
        case(
            "one query, two keys",
            torch.tensor([[2.0, 0.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
            torch.tensor([[1.0], [3.0]]),
        ),
        case(
            "two queries, three keys",
            torch.tensor([[2.0, 1.0], [0.0, -2.0]]),
            torch.tensor([[1.0, 0.0], [-1.0, 1.0], [0.5, 2.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]),
        ),
        case(
            "wide values",
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
            torch.tensor([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 5.0, 0.0]]),
        ),
        case(
            "as many queries as keys as numbers",
            torch.tensor([[2.0, 1.0], [0.0, -1.0]]),
            torch.tensor([[1.0, 3.0], [-1.0, 0.0]]),
            torch.tensor([[1.0, 0.0], [4.0, 1.0]]),
        ),
        case(
            "a batch of two sentences",
            torch.tensor([[[1.0, 1.0]], [[2.0, 0.0]]]),
            torch.tensor([[[1.0, 2.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 3.0]]]),
            torch.tensor([[[1.0], [2.0]], [[3.0], [5.0]]]),
        ),
        case(
            "two sentences of two words of width 2",
            Draw(61).normal(2, 2, 2),
            Draw(62).normal(2, 2, 2),
            Draw(63).normal(2, 2, 2),
        ),
        case(
            "a batch of one sentence",
            Draw(46).normal(1, 2, 3),
            Draw(47).normal(1, 4, 3),
            Draw(48).normal(1, 4, 3),
        ),
        case(
            "one query's scores are large",
            torch.tensor([[300.0, 0.0], [1.0, 2.0]]),
            torch.tensor([[4.0, 0.0], [3.0, 1.0]]),
            torch.tensor([[1.0], [2.0]]),
        ),
        case(
            "one of two keys hidden",
            torch.tensor([[2.0, 0.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
            torch.tensor([[1.0], [3.0]]),
            torch.tensor([[True, False]]),
        ),
        case(
            "a large score hidden",
            torch.tensor([[100.0, 1.0]]),
            torch.tensor([[10.0, 0.0], [-300.0, 0.0], [-400.0, 0.0]]),
            torch.tensor([[1.0], [3.0], [4.0]]),
            torch.tensor([[False, True, True]]),
        ),
        case(
            "the future hidden, in two sentences",
            Draw(55).normal(2, 3, 2),
            Draw(56).normal(2, 3, 2),
            Draw(57).normal(2, 3, 3),
            torch.ones(3, 3, dtype=torch.bool).tril(),
        ),
        case(
            "padding, the same for all heads and queries",
            Draw(58).normal(2, 2, 3, 4),
            Draw(59).normal(2, 2, 3, 4),
            Draw(60).normal(2, 2, 3, 4),
            torch.tensor([[True] * 3, [True, False, False]])[:, None, None],
        ),
        case(
            "a batch, and heads",
            Draw(49).normal(2, 3, 4, 5),
            Draw(50).normal(2, 3, 5, 5),
            Draw(51).normal(2, 3, 5, 4),
        ),
        case(
            "float64",
            Draw(52).normal(2, 3).double(),
            Draw(53).normal(2, 3).double(),
            Draw(54).normal(2, 2).double(),
        ),
    ],
    draw=draw_attention,
)
