"""SwiGLU feed-forward network."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def gated_feed_forward(
    x: Float[Tensor, "batch length d_model"],
    W: Float[Tensor, "d_model d_ff"],
    U: Float[Tensor, "d_model d_ff"],
    V: Float[Tensor, "d_ff d_model"],
) -> Float[Tensor, "batch length d_model"]:
    """Send each word through a feed-forward part with a gate, SwiGLU.

    SiLU(z) is z times its sigmoid. There are no biases.

    Args:
        x: the stream.
        W: makes the gate, which the SiLU is applied to; one column for each
            unit.
        U: makes what the gate is multiplied with, unit by unit.
        V: makes the product as narrow as the stream; one row for each unit.

    Returns:
        What the part answers; the stream is not yet added to it.
    """
    ### BEGIN SOLUTION
    sums = x @ W
    gate = sums * sums.sigmoid()
    units = gate * (x @ U)
    return units @ V
    ### END SOLUTION


@other
def gated_by_linear(x, W, U, V):
    return F.linear(F.silu(F.linear(x, W.T)) * F.linear(x, U.T), V.T)


@other
def gated_unit_by_unit(x, W, U, V):
    answer = torch.zeros_like(x)
    for w, u, v in zip(W.T, U.T, V, strict=True):
        unit = F.silu((x * w).sum(-1)) * (x * u).sum(-1)
        answer = answer + unit[..., None] * v
    return answer


def draw_part(draw: Draw) -> Case:
    width, inside = draw.size(2, 4), draw.size(5, 8)
    return case(
        "random weights",
        draw.normal(draw.size(1, 3), draw.size(2, 4), width),
        draw.normal(width, inside),
        draw.normal(width, inside),
        draw.normal(inside, width),
    )


SHARP = Draw(22)

EXERCISE = exercise_of(
    gated_feed_forward,
    section="22_since_2017#a-model-of-today",
    points=2,
    cases=[
        case(
            "one word, two units",
            torch.tensor([[[1.0]]]),
            torch.tensor([[2.0, -3.0]]),
            torch.tensor([[0.5, 1.0]]),
            torch.tensor([[10.0], [100.0]]),
        ),
        case(
            "a gate of zero",
            torch.tensor([[[1.0, -1.0]]]),
            torch.tensor([[1.0, 2.0], [1.0, 3.0]]),
            torch.tensor([[1.0, 1.0], [0.0, 1.0]]),
            torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        ),
        case(
            "two words",
            torch.tensor([[[1.0, 0.5], [-2.0, 1.0]]]),
            torch.tensor([[1.0, -1.0, 0.5], [2.0, 0.0, 1.0]]),
            torch.tensor([[0.5, 1.0, -1.0], [1.0, 1.0, 2.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        ),
        case(
            "large numbers",
            10 * SHARP.normal(2, 3, 4),
            SHARP.normal(4, 6),
            SHARP.normal(4, 6),
            SHARP.normal(6, 4),
        ),
    ],
    draw=draw_part,
    tolerance=1e-4,
)
