"""Position-wise feed-forward network."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.catalogue.feed_forward import (
    ONE_WORD,
    draw_part,
    random_part,
)
from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def feed_forward(
    x: Float[Tensor, "batch length d_model"],
    W_1: Float[Tensor, "d_model d_ff"],
    b_1: Float[Tensor, " d_ff"],
    W_2: Float[Tensor, "d_ff d_model"],
    b_2: Float[Tensor, " d_model"],
) -> Float[Tensor, "batch length d_model"]:
    """Send each word through two linear maps with a ReLU between.

    Args:
        x: the stream.
        W_1: makes a word's vector wider; one column for each unit.
        b_1: one number for each unit.
        W_2: makes it as narrow as it was; one row for each unit.
        b_2: one number for each number of the result.

    Returns:
        What the part answers; the stream is not yet added to it.
    """
    ### BEGIN SOLUTION
    sums = x @ W_1 + b_1
    units = sums.clamp(min=0)
    return units @ W_2 + b_2
    ### END SOLUTION


@other
def feed_forward_by_linear(x, W_1, b_1, W_2, b_2):
    return F.linear(F.relu(F.linear(x, W_1.T, b_1)), W_2.T, b_2)


@other
def feed_forward_word_by_word(x, W_1, b_1, W_2, b_2):
    words = x.reshape(-1, x.size(-1))
    answers = [torch.relu(word @ W_1 + b_1) @ W_2 + b_2 for word in words]
    return torch.stack(answers).view(x.shape)


@other
def feed_forward_as_memory(x, W_1, b_1, W_2, b_2):
    answer = b_2.expand_as(x)
    for key, bias, value in zip(W_1.T, b_1, W_2, strict=True):
        match = torch.einsum("bld,d->bl", x, key) + bias
        fires = torch.maximum(match, match.new_zeros(()))
        answer = answer + fires[..., None] * value
    return answer


EXERCISE = exercise_of(
    feed_forward,
    section="09_feed_forward#the-formula",
    points=1,
    cases=[
        case(*ONE_WORD),
        case(
            "a negative word, and a negative answer",
            torch.tensor([[[-1.0]]]),
            torch.tensor([[2.0, -3.0]]),
            torch.tensor([0.5, 1.0]),
            torch.tensor([[10.0], [-100.0]]),
            torch.tensor([-1.0]),
        ),
        case(
            "subject and verb disagree",
            torch.tensor([[[0.5, 0.5], [0.5, 0.0]]]),
            torch.tensor([[2.0, -2.0], [-2.0, 2.0]]),
            torch.tensor([-0.5, -0.5]),
            torch.tensor([[1.0, 0.0], [1.0, 0.0]]),
            torch.zeros(2),
        ),
        case("as wide inside as outside", *draw_part(Draw(1), 1, 1, 2, 2)),
        case("as many words as numbers", *draw_part(Draw(2), 1, 3, 3, 4)),
        case("two sentences", *draw_part(Draw(3), 2, 3, 2, 8)),
        case("float64", *(t.double() for t in draw_part(Draw(4), 1, 2, 3, 5))),
    ],
    draw=lambda draw: case("random numbers", *random_part(draw)),
)
