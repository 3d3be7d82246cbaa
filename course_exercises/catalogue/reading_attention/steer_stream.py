"""Steering by a difference of means."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def steer_stream(
    stream: Float[Tensor, "batch length d_model"],
    some: Float[Tensor, "n d_model"],
    others: Float[Tensor, "m d_model"],
    strength: float,
) -> Float[Tensor, "batch length d_model"]:
    """Move a residual stream along the direction between two sets.

    The direction leads from the mean of ``others`` to the mean of ``some``,
    and keeps its length.

    Args:
        stream: the residual stream after a layer; it stays as it is.
        some: vectors of that layer, from sentences of one kind.
        others: the same, from sentences of the other kind.
        strength: how often the direction is added; below 0, it is taken
            away.

    Returns:
        The stream, moved at every position.
    """
    ### BEGIN SOLUTION
    direction = some.mean(dim=0) - others.mean(dim=0)
    return stream + strength * direction
    ### END SOLUTION


@other
def steered_by_sums(stream, some, others, strength):
    added = strength * some.sum(dim=0) / len(some)
    taken = strength * others.sum(dim=0) / len(others)
    return stream + added - taken


@other
def steered_position_by_position(stream, some, others, strength):
    ends = [torch.stack([*kind]).mean(dim=0) for kind in (some, others)]
    direction = torch.sub(*ends)
    return torch.stack(
        [
            torch.stack([vector + direction * strength for vector in row])
            for row in stream
        ]
    )


def rows(*vectors: list[float]) -> Tensor:
    """Vectors, one below the other."""
    return torch.tensor(vectors, dtype=torch.float)


def draw_streams(draw: Draw) -> Case:
    """Random vectors."""
    width = draw.size(2, 4)
    return case(
        "random numbers",
        draw.normal(draw.size(1, 3), draw.size(2, 4), width),
        draw.normal(draw.size(2, 5), width),
        draw.normal(draw.size(2, 5), width),
        float(draw.choice([-2, -1, 1, 2])),
    )


GLAD, SAD = rows([3, 0], [5, 2]), rows([1, 0], [1, 0])
TWO = rows([1, 1], [2, 2])[None]
EXERCISE = exercise_of(
    steer_stream,
    section="20_reading_attention#steer-by-a-difference-of-means",
    points=2,
    cases=[
        case("two vectors of each kind", TWO[:, :1], GLAD, SAD, 1.0),
        case("two positions", TWO, GLAD, SAD, 1.0),
        case("twice as strong", TWO, GLAD, SAD, 2.0),
        case("the other way", TWO, GLAD, SAD, -1.0),
        case(
            "three against one",
            TWO,
            rows([3, 0], [0, 3], [3, 3]),
            rows([1, 1]),
            1.0,
        ),
        case("not at all", TWO, GLAD, SAD, 0.0),
        case(
            "two texts",
            torch.stack([rows([1, 0], [0, 1]), rows([2, 2], [4, 0])]),
            GLAD,
            SAD,
            3.0,
        ),
    ],
    draw=draw_streams,
)
