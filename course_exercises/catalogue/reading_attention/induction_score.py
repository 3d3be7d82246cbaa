"""Induction score of a head."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
)

from . import CIRCUIT


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


EDITS = """
# score_on_the_same_token
- asks + 1 -> asks
Your score asks for weight on the first occurrence itself.

That is the token that has just been read. What comes next is the token *after*
it, one position on.

# score_of_the_previous_token
- asks + 1 -> asks + weights.size(1) - 1
Your score is that of a previous-token head.

The query is at position n + i, and the position before it is n + i - 1. An
induction head looks back much farther, into the first half.

# score_on_itself
- asks + 1 -> asks + weights.size(1)
Your score asks for the weight that each token gives to itself.

The query is at position n + i. The same token was at position i before, and
what comes next follows it there.

# score_summed
- mean -> sum
Your score is a sum over queries.

It grows with the length of the row. The exercise asks for the mean.

# score_over_heads
- mean(dim=1) -> mean(dim=0)
Your mean goes over the heads.

Each head has a score of its own: take the mean over queries.
"""


@mistake
def score_over_all_positions(weights):
    """You divide by all positions of the row.

    In the first half nothing has been repeated yet. The mean is over the n
    queries of the second half.
    """
    asks = torch.arange(weights.size(1))
    return weights[:, asks, asks + 1].sum(dim=1) / weights.size(2)


@mistake
def score_without_the_first(weights):
    """You leave out the first query of the second half.

    There, too, the token has been seen before, and its successor is known.
    """
    asks = torch.arange(1, weights.size(1))
    return weights[:, asks, asks + 1].mean(dim=1)


@mistake
def score_of_the_largest(weights):
    """Your score is the share of queries whose *largest* weight is there.

    The exercise asks for the weight itself: a head that gives it 0.4 looks
    there more than one that gives it 0.2, whatever is largest.
    """
    asks = torch.arange(weights.size(1))
    return (weights.argmax(dim=-1) == asks + 1).float().mean(dim=1)


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
    section=CIRCUIT,
    points=2,
    hints=(
        "Write down *a b c a b c* with its positions from 0. The second *a* "
        "is at 3. What comes next, and at which position was it before?",
        "The position looked at is behind the one that asks, always by the "
        "same number. Index the weights with two rows of positions.",
    ),
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
