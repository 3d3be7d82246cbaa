"""A router of a mixture of experts, balanced by a bias."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def route_tokens(
    scores: Float[Tensor, "tokens experts"],
    bias: Float[Tensor, " experts"],
    k: int,
) -> Float[Tensor, "tokens experts"]:
    """Say how much each expert's answer counts for each token.

    Each token goes to the ``k`` experts whose score and bias add up to most.
    What an answer counts is the expert's score, divided by the sum of the
    scores of the token's ``k`` experts.

    Args:
        scores: of each expert for each token, between 0 and 1.
        bias: of each expert; it decides who is chosen, and nothing else.
        k: experts for a token, at least 1 and at most all.

    Returns:
        One row for each token: the weights of its ``k`` experts, which add
        up to 1, and zero for all others.
    """
    ### BEGIN SOLUTION
    chosen = (scores + bias).topk(k, dim=-1).indices
    kept = scores.gather(-1, chosen)
    shares = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(scores).scatter(-1, chosen, shares)
    ### END SOLUTION


@other
def routed_by_a_mask(scores, bias, k):
    order = (scores + bias).argsort(dim=-1, descending=True)
    rank = order.argsort(dim=-1)
    kept = scores.where(rank < k, torch.zeros(()))
    return kept / kept.sum(dim=-1, keepdim=True)


@other
def routed_token_by_token(scores, bias, k):
    rows = []
    for row in scores:
        best = sorted(range(len(row)), key=lambda i: -(row[i] + bias[i]))[:k]
        weights = torch.zeros_like(row)
        weights[best] = row[best] / row[best].sum()
        rows.append(weights)
    return torch.stack(rows)


def draw_scores(draw: Draw) -> Case:
    tokens, experts = draw.size(2, 4), draw.size(3, 6)
    return case(
        "random scores",
        draw.normal(tokens, experts).sigmoid(),
        0.3 * draw.normal(experts),
        draw.size(1, 3),
    )


MANY = Draw(25)

EXERCISE = exercise_of(
    route_tokens,
    section="22_since_2017#mixtures-of-experts",
    points=3,
    cases=[
        case(
            "one token, two of three experts, no bias",
            torch.tensor([[0.6, 0.2, 0.4]]),
            torch.zeros(3),
            2,
        ),
        case(
            "a bias that changes who is chosen",
            torch.tensor([[0.6, 0.2, 0.4]]),
            torch.tensor([0.0, 0.3, 0.0]),
            2,
        ),
        case(
            "a bias that does not",
            torch.tensor([[0.6, 0.2, 0.4], [0.8, 0.1, 0.4]]),
            torch.tensor([0.1, 0.0, 0.0]),
            2,
        ),
        case(
            "one expert for each token",
            torch.tensor([[0.6, 0.2, 0.4], [0.1, 0.2, 0.9]]),
            torch.tensor([0.0, 0.5, -0.1]),
            1,
        ),
        case(
            "three tokens, five experts",
            MANY.normal(3, 5).sigmoid(),
            0.2 * MANY.normal(5),
            3,
        ),
    ],
    draw=draw_scores,
)
