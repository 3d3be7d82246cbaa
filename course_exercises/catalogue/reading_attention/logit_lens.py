"""Logit lens: the stream read as words, layer by layer."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


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
    section="20_reading_attention#read-the-residual-stream",
    points=3,
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
