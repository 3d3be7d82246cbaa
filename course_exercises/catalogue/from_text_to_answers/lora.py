"""LoRA: a learned difference of low rank."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def lora(
    x: Float[Tensor, "batch length d_in"],
    W: Float[Tensor, "d_out d_in"],
    A: Float[Tensor, "rank d_in"],
    B: Float[Tensor, "d_out rank"],
    alpha: float,
) -> Float[Tensor, "batch length d_out"]:
    """Apply a frozen linear map and LoRA beside it.

    W stays as it is: no gradient reaches it. The difference that is learned
    is B A, times alpha over the rank.

    Args:
        x: the stream.
        W: the frozen weights, laid out as in ``nn.Linear``.
        A: what LoRA reads; one row for each of its ranks.
        B: where it writes; one column for each of them.
        alpha: its strength.

    Returns:
        The sum of both maps, without a bias.
    """
    ### BEGIN SOLUTION
    frozen = x @ W.detach().T
    learned = x @ A.T @ B.T
    return frozen + alpha / A.size(0) * learned
    ### END SOLUTION


@other
def lora_merged(x, W, A, B, alpha):
    return x @ (W.detach() + alpha / len(A) * B @ A).T


@other
def lora_by_linear(x, W, A, B, alpha):
    frozen = torch.nn.functional.linear(x, W.detach())
    narrow = torch.nn.functional.linear(x, A)
    return frozen + torch.nn.functional.linear(narrow, B) * alpha / A.shape[0]


def draw_maps(draw: Draw) -> Case:
    d_in, d_out, rank = draw.size(3, 5), draw.size(3, 5), draw.size(2, 3)
    return case(
        "random maps",
        draw.normal(draw.size(1, 3), draw.size(2, 4), d_in),
        draw.normal(d_out, d_in),
        draw.normal(rank, d_in),
        draw.normal(d_out, rank),
        draw.choice([1.0, 4.0, 16.0]),
    )


MANY = Draw(23)

EXERCISE = exercise_of(
    lora,
    section="23_from_text_to_answers#lora-learn-a-small-difference",
    points=2,
    cases=[
        case(
            "one token, rank 1",
            torch.tensor([[[1.0, 2.0]]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([[0.5], [1.0]]),
            2.0,
        ),
        case(
            "B is zero, as at first",
            torch.tensor([[[1.0, 2.0]]]),
            torch.tensor([[1.0, 3.0], [0.0, 1.0]]),
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([[0.0], [0.0]]),
            2.0,
        ),
        case(
            "rank 2",
            torch.tensor([[[1.0, 2.0, -1.0], [0.0, 1.0, 1.0]]]),
            torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]),
            torch.tensor([[1.0, -1.0, 0.5], [2.0, 0.0, 1.0]]),
            torch.tensor([[0.5, 1.0], [1.0, -1.0]]),
            4.0,
        ),
        case(
            "a wider map",
            MANY.normal(2, 3, 4),
            MANY.normal(6, 4),
            MANY.normal(3, 4),
            MANY.normal(6, 3),
            16.0,
        ),
    ],
    draw=draw_maps,
    tolerance=1e-4,
)
