"""Patching one feature of a sparse autoencoder."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def patch_feature(
    stream: Float[Tensor, "batch length d_model"],
    codes: Float[Tensor, "batch length features"],
    directions: Float[Tensor, "features d_model"],
    feature: int,
    positions: Int[Tensor, " batch"],
    value: float,
) -> Float[Tensor, "batch length d_model"]:
    """Give one feature another value, and leave all else as it is.

    What the autoencoder does not explain stays in the stream, too.

    Args:
        stream: the residual stream; it stays as it is.
        codes: how much of each feature is in it.
        directions: of the decoder, a row for each feature.
        feature: which one, from 0.
        positions: in each text the one position that is changed.
        value: what the feature's code becomes; 0 switches it off.

    Returns:
        The stream, changed by the difference of the codes times the
        feature's direction.
    """
    ### BEGIN SOLUTION
    row = torch.arange(len(stream))
    difference = value - codes[row, positions, feature]
    changed = stream.clone()
    changed[row, positions] += difference[:, None] * directions[feature]
    return changed
    ### END SOLUTION


@other
def patched_text_by_text(stream, codes, directions, feature, positions, value):
    changed = []
    for x, code, position in zip(stream, codes, positions, strict=True):
        x = x.clone()
        x[position] -= code[position, feature] * directions[feature]
        x[position] += value * directions[feature]
        changed.append(x)
    return torch.stack(changed)


@other
def patched_by_decoding(stream, codes, directions, feature, positions, value):
    here = torch.arange(stream.size(1)) == positions[:, None]
    changed = codes.clone()
    changed[..., feature] = torch.where(here, value, codes[..., feature])
    return stream + (changed - codes) @ directions


def draw_streams(draw: Draw) -> Case:
    """Random streams and codes."""
    batch, length = draw.size(2, 3), draw.size(2, 4)
    width, features = draw.size(2, 3), draw.size(2, 4)
    return case(
        "random numbers",
        draw.normal(batch, length, width),
        draw.normal(batch, length, features).relu(),
        draw.normal(features, width),
        draw.size(1, features) - 1,
        torch.tensor([draw.size(1, length) - 1 for _ in range(batch)]),
        float(draw.size(0, 3)),
    )


def numbers(rows: list) -> Tensor:
    """Numbers of a text, or of several."""
    return torch.tensor(rows, dtype=torch.float)


STREAM = numbers([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
CODES = numbers([[[1, 0, 0], [2, 1, 0]], [[0, 0, 3], [0, 4, 1]]])
ROWS = numbers([[1, 0], [0, 1], [1, 1]])
EXERCISE = exercise_of(
    patch_feature,
    section="20_reading_attention#one-sparse-autoencoder",
    points=3,
    cases=[
        case(
            "one position, two features",
            numbers([[[3, 4]]]),
            numbers([[[2, 1]]]),
            ROWS[:2],
            0,
            torch.tensor([0]),
            0.0,
        ),
        case(
            "switched off",
            STREAM[:1],
            CODES[:1],
            ROWS,
            0,
            torch.tensor([1]),
            0.0,
        ),
        case(
            "switched on",
            STREAM[:1],
            CODES[:1],
            ROWS,
            2,
            torch.tensor([0]),
            5.0,
        ),
        case(
            "larger than it was",
            STREAM[:1],
            CODES[:1],
            ROWS,
            1,
            torch.tensor([1]),
            3.0,
        ),
        case(
            "two texts, two positions",
            STREAM,
            CODES,
            ROWS,
            1,
            torch.tensor([0, 1]),
            2.0,
        ),
        case(
            "as it is", STREAM[:1], CODES[:1], ROWS, 0, torch.tensor([0]), 1.0
        ),
    ],
    draw=draw_streams,
)
