"""Padding mask."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def padding_mask(
    ids: Int[Tensor, "batch key"], pad_id: int = 0
) -> Bool[Tensor, "batch 1 1 key"]:
    """Say which keys are real tokens, and which are padding.

    Args:
        ids: a batch of sentences, filled up with ``pad_id``.
        pad_id: the number that means nothing.

    Returns:
        True where a key may be attended to: a real token. The two axes of
        size 1 stand for all heads and all queries.
    """
    ### BEGIN SOLUTION
    return (ids != pad_id)[:, None, None, :]
    ### END SOLUTION


@other
def padding_by_unsqueeze(ids, pad_id=0):
    return ids.ne(pad_id).unsqueeze(1).unsqueeze(2)


@other
def padding_by_view(ids, pad_id=0):
    batch, key = ids.shape
    return torch.logical_not(ids == pad_id).view(batch, 1, 1, key)


def draw_sentences(draw: Draw) -> Case:
    pad_id = draw.choice([0, 0, 3])
    ids = draw.ids(draw.size(1, 4), draw.size(1, 7), pad_id)
    return case("random sentences", ids, pad_id)


EXERCISE = exercise_of(
    padding_mask,
    section="06_masks#the-padding-mask-by-hand",
    points=2,
    cases=[
        case("one sentence of a word and padding", torch.tensor([[7, 0]]), 0),
        case("a single token", torch.tensor([[5]]), 0),
        case(
            "two sentences of different lengths",
            torch.tensor([[7, 8, 9], [4, 0, 0]]),
            0,
        ),
        case("padding that is not 0", torch.tensor([[7, 0, 9], [4, 1, 1]]), 1),
        case("pad_id left out", torch.tensor([[7, 8, 0, 0]])),
        case("a sentence of padding alone", torch.tensor([[7, 8], [0, 0]]), 0),
        case(
            "padding on the left",
            torch.tensor([[0, 0, 5, 6], [0, 3, 4, 5]]),
            0,
        ),
        case(
            "as many sentences as tokens",
            torch.tensor([[7, 8, 0], [6, 0, 0], [1, 2, 3]]),
            0,
        ),
    ],
    draw=draw_sentences,
)
