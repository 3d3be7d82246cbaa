"""Attention weights."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def attention_weights(
    query: Float[Tensor, "query d"], key: Float[Tensor, "key d"]
) -> Float[Tensor, "query key"]:
    """Compute how each query of one sentence shares out its attention.

    The score of a query and a key is their dot product, not divided by
    anything here; a softmax makes weights of the scores, which may be large.
    No batch, no heads.

    Args:
        query: a row for each position that asks.
        key: a row for each position that may be looked at; there may be
            more or fewer of these.

    Returns:
        A row for each query: its weights for the keys, which sum to one, in
        the dtype of what is given.
    """
    ### BEGIN SOLUTION
    scores = query @ key.T
    weights = scores.softmax(dim=-1)
    return weights
    ### END SOLUTION


@other
def weights_by_loop(query, key):
    rows = []
    for q in query:
        scores = torch.stack([(q * k).sum() for k in key])
        powers = (scores - scores.max()).exp()
        rows.append(powers / powers.sum())
    return torch.stack(rows)


@other
def weights_by_einsum(query, key):
    scores = torch.einsum("qd,kd->qk", query, key)
    powers = (scores - scores.amax(dim=1)[:, None]).exp()
    return torch.einsum("qk,q->qk", powers, 1 / powers.sum(dim=1))


@other
def weights_by_logarithm(query, key):
    scores = (query[:, None, :] * key[None, :, :]).sum(dim=2)
    return (scores - scores.logsumexp(dim=1, keepdim=True)).exp()


def draw_queries(draw: Draw) -> Case:
    d = draw.size(2, 6)
    query, key = draw.size(1, 6), draw.size(2, 7)
    return case("random rows", draw.normal(query, d), draw.normal(key, d))


EXERCISE = exercise_of(
    attention_weights,
    section="04_attention#all-queries-at-once",
    points=1,
    cases=[
        case(
            "one query, two keys",
            torch.tensor([[1.0, 2.0]]),
            torch.tensor([[1.0, 1.0], [0.0, 1.0]]),
        ),
        case(
            "two queries, one key",
            torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
            torch.tensor([[1.0, 1.0]]),
        ),
        case(
            "two queries, two keys",
            torch.tensor([[2.0, 0.0], [1.0, 1.0]]),
            torch.tensor([[1.0, 0.0], [-1.0, 1.0]]),
        ),
        case(
            "cats drink milk, as in the chapter",
            torch.tensor([[0.0, 2.0], [2.0, 2.0], [0.0, 0.0]]),
            torch.tensor([[1.1513, 0.0], [-0.5, 0.5], [0.0, 1.0986]]),
        ),
        case(
            "one query's scores are large",
            torch.tensor([[300.0, 0.0], [1.0, 2.0]]),
            torch.tensor([[4.0, 0.0], [3.0, 1.0]]),
        ),
        case(
            "more keys than queries",
            Draw(40).normal(2, 3),
            Draw(41).normal(5, 3),
        ),
        case("float64", Draw(42).normal(2, 2).double(), torch.eye(2).double()),
    ],
    draw=draw_queries,
)
