"""Sources of different lengths as one rectangle."""

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
)


def source_batch(
    rows: list[list[int]], max_length: int
) -> Int[Tensor, "batch length"]:
    """Truncate sources, end them with eos (2), and pad them with 0.

    Args:
        rows: ids of each sentence's words, without bos and eos.
        max_length: the most ids that a row may have, eos included.

    Returns:
        A tensor of integers with a row for each sentence: its ids from the
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


@mistake
def eos_after_the_padding(rows, max_length):
    """You put eos into the last column of every row.

    In a shorter sentence eos comes right after the last word, and padding
    follows it. The model is to see where the sentence ends.
    """
    cut = [row[: max_length - 1] for row in rows]
    width = max(map(len, cut))
    return torch.tensor([row + [0] * (width - len(row)) + [2] for row in cut])


EDITS = """
# eos_cut_off (#what-truncation-takes-away)
- row[: max_length - 1] + [2] -> (row + [2])[:max_length]
A sentence that is too long has lost its eos.

You truncate the finished row. Leave room for eos first, and add it then.

# one_id_too_many
- max_length - 1 -> max_length
A long row has one id more than `max_length`.

eos counts too, so only one word fewer fits.

# no_eos
- row[: max_length - 1] + [2] -> row[:max_length]
Your rows have no eos.

The encoder is to see where the sentence ends: add 2 after the words.

# padded_to_the_limit (#what-padding-costs)
- max(map(len, ended)) -> max_length
You pad every batch to `max_length`.

The rectangle is correct but too wide: the model computes every padding
position. Pad to the longest row of this batch.

# padded_to_what_was_cut
- max(map(len, ended)) -> max(len(row) + 1 for row in rows)
The width is that of the longest sentence before truncation.

Measure the rows after you have truncated them.

# padded_on_the_left
- row + [0] * (width - len(row)) -> [0] * (width - len(row)) + row
You pad on the left.

Every sentence is to begin at the first position.

# padded_with_eos
- [0] -> [2]
You pad with eos.

The mask of chapter 06 hides what is 0, so it would not hide this.

# cut_to_the_shortest
- max(map -> min(map
- row + [0] * (width - len(row)) -> row[:width]
You cut all rows to the length of the shortest.

Short rows are filled up; words are not thrown away for them.

# beginning_cut_off
- row[: max_length - 1] -> row[max(0, len(row) - max_length + 1) :]
You keep the end of a sentence that is too long.

It should lose words at its end, and keep its beginning.

# bos_in_front
- row[: max_length - 1] + [2] -> [1] + row[: max_length - 1] + [2]
or
- row[: max_length - 1] + [2] -> [1] + row[: max_length - 2] + [2]
You put a bos in front.

Only the target has one, because the decoder needs something to start from.
"""


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
    hints=(
        "How many words may a row keep, so that eos still fits? And after "
        "which step do you know how wide the batch is?",
        "Two steps: first a list of rows that are truncated and end with "
        "eos, then a row of zeros behind each, as long as what is lacking.",
    ),
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
