"""Backward pass of the softmax."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def softmax_backward(
    weights: Float[Tensor, "*batch query key"],
    gradient: Float[Tensor, "*batch query key"],
) -> Float[Tensor, "*batch query key"]:
    """Take a gradient back through a softmax over the keys.

    How weight i reacts to score j is J_ij = a_i (δ_ij - a_j), in each row.

    Args:
        weights: what came out of the softmax; each row sums to one. `*batch`
            stands for any number of axes in front, or none.
        gradient: that of the loss with respect to the weights; any numbers.

    Returns:
        The gradient of the loss with respect to the scores: one number for
        each score.
    """
    ### BEGIN SOLUTION
    mean = (weights * gradient).sum(dim=-1, keepdim=True)
    return weights * (gradient - mean)
    ### END SOLUTION


@other
def backward_by_jacobian(weights, gradient):
    outer = weights[..., :, None] * weights[..., None, :]
    J = torch.diag_embed(weights) - outer
    return (gradient[..., None, :] @ J).squeeze(-2)


@other
def backward_by_einsum(weights, gradient):
    own = weights * gradient
    others = torch.einsum("...i,...i,...j->...j", weights, gradient, weights)
    return own - others


@other
def backward_by_loop(weights, gradient):
    result = torch.zeros_like(weights)
    for j in range(weights.size(-1)):
        for i in range(weights.size(-1)):
            J_ij = weights[..., i] * (float(i == j) - weights[..., j])
            result[..., j] += gradient[..., i] * J_ij
    return result


def draw_weights(draw: Draw) -> Case:
    batch = draw.choice([(), (2,), (2, 3)])
    shape = (*batch, draw.size(2, 4), draw.size(2, 5))
    weights = (2 * draw.normal(*shape)).softmax(dim=-1)
    return case("random weights", weights, draw.normal(*shape))


EXERCISE = exercise_of(
    softmax_backward,
    section="05_score_functions#the-gradient-of-a-softmax",
    points=3,
    cases=[
        case(
            "two equal weights",
            torch.tensor([[0.5, 0.5]]),
            torch.tensor([[1.0, 0.0]]),
        ),
        case(
            "all of the weight on one key",
            torch.tensor([[1.0, 0.0]]),
            torch.tensor([[1.0, 2.0]]),
        ),
        case(
            "the same gradient for all keys",
            torch.tensor([[0.75, 0.25]]),
            torch.tensor([[2.0, 2.0]]),
        ),
        case(
            "cats, drink, milk, as in the chapter",
            torch.tensor([[0.5, 0.05, 0.45]]),
            torch.tensor([[1.0, 0.0, -2.0]]),
        ),
        case(
            "two queries",
            torch.tensor([[0.5, 0.5], [0.9, 0.1]]),
            torch.tensor([[1.0, 0.0], [0.0, 3.0]]),
        ),
        case(
            "a batch, and heads",
            Draw(36).normal(2, 2, 2, 3).softmax(dim=-1),
            Draw(37).normal(2, 2, 2, 3),
        ),
        case(
            "float64",
            torch.tensor([[0.25, 0.75]]).double(),
            torch.tensor([[-1.0, 1.0]]).double(),
        ),
    ],
    draw=draw_weights,
)
