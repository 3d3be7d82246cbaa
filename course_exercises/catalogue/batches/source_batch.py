"""Sources of different lengths as one rectangle."""

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def source_batch(
    rows: list[list[int]], max_length: int
) -> Int[Tensor, "batch length"]:
    """Truncate sources, end them with eos (2), and pad them with 0.

    Args:
        rows: ids of each sentence's words, without bos and eos.
        max_length: the most ids that a row may have, eos included.

    Returns:
        A tensor of int64 with a row for each sentence: its ids from the
        beginning, eos, and padding on the right, up to the longest row of
        this batch. A sentence that is too long loses words at its end, but
        not its eos.
    """
    ### BEGIN SOLUTION
    ended = [row[: max_length - 1] + [2] for row in rows]
    width = max(map(len, ended))
    return torch.tensor([row + [0] * (width - len(row)) for row in ended])
    ### END SOLUTION


@other
def padded_by_pytorch(rows, max_length):
    ended = [torch.tensor([*row[: max_length - 1], 2]) for row in rows]
    return pad_sequence(ended, batch_first=True)


@other
def written_into_zeros(rows, max_length):
    lengths = [min(len(row), max_length - 1) for row in rows]
    batch = torch.zeros(len(rows), max(lengths) + 1, dtype=torch.long)
    for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        for j in range(length):
            batch[i, j] = row[j]
        batch[i, length] = 2
    return batch


def draw_sources(draw: Draw) -> Case:
    rows = [
        [4 + draw.size(0, 20) for _ in range(draw.size(1, 7))]
        for _ in range(draw.size(1, 4))
    ]
    return case("random sentences", rows, draw.size(3, 9))


EXERCISE = exercise_of(
    source_batch,
    section="11_batches#three-sentence-pairs",
    points=1,
    cases=[
        case("one short sentence", [[5, 6]], 8),
        case("two of one length", [[5, 6], [7, 8]], 8),
        case("two lengths", [[5, 6, 7], [8]], 8),
        case("just at the limit", [[5, 6, 7], [8]], 4),
        case("one word too long", [[5, 6, 7, 8], [9]], 4),
        case("all too long", [[5, 6, 7, 8, 9], [4, 4, 5, 5]], 3),
    ],
    draw=draw_sources,
)
