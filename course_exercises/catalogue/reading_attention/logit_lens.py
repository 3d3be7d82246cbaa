"""Logit lens: the stream read as words, layer by layer."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
)

from . import STREAM


def logit_lens(
    additions: Float[Tensor, "parts d_model"],
    gain: Float[Tensor, " d_model"],
    matrix: Float[Tensor, "vocab d_model"],
) -> Float[Tensor, "parts vocab"]:
    """Read the stream at one position after each part of a model.

    Args:
        additions: what each part adds to the stream, in order: first the
            embedding, then layer after layer.
        gain: of the final norm. The norm divides a vector by the root of the
            mean of its squares, and multiplies each number by its gain. (No
            stream is all zero, and there is no ε.)
        matrix: the output matrix: logit v is the product of its row v with
            the normalised vector.

    Returns:
        For each part the logits, if the model ended behind it.
    """
    ### BEGIN SOLUTION
    streams = additions.cumsum(dim=0)
    size = streams.square().mean(dim=-1, keepdim=True).sqrt()
    return (streams / size * gain) @ matrix.T
    ### END SOLUTION


@other
def lens_by_loop(additions, gain, matrix):
    stream, read = torch.zeros_like(gain), []
    for added in additions:
        stream = stream + added
        size = (stream**2).mean() ** 0.5
        read.append(matrix @ (gain * stream / size))
    return torch.stack(read)


@other
def lens_by_a_triangle(additions, gain, matrix):
    count = additions.size(0)
    streams = torch.ones(count, count).tril() @ additions
    root = additions.size(1) ** 0.5
    unit = streams / streams.norm(dim=-1, keepdim=True)
    return torch.einsum("pd,d,vd->pv", unit * root, gain, matrix)


EDITS = """
# lens_on_each_addition
- additions.cumsum(dim=0) -> additions
You read what each part adds, and not the stream behind it.

The lens asks what the model would say if it ended there: it would say it of
all that has been added so far. What a part adds by itself is the question of
direct logit attribution.

# lens_without_norm
- streams / size * gain -> streams * gain
You leave out the division of the final norm.

The output matrix has learned from normalised vectors. Without the division,
logits of layers cannot be compared: later streams are longer.

# lens_without_gain
- streams / size * gain -> streams / size
You leave out the gain of the final norm.

The gain makes some numbers of the vector count more than others. Without it
the lens may read another token.

# lens_with_the_last_scale
- streams.square().mean(dim=-1, keepdim=True).sqrt()
+ streams[-1].square().mean().sqrt()
You divide every stream by the size of the last one.

A scale held fixed belongs to direct logit attribution, whose shares are to
sum up. The lens lets the model end at each layer, with the norm that it would
have there.

# lens_with_a_layer_norm
- streams.square().mean(dim=-1, keepdim=True).sqrt()
+ streams.std(dim=-1, unbiased=False, keepdim=True)
You divide by the standard deviation.

That is layer normalisation, which would subtract the mean as well. This norm
subtracts nothing and divides by the root of the mean square.

# lens_by_the_sum_of_squares
- mean(dim=-1, keepdim=True) -> sum(dim=-1, keepdim=True)
You divide by the length of the vector.

The norm divides by the root of the *mean* of the squares. With the length,
all logits are smaller by the root of d_model.
"""


@mistake
def lens_norm_before_the_sum(additions, gain, matrix):
    """You normalise each addition, and sum up afterwards.

    The norm stands behind the sum. Before it, an addition that hardly changes
    the stream would count as much as any other.
    """
    size = additions.square().mean(dim=-1, keepdim=True).sqrt()
    return (additions / size * gain).cumsum(dim=0) @ matrix.T


def rows(*lines: list) -> Tensor:
    """A table of numbers."""
    return torch.tensor(lines, dtype=torch.float)


def draw_model(draw: Draw) -> Case:
    """Random additions, gains and words."""
    parts, width, vocab = draw.size(2, 4), draw.size(2, 4), draw.size(2, 5)
    gain = draw.normal(width).abs() + 0.5
    matrix = draw.normal(vocab, width)
    additions = draw.normal(parts, width)
    return case("random numbers", additions, gain, matrix)


ONE, EYE = torch.ones(2), torch.eye(2)
EXERCISE = exercise_of(
    logit_lens,
    section=STREAM,
    points=3,
    hints=(
        "If the model ended behind its second part, which vector would the "
        "final norm be given?",
        "Sum up along the parts first. Then the norm, of each stream by "
        "itself; then the matrix.",
    ),
    cases=[
        case("one part", rows([3, 4]), ONE, EYE),
        case("two parts", rows([1, 0], [0, 1]), ONE, EYE),
        case("a part that is large", rows([1, 1], [9, -1]), ONE, EYE),
        case("a gain", rows([3, 4]), torch.tensor([2.0, 1.0]), EYE),
        case(
            "three words",
            rows([1, 2], [1, -1]),
            ONE,
            rows([1, 0], [0, 1], [1, 1]),
        ),
    ],
    draw=draw_model,
)
