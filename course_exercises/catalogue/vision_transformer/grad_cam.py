"""Grad-CAM."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    call_without_grad,
    case,
    exercise_of,
    other,
)

from . import CAM


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


EDITS = """
# cam_without_relu
- .relu() ->
Your map still holds numbers below zero.

There something speaks *against* the class. The map shows what speaks for it:
equation 2 ends with a ReLU.

# cam_relu_too_early
- (weights * features) -> (weights * features).relu()
You drop what is below zero in each channel, before adding up.

At one position some channels may speak for the class and others against it.
What counts is their sum; the ReLU comes last.

# cam_mean_over_channels
- dim=(2, 3) -> dim=1
Your mean goes over the channels, and leaves a weight for each *position*.

Each channel needs one weight: the mean over rows and columns.

# cam_place_by_place
- .mean(dim=(2, 3), keepdim=True) ->
You multiply each feature by its own gradient, position by position.

There are such maps, but Grad-CAM weighs a channel as a whole: its weight is
the mean of the gradient over all positions.

# cam_summed_weights
- mean -> sum
Your weights are sums of the gradient, not means.

Equation 1 divides by the number of positions. The map looks alike, and all its
numbers are as many times too large.

# cam_mean_over_the_batch
- dim=(2, 3) -> dim=(0, 2, 3)
Your weights are a mean over all images of the batch.

Then an image's map depends on the others. Each image has weights of its own.

# cam_size_of_the_gradient
- gradient -> gradient.abs()
You take the size of the gradient, without its sign.

A channel whose growth would *lower* the logit speaks against the class, and
needs a negative weight.

# cam_positive_weights
- True) -> True).relu()
You drop the weights that are below zero.

A channel that speaks against the class has to be subtracted. Only the sum goes
through the ReLU.

# cam_weighed_by_itself
- gradient -> features
Your weights are means of the features, and the gradient is not used.

Then the map is the same for every class. What a channel does for *this* class
is in the gradient.

# cam_mean_of_channels
- sum -> mean
You take the mean over channels where equation 2 adds up.

The map looks alike, and all its numbers are too small by the number of
channels.

# cam_scaled
- return total
+ return (total / total.relu().amax((1, 2), keepdim=True).clamp(min=1e-8))
or
- return total -> return (total / total.relu().amax().clamp(min=1e-8))
or
- return total.relu() -> return total.relu() / total.relu().amax()
or
- return total.relu()
+ return total.relu() / total.relu().amax((1, 2), keepdim=True)
You divide the map by its largest number.

That is for drawing. Scaled like that, every map reaches 1 somewhere, however
little speaks for its class, and two maps can no longer be compared.
"""


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
    section=CAM,
    points=2,
    hints=(
        "First the weights: one number for each channel of each image. Over "
        "which axes is the mean, and which shape lets it multiply the maps?",
        "Then a sum over channels, and last what is below zero. Which of the "
        "four axes is that of the channels?",
    ),
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
