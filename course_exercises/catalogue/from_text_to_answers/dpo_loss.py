"""The loss of direct preference optimisation (DPO)."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


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


EDITS = """
# reference_left_out
- chosen - ref_chosen -> chosen
- rejected - ref_rejected -> rejected
You compare the answers, and not what each has gained.

A short answer is more probable than a long one from the start. The reference
takes that away: at the first step, every pair has the loss log 2.

# the_wrong_way_round
- gain_of_chosen - gain_of_rejected -> gain_of_rejected - gain_of_chosen
You make the rejected answers more probable.

The loss has to fall where the *chosen* answer gains more.

# beta_left_out
- beta * (gain_of_chosen - gain_of_rejected)
+ gain_of_chosen - gain_of_rejected
You leave out β.

It says how far the model may go from the reference: with a small one, a pair
has to be far apart before its loss is small.

# beta_outside
- beta * (gain_of_chosen - gain_of_rejected)
+ gain_of_chosen - gain_of_rejected
- return -F.logsigmoid -> return -beta * F.logsigmoid
β stands outside the sigmoid.

There it only scales the gradient, as a learning rate does. Inside, it says at
which difference a pair has been learned.

# only_the_chosen
- (gain_of_chosen - gain_of_rejected) -> gain_of_chosen
You leave out the rejected answers.

What is left makes all chosen answers likelier, as fine-tuning would; that one
is better than *another* goes unused.

# log_of_a_sigmoid
- F.logsigmoid(margin) -> torch.sigmoid(margin).log()
You take the logarithm of a sigmoid in two steps.

The sigmoid of a large negative number is rounded to 0, and its logarithm is
then minus infinity: one pair that is far off spoils the whole batch.

# sum_over_the_pairs
- .mean() -> .sum()
You add the losses of the pairs.

Then a step grows with the batch. The mean is asked for.

# sign_forgotten
- return -F -> return F
Your loss has the wrong sign.

Training makes a loss *small*; this one would drive the pairs apart in the
wrong direction.
"""


def draw_pairs(draw: Draw) -> Case:
    pairs = draw.size(2, 5)
    parts = [5 * draw.normal(pairs) - 10 for _ in range(4)]
    return case("random pairs", *parts, draw.choice([0.1, 0.5]))


EXERCISE = exercise_of(
    dpo_loss,
    section="23_from_text_to_answers#better-than-the-other-one-dpo",
    points=2,
    hints=(
        "What has each answer gained, measured from the reference? The loss "
        "depends on the difference of two gains alone.",
        "`F.logsigmoid` is finite where the logarithm of `torch.sigmoid` is "
        "not. β multiplies the difference before it.",
    ),
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
