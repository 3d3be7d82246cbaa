"""Activation patching of one head at one position."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def patch_position(
    own: Float[Tensor, "batch length d_model"],
    others: Float[Tensor, "batch length d_model"],
    head: int,
    position: int,
    n_heads: int,
) -> Float[Tensor, "batch length d_model"]:
    """Patch one head of a layer at one position.

    Args:
        own: outputs of all heads, side by side, while the model reads the
            sentences in question: the first numbers of a vector are those of
            head 0, and so on. It stays as it is.
        others: the same while it read the other sentences.
        head: which head, from 0.
        position: which position, from 0.
        n_heads: heads of the layer; all have the same width.

    Returns:
        ``own``, in which this head, at this position of each sentence, has
        what it has in ``others``.
    """
    ### BEGIN SOLUTION
    width = own.size(-1) // n_heads
    columns = slice(head * width, (head + 1) * width)
    patched = own.clone()
    patched[:, position, columns] = others[:, position, columns]
    return patched
    ### END SOLUTION


@other
def patched_by_where(own, others, head, position, n_heads):
    width = own.size(-1) // n_heads
    here = torch.arange(own.size(1))[:, None] == position
    mine = torch.arange(own.size(2)) // width == head
    return torch.where(here & mine, others, own)


@other
def patched_in_split_heads(own, others, head, position, n_heads):
    split = own.unflatten(-1, (n_heads, -1)).clone()
    split[:, position, head] = others.unflatten(-1, (n_heads, -1))[
        :, position, head
    ]
    return split.flatten(2)


def numbered(batch: int, length: int, width: int, first: int) -> Tensor:
    """Vectors of different numbers."""
    count = batch * length * width
    return torch.arange(first, first + count).float().view(batch, length, -1)


def draw_outputs(draw: Draw) -> Case:
    """Random outputs of two batches."""
    n_heads, width = draw.size(2, 3), draw.size(2, 3)
    shape = draw.size(2, 3), draw.size(2, 4), n_heads * width
    return case(
        "random numbers",
        draw.normal(*shape),
        draw.normal(*shape),
        draw.size(1, 2) - 1,
        draw.size(1, 2) - 1,
        n_heads,
    )


EXERCISE = exercise_of(
    patch_position,
    section="20_reading_attention#activation-patching-look-then-change",
    points=2,
    cases=[
        case(
            "two heads of one number",
            numbered(1, 2, 2, 1),
            numbered(1, 2, 2, 11),
            0,
            1,
            2,
        ),
        case(
            "two heads of two numbers",
            numbered(1, 2, 4, 1),
            numbered(1, 2, 4, 11),
            1,
            0,
            2,
        ),
        case(
            "two sentences",
            numbered(2, 2, 4, 1),
            numbered(2, 2, 4, 21),
            0,
            1,
            2,
        ),
        case(
            "three heads, three positions",
            numbered(2, 3, 6, 1),
            numbered(2, 3, 6, 41),
            1,
            2,
            3,
        ),
    ],
    draw=draw_outputs,
)
