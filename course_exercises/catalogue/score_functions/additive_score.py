"""Additive attention scores."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def additive_score(
    query: Float[Tensor, "batch query d_query"],
    key: Float[Tensor, "batch key d_key"],
    U_q: Float[Tensor, "d_query d_hidden"],
    U_k: Float[Tensor, "d_key d_hidden"],
    v: Float[Tensor, " d_hidden"],
) -> Float[Tensor, "batch query key"]:
    """Score every query with every key: v · tanh(q U_q + k U_k).

    Bahdanau et al. 2015, appendix A.1.2.

    Args:
        query: a row for each position that asks.
        key: a row for each position that may be looked at; there may be
            more or fewer of these, and of another width.
        U_q: projects the queries.
        U_k: projects the keys.
        v: reads a number off the hidden units.

    Returns:
        The scores, a row for each query: not divided by anything, and
        without a softmax.
    """
    ### BEGIN SOLUTION
    asking = (query @ U_q)[:, :, None, :]
    asked = (key @ U_k)[:, None, :, :]
    hidden = (asking + asked).tanh()  # (batch, query, key, d_hidden)
    scores = hidden @ v
    return scores
    ### END SOLUTION


@other
def additive_by_loop(query, key, U_q, U_k, v):
    rows = []
    for place in range(query.size(1)):
        one = query[:, place : place + 1] @ U_q  # (batch, 1, d_hidden)
        rows.append(((one + key @ U_k).tanh() * v).sum(dim=-1))
    return torch.stack(rows, dim=1)


@other
def additive_by_concatenation(query, key, U_q, U_k, v):
    n, m = query.size(1), key.size(1)
    queries = query.unsqueeze(2).expand(-1, -1, m, -1)
    keys = key.unsqueeze(1).expand(-1, n, -1, -1)
    pairs = torch.cat([queries, keys], dim=-1)
    return torch.tanh(pairs @ torch.cat([U_q, U_k])) @ v


@other
def additive_by_einsum(query, key, U_q, U_k, v):
    asking = torch.einsum("bnd,dh->bnh", query, U_q)
    asked = torch.einsum("bmd,dh->bmh", key, U_k)
    asking = asking.repeat_interleave(key.size(1), dim=1)
    asked = asked.repeat(1, query.size(1), 1)
    scores = torch.einsum("bph,h->bp", torch.tanh(asking + asked), v)
    return scores.view(query.size(0), query.size(1), key.size(1))


def draw_additive(draw: Draw) -> Case:
    batch, query, key = draw.size(1, 3), draw.size(1, 4), draw.size(2, 5)
    d_query, d_hidden = draw.size(1, 4), draw.size(2, 5)
    d_key = draw.choice([d_query, d_query + 1])
    return case(
        "random rows and matrices",
        draw.normal(batch, query, d_query),
        draw.normal(batch, key, d_key),
        draw.normal(d_query, d_hidden),
        draw.normal(d_key, d_hidden),
        draw.normal(d_hidden),
    )


EXERCISE = exercise_of(
    additive_score,
    section="05_score_functions#three-scores-by-hand",
    points=2,
    cases=[
        case(
            "one query, one key, all of width 1",
            torch.tensor([[[1.0]]]),
            torch.tensor([[[2.0]]]),
            torch.tensor([[0.5]]),
            torch.tensor([[-1.0]]),
            torch.tensor([2.0]),
        ),
        case(
            "one query, two keys",
            torch.tensor([[[1.0]]]),
            torch.tensor([[[1.0], [-2.0]]]),
            torch.tensor([[1.0, 0.5]]),
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([1.0, 3.0]),
        ),
        case(
            "two queries, two keys",
            torch.tensor([[[1.0], [-1.0]]]),
            torch.tensor([[[0.0], [2.0]]]),
            torch.tensor([[1.0, 0.5]]),
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([1.0, 3.0]),
        ),
        case(
            "cats, drink, milk, as in the chapter",
            torch.tensor([[[2.0, 2.0]]]),
            torch.tensor([[[1.1513, 0.0], [-0.5, 0.5], [0.0, 1.0986]]]),
            0.5 * torch.eye(2),
            torch.eye(2),
            torch.tensor([3.0, 3.0]),
        ),
        case(
            "keys wider than queries",
            Draw(20).normal(1, 2, 2),
            Draw(21).normal(1, 3, 3),
            Draw(22).normal(2, 2),
            Draw(23).normal(3, 2),
            Draw(24).normal(2),
        ),
        case(
            "a batch of two, as many queries as keys",
            Draw(25).normal(2, 3, 2),
            Draw(26).normal(2, 3, 2),
            Draw(27).normal(2, 4),
            Draw(28).normal(2, 4),
            Draw(29).normal(4),
        ),
        case(
            "float64",
            Draw(30).normal(1, 2, 2).double(),
            Draw(31).normal(1, 2, 2).double(),
            Draw(32).normal(2, 2).double(),
            Draw(33).normal(2, 2).double(),
            Draw(34).normal(2).double(),
        ),
    ],
    draw=draw_additive,
)
