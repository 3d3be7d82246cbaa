"""The feed-forward network as two convolutions of width one."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.feed_forward import (
    ONE_WORD,
    draw_part,
    random_part,
)
from course_exercises.engine.exercise import case, exercise_of, other


def feed_forward_by_convolution(
    x: Float[Tensor, "batch length d_model"],
    kernel_1: Float[Tensor, "d_ff d_model 1"],
    b_1: Float[Tensor, " d_ff"],
    kernel_2: Float[Tensor, "d_model d_ff 1"],
    b_2: Float[Tensor, " d_model"],
) -> Float[Tensor, "batch length d_model"]:
    """Compute the feed-forward part as two convolutions of width one.

    The numbers are those of ``FeedForward``, the exercise before, with its
    two linear maps, biases and ReLU; the weights are only kept in another
    shape.

    ``F.conv1d(x, kernel, bias)`` wants ``x`` as (batch, channels, length),
    and a kernel of (channels out, channels in, width).

    Args:
        x: the stream, with a word's numbers on the *last* axis.
        kernel_1: widens; its weights as ``nn.Conv1d`` keeps them.
        b_1: one number for each unit.
        kernel_2: narrows.
        b_2: one number for each number of the result.

    Returns:
        What the part answers, with the axes of ``x``.
    """
    ### BEGIN SOLUTION
    channels = x.transpose(1, 2)  # (batch, d_model, length)
    units = F.conv1d(channels, kernel_1, b_1).relu()
    answers = F.conv1d(units, kernel_2, b_2)
    return answers.transpose(1, 2)
    ### END SOLUTION


@other
def convolved_as_linear(x, kernel_1, b_1, kernel_2, b_2):
    units = F.linear(x, kernel_1[..., 0], b_1).relu()
    return F.linear(units, kernel_2[..., 0], b_2)


@other
def convolved_by_einsum(x, kernel_1, b_1, kernel_2, b_2):
    units = torch.einsum("bld,fdw->blf", x, kernel_1) + b_1
    return torch.einsum("blf,dfw->bld", units.clamp(min=0), kernel_2) + b_2


@other
def convolved_word_by_word(x, kernel_1, b_1, kernel_2, b_2):
    words = x.reshape(-1, x.size(-1), 1)  # each a sentence of one word
    units = torch.relu(torch.conv1d(words, kernel_1, b_1))
    return torch.conv1d(units, kernel_2, b_2).reshape(x.shape)


def as_convolution(
    note: str, x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor
) -> Case:
    """The same weights in the shapes of ``nn.Conv1d``."""
    return case(note, x, W_1.T[..., None], b_1, W_2.T[..., None], b_2)


def drawn(note: str, seed: int, *sizes: int) -> Case:
    return as_convolution(note, *draw_part(Draw(seed), *sizes))


EXERCISE = exercise_of(
    feed_forward_by_convolution,
    section="09_feed_forward#a-convolution-of-width-one",
    points=2,
    cases=[
        as_convolution(*ONE_WORD),
        as_convolution(
            "as many words as numbers",
            torch.tensor([[[1.0, 0.0], [0.0, 2.0]]]),
            torch.tensor([[1.0, 0.0], [1.0, 1.0]]),
            torch.tensor([0.5, -0.5]),
            torch.tensor([[1.0, 0.0], [0.0, 10.0]]),
            torch.tensor([-2.0, 0.0]),
        ),
        drawn("a single word", 5, 1, 1, 2, 4),
        drawn("two words of width 1", 6, 1, 2, 1, 4),
        drawn("five words", 7, 1, 5, 2, 3),
        drawn("as many sentences as numbers", 8, 2, 3, 2, 4),
        as_convolution(
            "float64", *(t.double() for t in draw_part(Draw(9), 2, 2, 3, 5))
        ),
    ],
    draw=lambda draw: as_convolution("random numbers", *random_part(draw)),
)
