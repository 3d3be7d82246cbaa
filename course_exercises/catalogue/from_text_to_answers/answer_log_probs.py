"""How probable a model finds the tokens of answers."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def answer_log_probs(
    logits: Float[Tensor, "rows length vocab"],
    targets: Int[Tensor, "rows length"],
    pad_id: int,
) -> Float[Tensor, "rows length"]:
    """Log-probability of each token of an answer.

    Their sum over a row is what DPO compares; minus their sum over all rows
    is the loss of fine-tuning; and GRPO takes them one by one.

    Args:
        logits: the model's, at each column that it reads. They may be large.
        targets: the token that comes next at each column, as
            ``answer_targets`` makes them.
        pad_id: what stands in ``targets`` where a token does not count.

    Returns:
        The natural logarithm of the probability of each target; 0 where it
        does not count.
    """
    ### BEGIN SOLUTION
    log_probs = logits.log_softmax(dim=-1)
    found = log_probs.gather(-1, targets[..., None]).squeeze(-1)
    return found.masked_fill(targets == pad_id, 0.0)
    ### END SOLUTION


@other
def by_cross_entropy(logits, targets, pad_id):
    return -F.cross_entropy(
        logits.mT, targets, ignore_index=pad_id, reduction="none"
    )


@other
def by_logsumexp(logits, targets, pad_id):
    own = torch.take_along_dim(logits, targets.unsqueeze(-1), dim=-1)[..., 0]
    return (own - logits.logsumexp(dim=-1)) * (targets != pad_id)


@other
def by_one_hot(logits, targets, pad_id):
    chosen = F.one_hot(targets, logits.size(-1)).to(logits.dtype)
    chosen = chosen * (targets != pad_id)[..., None]
    return (F.log_softmax(logits, -1) * chosen).sum(dim=-1)


def draw_answers(draw: Draw) -> Case:
    rows, length, vocab = draw.size(2, 3), draw.size(3, 5), draw.size(6, 8)
    pad_id = draw.choice([0, vocab - 1])
    targets = draw.ids(rows, length, pad_id, vocab)
    targets[0, 0] = pad_id  # of a prompt
    logits = 3 * draw.normal(rows, length, vocab)
    return case("random answers", logits, targets, pad_id)


EXERCISE = exercise_of(
    answer_log_probs,
    section="23_from_text_to_answers#the-loss-on-answers-alone",
    points=2,
    cases=[
        case(
            "one token, three pieces",
            torch.tensor([[[0.0, 1.0, 3.0]]]),
            torch.tensor([[2]]),
            0,
        ),
        case(
            "two tokens after a prompt",
            torch.tensor([[[0.0, 1, 3], [2, 0, 1], [0, 5, 0]]]),
            torch.tensor([[0, 2, 1]]),
            0,
        ),
        case(
            "a short answer, with padding",
            Draw(1).normal(2, 3, 5),
            torch.tensor([[0, 2, 4], [3, 0, 0]]),
            0,
        ),
        case(
            "padding with another number",
            Draw(2).normal(2, 3, 5),
            torch.tensor([[4, 2, 0], [0, 3, 4]]),
            4,
        ),
        case(
            "a probability that underflows",
            torch.tensor([[[0.0, 200.0, -10.0]]]),
            torch.tensor([[2]]),
            0,
        ),
    ],
    draw=draw_answers,
)
