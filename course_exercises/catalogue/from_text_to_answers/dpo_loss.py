"""The loss of direct preference optimisation (DPO)."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def dpo_loss(
    chosen: Float[Tensor, " pairs"],
    rejected: Float[Tensor, " pairs"],
    ref_chosen: Float[Tensor, " pairs"],
    ref_rejected: Float[Tensor, " pairs"],
    beta: float,
) -> Float[Tensor, ""]:
    """DPO's loss of pairs of answers.

    Each argument but the last holds log-probabilities of whole answers: sums
    over their tokens, in nats.

    Args:
        chosen: of the better answers, under the model that is trained.
        rejected: of the others, under that model.
        ref_chosen: of the better answers, under the reference.
        ref_rejected: of the others, under the reference.
        beta: β, what a nat of gain counts.

    Returns:
        Minus the log of the sigmoid of β times the difference of the gains,
        the mean over the pairs. It is finite for gains of any size.
    """
    ### BEGIN SOLUTION
    gain_of_chosen = chosen - ref_chosen
    gain_of_rejected = rejected - ref_rejected
    margin = beta * (gain_of_chosen - gain_of_rejected)
    return -F.logsigmoid(margin).mean()
    ### END SOLUTION


@other
def dpo_by_softplus(chosen, rejected, ref_chosen, ref_rejected, beta):
    wanted = (chosen - rejected) - (ref_chosen - ref_rejected)
    return F.softplus(-beta * wanted).mean()


@other
def dpo_by_cross_entropy(chosen, rejected, ref_chosen, ref_rejected, beta):
    gains = torch.stack([chosen - ref_chosen, rejected - ref_rejected], dim=1)
    right = torch.zeros(len(gains), dtype=torch.long)
    return F.cross_entropy(beta * gains, right)


def draw_pairs(draw: Draw) -> Case:
    pairs = draw.size(2, 5)
    parts = [5 * draw.normal(pairs) - 10 for _ in range(4)]
    return case("random pairs", *parts, draw.choice([0.1, 0.5]))


EXERCISE = exercise_of(
    dpo_loss,
    section="23_from_text_to_answers#better-than-the-other-one-dpo",
    points=2,
    cases=[
        case(
            "the first step: nothing gained",
            torch.tensor([-6.0]),
            torch.tensor([-4.0]),
            torch.tensor([-6.0]),
            torch.tensor([-4.0]),
            0.1,
        ),
        case(
            "one pair",
            torch.tensor([-5.0]),
            torch.tensor([-6.0]),
            torch.tensor([-6.0]),
            torch.tensor([-4.0]),
            0.1,
        ),
        case(
            "two pairs, one of them still wrong",
            torch.tensor([-5.0, -9.0]),
            torch.tensor([-6.0, -2.0]),
            torch.tensor([-6.0, -7.0]),
            torch.tensor([-4.0, -3.0]),
            0.5,
        ),
        case(
            "gains that are far apart",
            torch.tensor([-900.0]),
            torch.tensor([-1.0]),
            torch.tensor([-2.0]),
            torch.tensor([-800.0]),
            1.0,
        ),
    ],
    draw=draw_pairs,
)
