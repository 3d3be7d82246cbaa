"""A router of a mixture of experts, balanced by a bias."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


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


EDITS = """
# bias_counts_in_the_weights
- scores.gather(-1, chosen) -> (scores + bias).gather(-1, chosen)
You weigh the answers by score and bias together.

The bias is moved to even the load, whatever the task needs. If it entered the
weights, each of its steps would change what the model computes.

# bias_left_out
- (scores + bias).topk -> scores.topk
You choose by the scores alone: the bias does nothing.

Then an expert that many tokens like gets ever more of them.

# bias_subtracted
- (scores + bias).topk -> (scores - bias).topk
You take the bias away from the scores.

A positive bias is to make an expert more likely to be chosen, and not less.

# never_divided
- kept / kept.sum(dim=-1, keepdim=True) -> kept
You do not divide by the sum of the chosen scores.

Scores come from a sigmoid, one by one. Without the division the size of the
answer depends on how sure the router is of all of its experts.

# divided_by_all_scores
- kept.sum(dim=-1, keepdim=True) -> scores.sum(dim=-1, keepdim=True)
You divide by the sum of all scores, also of those that were not chosen.

Then the weights of the chosen experts add up to less than 1.

# softmax_of_the_chosen
- kept / kept.sum(dim=-1, keepdim=True) -> kept.softmax(dim=-1)
You take a softmax of the chosen scores.

It makes shares, too, but others: gpt-oss routes like that. Here the scores are
between 0 and 1 already, and are divided by their sum.

# all_count_alike
- kept / kept.sum(dim=-1, keepdim=True) -> torch.ones_like(kept) / k
All chosen experts count alike in your weights.

Then no gradient tells the router which of them should count more.

# one_expert_only
- .topk(k, dim=-1) -> .topk(1, dim=-1)
You send each token to its best expert alone.

That is the Switch Transformer's way. Here a token has `k` experts.

# nobody_left_out
- chosen = (scores + bias).topk(k, dim=-1).indices
+ chosen = (scores + bias).topk(scores.size(-1), dim=-1).indices
All experts answer each token in your weights.

Then a mixture has all the work of its weights, which it is to avoid.

# tokens_chosen_for_experts
- (scores + bias).topk(k, dim=-1).indices
+ (scores + bias).topk(min(k, len(scores)), dim=0).indices
- kept = scores.gather(-1, chosen)
+ kept = scores.gather(0, chosen)
- kept.sum(dim=-1, keepdim=True) -> kept.sum(dim=0, keepdim=True)
- .scatter(-1, chosen, shares) -> .scatter(0, chosen, shares)
You let each expert choose tokens.

There is a kind of mixture that does that. But then some tokens get no expert,
and a token's experts depend on the tokens beside it, later ones included.
"""


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
    hints=(
        "Two questions with two answers: who is chosen, and how much the "
        "answers count. Which of the two does the bias belong to?",
        "`topk` of the sums gives the places of the chosen, `gather` fetches "
        "their scores, and `scatter` puts the shares back into a row of "
        "zeros.",
    ),
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
