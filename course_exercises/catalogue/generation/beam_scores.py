"""Scores of beam search, with a length penalty."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def beam_scores(
    tgt: Int[Tensor, "beam length"],
    log_probs: Float[Tensor, " beam"],
    alpha: float,
) -> Float[Tensor, " beam"]:
    """Score hypotheses as a beam ranks them, by GNMT's length penalty.

    Args:
        tgt: a row for each hypothesis: bos (1), the tokens written, and then
            eos (2) if it has ended; pad (0) fills up.
        log_probs: log p of each hypothesis, the sum of its tokens'
            log-probabilities: logarithms already, 0 or below.
        alpha: the exponent; with 0 nothing changes.

    Returns:
        The score of each hypothesis: s = log p / ((5 + length) / 6)^alpha,
        in the order and the dtype of ``log_probs``. The length counts what
        was written in its row: eos if it is there, but neither bos nor pad.
    """
    ### BEGIN SOLUTION
    written = tgt[:, 1:] != 0
    lengths = written.sum(dim=1)
    penalty = ((5 + lengths) / 6) ** alpha
    return log_probs / penalty
    ### END SOLUTION


@other
def scores_by_loop(tgt, log_probs, alpha):
    scores = []
    for row, log_p in zip(tgt.tolist(), log_probs, strict=True):
        length = len([token for token in row if token > 1])
        scores.append(log_p / math.pow((5 + length) / 6, alpha))
    return torch.stack(scores)


@other
def scores_by_logarithms(tgt, log_probs, alpha):
    pads = tgt.eq(0).sum(dim=1)
    length = tgt.size(1) - 1 - pads
    penalty = alpha * (torch.log(5.0 + length) - math.log(6))
    return log_probs * torch.exp(-penalty).to(log_probs.dtype)


def draw_beam(draw: Draw) -> Case:
    words = draw.ids(draw.size(1, 4), draw.size(1, 6))
    words += 3 * (words != 0)
    beam, length = words.shape
    tgt = torch.zeros(beam, length + 2, dtype=torch.long)
    tgt[:, 0], tgt[:, 1:-1] = 1, words
    for row in tgt:
        if draw.choice([True, True, False]):
            row[int((row != 0).sum())] = 2
    log_probs = -3 * draw.normal(beam).abs()
    return case("a random beam", tgt, log_probs, draw.choice([0.6, 1.0, 1.8]))


def beam(
    note: str, rows: list[list[int]], log_probs: list[float], alpha: float
) -> Case:
    return case(note, torch.tensor(rows), torch.tensor(log_probs), alpha)


EXERCISE = exercise_of(
    beam_scores,
    section="13_generation#when-the-likelier-translation-is-worse",
    points=2,
    cases=[
        beam("the empty sentence: its penalty is 1", [[1, 2]], [-2.0], 1.0),
        beam(
            "six words and eos: its penalty is 2",
            [[1, 4, 5, 6, 7, 8, 9, 2]],
            [-3.0],
            1.0,
        ),
        beam("alpha 0", [[1, 4, 2], [1, 2, 0]], [-3.0, -2.0], 0.0),
        beam(
            "a short one and a long one",
            [[1, 2, 0, 0], [1, 4, 5, 2]],
            [-2.0, -2.4],
            0.6,
        ),
        beam("not ended yet", [[1, 4, 5], [1, 4, 2]], [-1.0, -1.5], 1.0),
        beam(
            "the chapter's two sentences",
            [[1, 2, 0, 0, 0, 0, 0, 0], [1, 4, 5, 6, 7, 8, 9, 2]],
            [-2.30, -3.17],
            0.47,
        ),
        case(
            "float64",
            torch.tensor([[1, 4, 5, 2], [1, 6, 2, 0]]),
            torch.tensor([-3.0, -2.5], dtype=torch.float64),
            2.0,
        ),
    ],
    draw=draw_beam,
)
