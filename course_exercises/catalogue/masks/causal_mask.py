"""Causal mask."""

import torch
from jaxtyping import Bool
from torch import Tensor

from course_exercises.engine.exercise import case, exercise_of, other


def causal_mask(length: int) -> Bool[Tensor, "1 1 query key"]:
    """Let each token look at itself and at what came before.

    Args:
        length: how many tokens there are.

    Returns:
        True where a query (row) may attend to a key (column); bool, not
        numbers. The two axes of size 1 stand for all sentences and all
        heads.
    """
    ### BEGIN SOLUTION
    return torch.ones(length, length, dtype=torch.bool).tril()[None, None]
    ### END SOLUTION


@other
def causal_by_positions(length):
    position = torch.arange(length)
    not_later = position[None, :] <= position[:, None]
    return not_later.view(1, 1, length, length)


@other
def causal_by_loop(length):
    mask = torch.zeros(1, 1, length, length, dtype=torch.bool)
    for query in range(length):
        mask[..., query, : query + 1] = True
    return mask


EXERCISE = exercise_of(
    causal_mask,
    section="06_masks#the-causal-mask",
    points=2,
    cases=[
        case("one token", 1),
        case("two tokens", 2),
        case("three tokens", 3),
        case("an even length", 6),
        case("a longer sentence", 17),
    ],
    draw=lambda draw: case("a random length", draw.size(2, 12)),
)
