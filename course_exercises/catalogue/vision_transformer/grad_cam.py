"""Grad-CAM."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case, call_without_grad
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def grad_cam(
    features: Float[Tensor, "batch channels rows columns"],
    gradient: Float[Tensor, "batch channels rows columns"],
) -> Float[Tensor, "batch rows columns"]:
    """Say where in each image something speaks for its class.

    Args:
        features: what the last convolution gave.
        gradient: of the class's logit, with respect to each of the features.

    Returns:
        Grad-CAM: the channels' maps, added up with the weights of equation
        1, which are means over rows and columns; what is below zero in the
        sum becomes zero. It is not scaled otherwise. Features [[1, 2]] and
        [[3, 1]] with gradients [[1, 3]] and [[-2, 0]] have the weights 2 and
        -1, the sums -1 and 3, and the map [[0, 3]].
    """
    ### BEGIN SOLUTION
    weights = gradient.mean(dim=(2, 3), keepdim=True)
    total = (weights * features).sum(dim=1)
    return total.relu()
    ### END SOLUTION


@other
def cam_by_einsum(features, gradient):
    alpha = gradient.flatten(2).mean(dim=-1)
    return torch.einsum("bk,bkrc->brc", alpha, features).clamp(min=0)


@other
def cam_by_loop(features, gradient):
    found = []
    for image, slope in zip(features, gradient, strict=True):
        total = torch.zeros(image.shape[1:])
        for channel, one in zip(image, slope, strict=True):
            total = total + one.mean() * channel
        found.append(torch.maximum(total, torch.zeros_like(total)))
    return torch.stack(found)


def draw_features(draw: Draw) -> Case:
    """Features and a gradient, as random numbers."""
    shape = [
        draw.size(1, 3),
        draw.size(2, 4),
        draw.size(2, 4),
        draw.size(2, 4),
    ]
    return case("random numbers", draw.normal(*shape), draw.normal(*shape))


def channels(*maps: list) -> Tensor:
    """One image's features or gradients, a list of rows for each channel."""
    return torch.tensor([maps], dtype=torch.float)


TWO = channels([[1, 2]], [[3, 1]])

EXERCISE = exercise_of(
    grad_cam,
    section="19_vision_transformer#grad-cam",
    points=2,
    cases=[
        case(
            "one channel, two positions",
            channels([[1, 2]]),
            channels([[2, 4]]),
        ),
        case("two channels", TWO, channels([[1, 3]], [[2, 0]])),
        case("a channel against it", TWO, channels([[2, 2]], [[-1, -1]])),
        case("all against it", TWO, channels([[-1, -1]], [[-1, 0]])),
        case(
            "features below zero",
            channels([[-1, 2]], [[2, -2]]),
            channels([[-1, -3]], [[1, 2]]),
        ),
        case(
            "two rows",
            channels([[1, 0], [2, 1]], [[0, 3], [1, 1]]),
            channels([[1, -1], [2, 2]], [[0, 1], [-2, -3]]),
        ),
        case(
            "two images",
            torch.cat([TWO, TWO]),
            torch.cat(
                [channels([[1, 3]], [[2, 0]]), channels([[-2, 0]], [[4, 2]])]
            ),
        ),
    ],
    draw=draw_features,
    run=call_without_grad,
)
