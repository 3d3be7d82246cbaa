"""Induction score of a head."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def induction_score(
    weights: Float[Tensor, "heads n two_n"],
) -> Float[Tensor, " heads"]:
    """Score heads on a row of tokens that comes twice.

    Args:
        weights: attention on a row of 2 n tokens, the second n of which
            repeat the first. Only the queries of the second half are given:
            entry [h, i, k] is the weight that the i-th of them, at position
            n + i, gives to position k. Rows sum to one, n is 2 or more.

    Returns:
        For each head the mean, over these n queries, of the weight that each
        gives to the position just after the first occurrence of its own token.
    """
    ### BEGIN SOLUTION
    asks = torch.arange(weights.size(1))
    behind = asks + 1
    return weights[:, asks, behind].mean(dim=1)
    ### END SOLUTION


@other
def score_by_loop(weights):
    n = weights.size(1)
    total = torch.zeros(weights.size(0))
    for i in range(n):
        total = total + weights[:, i, i + 1]
    return total / n


@other
def score_by_diagonal(weights):
    return weights.diagonal(1, dim1=1, dim2=2).mean(dim=-1)


def causal(*heads: list) -> Tensor:
    """Causal weights of the second half, head by head."""
    return torch.tensor(heads)


def draw_weights(draw: Draw) -> Case:
    """Random causal weights."""
    n = draw.size(2, 4)
    scores = 2 * draw.normal(draw.size(1, 3), n, 2 * n)
    hidden = torch.ones(n, 2 * n).triu(n + 1).bool()
    weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)
    return case("random weights", weights)


EXERCISE = exercise_of(
    induction_score,
    section="20_reading_attention#a-circuit-of-two-heads",
    points=2,
    cases=[
        case(
            "two tokens; in part, more at the end",
            causal([[0.6, 0.3, 0.1, 0.0], [0.2, 0.1, 0.6, 0.1]]),
        ),
        case(
            "it looks where it should",
            causal([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]),
        ),
        case(
            "it looks at the same token",
            causal([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]),
        ),
        case(
            "two heads",
            causal(
                [[0.5, 0.25, 0.25, 0.0], [0.1, 0.2, 0.3, 0.4]],
                [[0.1, 0.8, 0.1, 0.0], [0.1, 0.1, 0.7, 0.1]],
            ),
        ),
        case(
            "three tokens",
            causal(
                [
                    [0.1, 0.5, 0.1, 0.3, 0.0, 0.0],
                    [0.0, 0.1, 0.4, 0.2, 0.3, 0.0],
                    [0.1, 0.0, 0.1, 0.6, 0.1, 0.1],
                ]
            ),
        ),
    ],
    draw=draw_weights,
)
