"""Scaled dot-product attention."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
) -> tuple[
    Float[Tensor, "*batch query d_v"], Float[Tensor, "*batch query key"]
]:
    """Compute softmax(Q Kᵀ / √d_k) V, and say with which weights.

    Section 3.2.1 of the paper, equation 1; without a mask. Scores may be
    large: no exponential overflows on the way.

    Args:
        query: a row for each position that asks.
        key: a row for each position that may be looked at, as wide as a
            query.
        value: what is handed over from there; it may have another width.
            `*batch` stands for any number of axes in front, or none: a
            sentence, a batch of them, or heads besides.

    Returns:
        Two tensors, in the dtype of what is given: the output, a row for
        each query; then the weights, of which each row sums to one.
    """
    ### BEGIN SOLUTION
    scale = math.sqrt(query.size(-1))
    scores = query @ key.transpose(-2, -1) / scale
    weights = scores.softmax(dim=-1)
    output = weights @ value
    return output, weights
    ### END SOLUTION


@other
def attention_by_einsum(query, key, value):
    query = query / query.shape[-1] ** 0.5
    scores = torch.einsum("...qd,...kd->...qk", query, key)
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


@other
def attention_by_broadcasting(query, key, value):
    pairs = query[..., :, None, :] * key[..., None, :, :]
    scores = pairs.sum(dim=-1) * key.size(-1) ** -0.5
    weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
    return (weights[..., None] * value[..., None, :, :]).sum(-2), weights


@other
def attention_by_two_roots(query, key, value):
    root = query.size(-1) ** 0.25  # of the root: both are made smaller
    scores = torch.matmul(query / root, (key / root).mT)
    weights = scores.sub(scores.amax(dim=-1, keepdim=True)).exp()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return torch.matmul(weights, value), weights


def draw_attention(draw: Draw) -> Case:
    batch = draw.choice([(), (2,), (3,), (2, 3)])
    query, key = draw.size(1, 5), draw.size(2, 6)
    d_k, d_v = draw.size(2, 6), draw.size(2, 6)
    return case(
        "random rows",
        2 * draw.normal(*batch, query, d_k),
        draw.normal(*batch, key, d_k),
        draw.normal(*batch, key, d_v),
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
