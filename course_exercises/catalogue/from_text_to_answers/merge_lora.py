"""LoRA merged into the weights."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def merge_lora(
    W: Float[Tensor, "d_out d_in"],
    A: Float[Tensor, "rank d_in"],
    B: Float[Tensor, "d_out rank"],
    alpha: float,
) -> Float[Tensor, "d_out d_in"]:
    """Put what LoRA has learned into the weights, once and for all.

    Args:
        W: the frozen weights, laid out as in ``nn.Linear``; they stay as they
            are, and a new tensor is returned.
        A: what LoRA reads; one row for each of its ranks.
        B: where it writes; one column for each of them.
        alpha: its strength, which is divided by the rank.

    Returns:
        The weights with which one linear map gives what ``lora`` gives.
    """
    ### BEGIN SOLUTION
    return W + alpha / A.size(0) * B @ A
    ### END SOLUTION


@other
def merge_rank_by_rank(W, A, B, alpha):
    merged = W.clone()
    for column, row in zip(B.T, A, strict=True):
        merged = merged + torch.outer(column, row) * (alpha / len(A))
    return merged


@other
def merge_by_probing(W, A, B, alpha):
    each_input = torch.eye(W.size(1), dtype=W.dtype)
    learned = F.linear(F.linear(each_input, A), B)
    return W + learned.T * alpha / A.size(0)


def draw_weights(draw: Draw) -> Case:
    d_in, d_out, rank = draw.size(3, 5), draw.size(3, 5), draw.size(2, 3)
    return case(
        "random maps",
        draw.normal(d_out, d_in),
        draw.normal(rank, d_in),
        draw.normal(d_out, rank),
        draw.choice([1.0, 4.0, 16.0]),
    )


EXERCISE = exercise_of(
    merge_lora,
    section="23_from_text_to_answers#lora-learn-a-small-difference",
    points=1,
    cases=[
        case(
            "rank 1",
            torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([[0.5], [0.0]]),
            2.0,
        ),
        case(
            "B is zero, as at first",
            torch.tensor([[1.0, 3.0], [0.0, 1.0]]),
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([[0.0], [0.0]]),
            2.0,
        ),
        case(
            "as many ranks as inputs and outputs",
            torch.tensor([[1.0, 0.0], [2.0, 1.0]]),
            torch.tensor([[1.0, -1.0], [2.0, 0.0]]),
            torch.tensor([[0.5, 1.0], [1.0, -1.0]]),
            4.0,
        ),
        case(
            "a wider map",
            Draw(1).normal(6, 4),
            Draw(2).normal(3, 4),
            Draw(3).normal(6, 3),
            16.0,
        ),
    ],
    draw=draw_weights,
)
