"""Numerically stable softmax."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def stable_softmax(
    scores: Float[Tensor, "..."], dim: int = -1
) -> Float[Tensor, "..."]:
    """Turn scores of any size into weights that sum to 1 along an axis.

    Args:
        scores: any finite numbers, or minus infinity for what may get
            nothing; somewhere along the axis there is a finite one.
        dim: the axis along which the shares sum to one.

    Returns:
        The softmax, of the scores' shape and dtype. No exponential overflows
        on the way, in no dtype, float16 included.
    """
    ### BEGIN SOLUTION
    largest = scores.amax(dim=dim, keepdim=True)
    powers = (scores - largest).exp()
    return powers / powers.sum(dim=dim, keepdim=True)
    ### END SOLUTION


@other
def softmax_of_torch(scores, dim=-1):
    return torch.softmax(scores, dim)


@other
def softmax_on_the_last_axis(scores, dim=-1):
    rows = scores.transpose(dim, -1)
    largest = rows.detach().max(dim=-1).values.unsqueeze(-1)
    powers = torch.exp(rows - largest)
    return (powers / powers.sum(-1, keepdim=True)).transpose(dim, -1)


@other
def softmax_slice_by_slice(scores, dim=-1):
    parts = scores.unbind(dim)
    largest = parts[0]
    for part in parts[1:]:
        largest = torch.maximum(largest, part)
    powers = [(part - largest).exp() for part in parts]
    return torch.stack([power / sum(powers) for power in powers], dim)


def draw_scores(draw: Draw) -> Case:
    rows, columns = draw.size(2, 4), draw.size(2, 4)
    shape = draw.choice([(rows, columns), (draw.size(1, 3), rows, columns)])
    scale = draw.choice([1.0, 1.0, 1.0, 500.0])
    dim = draw.choice([-1, 0, 1, -2])
    return case("random scores", scale * draw.normal(*shape), dim)


EXERCISE = exercise_of(
    stable_softmax,
    section="05_score_functions#a-softmax-that-cannot-overflow",
    points=2,
    cases=[
        case("two scores", torch.tensor([0.0, 1.0])),
        case("a large score", torch.tensor([1000.0, 0.0])),
        case("scores far below zero", torch.tensor([-1000.0, -1001.0])),
        case("zero and far below", torch.tensor([0.0, -200.0])),
        case("100, 99 and 0, as in the chapter", torch.tensor([100.0, 99, 0])),
        case("minus infinity", torch.tensor([0.0, -torch.inf, 1.0])),
        case(
            "two rows far apart", torch.tensor([[1000.0, 999.0], [0.0, 1.0]])
        ),
        case(
            "along the first axis",
            torch.tensor([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]),
            0,
        ),
        case(
            "along the first axis, columns far apart",
            torch.tensor([[1000.0, 0.0], [999.0, 2.0]]),
            0,
        ),
        case("half precision", torch.tensor([12.0, 11.0, 0.0]).half()),
        case("float64", torch.tensor([1.0, 800.0, 801.0]).double()),
        case("the middle one of three axes", Draw(35).normal(2, 3, 2), 1),
    ],
    draw=draw_scores,
    tolerance=5e-4,  # logsumexp is right too, to so many digits
)
