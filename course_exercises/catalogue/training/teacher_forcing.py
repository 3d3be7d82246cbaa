"""Teacher forcing: decoder input and labels."""

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def teacher_forcing(
    tgt: Int[Tensor, "batch length"],
) -> tuple[Int[Tensor, "batch target"], Int[Tensor, "batch target"]]:
    """What the decoder reads, and what it must answer at each position.

    Args:
        tgt: whole targets: bos (1), words, eos (2), filled up with pad (0).

    Returns:
        A pair: what is read, and what must be answered. Both are one column
        narrower than ``tgt``, in all rows alike. At each position the right
        answer is the token that follows the one read there. In a shorter row
        some answers are padding, which no loss counts; all tokens, eos
        included, stay as they are in ``tgt``.
    """
    ### BEGIN SOLUTION
    tgt_in, tgt_out = tgt[:, :-1], tgt[:, 1:]
    return tgt_in, tgt_out
    ### END SOLUTION


@other
def forcing_by_narrow(tgt):
    places = tgt.size(1) - 1
    return tgt.narrow(1, 0, places), tgt.narrow(1, 1, places)


@other
def forcing_by_loop(tgt):
    rows = tgt.tolist()
    read = [[row[t] for t in range(len(row) - 1)] for row in rows]
    asked = [[row[t + 1] for t in range(len(row) - 1)] for row in rows]
    return torch.tensor(read), torch.tensor(asked)


def draw_targets(draw: Draw) -> Case:
    """Sentences with bos, eos and padding."""
    rows, length = draw.size(1, 4), draw.size(1, 6)
    words = draw.ids(rows, length)
    words += 3 * (words != 0)  # 1 to 3 are bos, eos and unk
    tgt = F.pad(words, (1, 1))
    tgt[:, 0] = 1
    tgt[torch.arange(rows), (words != 0).sum(dim=1) + 1] = 2
    return case("random sentences", tgt)


EXERCISE = exercise_of(
    teacher_forcing,
    section="12_training#what-the-model-is-asked-the-next-token",
    points=1,
    cases=[
        case("a single word", torch.tensor([[1, 7, 2]])),
        case("three words", torch.tensor([[1, 4, 5, 6, 2]])),
        case(
            "two sentences of different lengths",
            torch.tensor([[1, 4, 5, 2], [1, 6, 2, 0]]),
        ),
        case(
            "as many sentences as tokens",
            torch.tensor([[1, 4, 2], [1, 5, 2], [1, 2, 0]]),
        ),
        case("more padding", torch.tensor([[1, 4, 2, 0, 0], [1, 8, 9, 5, 2]])),
    ],
    draw=draw_targets,
)
