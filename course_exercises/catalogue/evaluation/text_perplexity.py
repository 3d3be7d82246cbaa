"""Perplexity of a text."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def text_perplexity(
    log_probs: Float[Tensor, "batch target"],
    tgt_out: Int[Tensor, "batch target"],
    pad_id: int = 0,
) -> Float[Tensor, ""]:
    """The perplexity of a text, per token.

    Args:
        log_probs: the natural logarithm of the probability that the model gave
            to the right token, at each position; at padding it may be any
            number, and minus infinity.
        tgt_out: the right tokens; ``pad_id`` fills up. One at least is real.
        pad_id: the token that counts nowhere. All others are real, eos too.

    Returns:
        The number of equally likely tokens that would leave one as unsure,
        over all real tokens of the text, each of which counts alike: a tensor
        without axes, of the dtype of `log_probs`.
    """
    ### BEGIN SOLUTION
    real = tgt_out != pad_id
    nats = -log_probs[real]
    return nats.mean().exp()
    ### END SOLUTION


@other
def perplexity_by_sums(log_probs, tgt_out, pad_id=0):
    real = (tgt_out != pad_id).to(log_probs.dtype)
    nats = -torch.where(real > 0, log_probs, 0).sum()
    return torch.exp(nats / real.sum())


@other
def perplexity_in_bits(log_probs, tgt_out, pad_id=0):
    bits = -log_probs.masked_select(tgt_out != pad_id) / math.log(2)
    return 2 ** bits.mean()


@other
def perplexity_by_loop(log_probs, tgt_out, pad_id=0):
    nats, tokens = 0.0, 0
    for row, ids in zip(log_probs, tgt_out.tolist(), strict=True):
        for log_p, token in zip(row, ids, strict=True):
            if token != pad_id:
                nats = nats - log_p
                tokens += 1
    return (nats / tokens).exp()


def logs(*rows: list[float]) -> Tensor:
    """Log probabilities, given as probabilities."""
    return torch.tensor(rows).log()


def draw_surprise(draw: Draw) -> Case:
    pad_id = draw.choice([0, 0, 3])
    ids = draw.ids(draw.size(1, 4), draw.size(1, 6), pad_id)
    return case("random tokens", -draw.normal(*ids.shape).abs(), ids, pad_id)


EXERCISE = exercise_of(
    text_perplexity,
    section="14_evaluation#perplexity-how-unsure-was-the-model",
    points=1,
    cases=[
        case("a die", logs([1 / 6]), torch.tensor([[4]])),
        case(
            "an unsure token and a sure one",
            logs([1 / 4, 1.0]),
            torch.tensor([[4, 2]]),
        ),
        case(
            "a token and padding", logs([1 / 8, 0.9]), torch.tensor([[2, 0]])
        ),
        case(
            "minus infinity at padding",
            logs([1 / 4, 1 / 2, 0.0]),
            torch.tensor([[5, 2, 0]]),
        ),
        case(
            "padding that is not 0",
            logs([1 / 2, 1 / 8, 1.0]),
            torch.tensor([[0, 5, 1]]),
            1,
        ),
        case(
            "two sentences of different lengths",
            logs([1 / 2, 1 / 4, 1 / 2], [1 / 8, 0.9, 0.9]),
            torch.tensor([[5, 6, 2], [2, 0, 0]]),
        ),
        case(
            "a token that was all but impossible",
            torch.tensor([[-120.0, -0.5, -1.0, -0.5]]),
            torch.tensor([[7, 5, 9, 2]]),
        ),
        case(
            "float64",
            -Draw(3).normal(2, 4).double().abs(),
            torch.tensor([[7, 8, 9, 2], [4, 2, 0, 0]]),
        ),
    ],
    draw=draw_surprise,
)
