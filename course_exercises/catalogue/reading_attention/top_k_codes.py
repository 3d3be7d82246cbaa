"""The encoder of a top-k sparse autoencoder."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def top_k_codes(
    x: Float[Tensor, "batch d_model"],
    weight: Float[Tensor, "features d_model"],
    bias: Float[Tensor, " features"],
    centre: Float[Tensor, " d_model"],
    k: int,
) -> Float[Tensor, "batch features"]:
    """The codes of a top-k autoencoder.

    The centre is taken away from each vector, a linear map makes a score of
    each feature, and scores below 0 become 0.

    Args:
        x: vectors of the residual stream.
        weight: of the linear map, a row for each feature.
        bias: of the linear map.
        centre: is taken away first.
        k: features that are kept, at most as many as there are.

    Returns:
        For each vector its k largest scores, each in the place of its
        feature; all others are 0.
    """
    ### BEGIN SOLUTION
    scores = ((x - centre) @ weight.T + bias).relu()
    values, which = scores.topk(k, dim=-1)
    return torch.zeros_like(scores).scatter(-1, which, values)
    ### END SOLUTION


@other
def codes_by_sorting(x, weight, bias, centre, k):
    scores = torch.nn.functional.linear(x - centre, weight, bias)
    order = scores.argsort(dim=-1, descending=True)
    codes = torch.zeros_like(scores)
    for row, (places, numbers) in enumerate(zip(order, scores, strict=True)):
        for place in places[:k]:
            codes[row, place] = numbers[place].clamp(min=0)
    return codes


@other
def codes_by_rank(x, weight, bias, centre, k):
    scores = ((x - centre) @ weight.T + bias).clamp(min=0)
    better = (scores[:, None, :] > scores[:, :, None]).sum(dim=-1)
    return scores * (better < k)


def numbers(*rows: list[float]) -> Tensor:
    """Rows of numbers."""
    return torch.tensor(rows, dtype=torch.float)


def draw_vectors(draw: Draw) -> Case:
    """Random vectors and weights."""
    width, features = draw.size(2, 4), draw.size(4, 8)
    return case(
        "random numbers",
        draw.normal(draw.size(2, 4), width),
        draw.normal(features, width),
        draw.normal(features),
        draw.normal(width),
        draw.size(1, 3),
    )


EYE = numbers([1, 0], [0, 1], [-1, 0], [0, -1])
NONE, ZERO = torch.zeros(4), torch.zeros(2)
EXERCISE = exercise_of(
    top_k_codes,
    section="20_reading_attention#one-sparse-autoencoder",
    points=3,
    cases=[
        case(
            "three features of one number",
            numbers([3]),
            numbers([1], [2], [-1]),
            torch.zeros(3),
            torch.zeros(1),
            1,
        ),
        case(
            "one vector, one feature kept", numbers([3, 1]), EYE, NONE, ZERO, 1
        ),
        case(
            "more kept than are above 0", numbers([3, -1]), EYE, NONE, ZERO, 3
        ),
        case("a centre", numbers([3, 1]), EYE, NONE, numbers([4, -4])[0], 1),
        case(
            "biases", numbers([3, 2]), EYE, numbers([0, 3, 1, 5.5])[0], ZERO, 2
        ),
        case("two vectors", numbers([3, 1], [-1, -2]), EYE, NONE, ZERO, 1),
        case(
            "all at once",
            numbers([3, 1], [-1, -2], [0.5, 4]),
            EYE,
            numbers([0.5, 0.25, 1, 0])[0],
            numbers([1, -1])[0],
            2,
        ),
    ],
    draw=draw_vectors,
)
