"""BLEU from n-gram counts."""

import math

import torch
from jaxtyping import Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def bleu(counts: Int[Tensor, "sentence 10"]) -> float:
    """BLEU of a corpus, from the counts of its sentences; not smoothed.

    Args:
        counts: a row for each sentence, with the columns h, r, m_1, m_2, m_3,
            m_4, t_1, t_2, t_3, t_4. These are the number of words written, h,
            and of the reference, r; the clipped matches m_n of n words in a
            row; and how many n words in a row were written, t_n. In a short
            sentence some are 0.

    Returns:
        A plain number from 0 to 100; 0 if one of the four n has no match in
        the whole corpus.
    """
    ### BEGIN SOLUTION
    h, r, *rest = counts.sum(dim=0).tolist()
    matches, totals = rest[:4], rest[4:]
    if 0 in matches:
        return 0.0
    precisions = [m / t for m, t in zip(matches, totals, strict=True)]
    brevity = math.exp(min(0.0, 1 - r / h))
    return 100 * brevity * math.prod(precisions) ** (1 / 4)
    ### END SOLUTION


@other
def bleu_by_tensors(counts):
    sums = counts.sum(dim=0).double()
    if (sums[2:6] == 0).any():
        return 0.0
    mean = (sums[2:6] / sums[6:]).log().mean().exp()
    penalty = torch.exp(1 - sums[1] / sums[0]).clamp(max=1)
    return float(100 * penalty * mean)


@other
def bleu_by_logarithms(counts):
    h, r, *rest = counts.sum(dim=0).tolist()
    matches, totals = rest[:4], rest[4:]
    if 0 in matches:
        return 0.0
    pairs = zip(matches, totals, strict=True)
    log_mean = sum(math.log(match / total) for match, total in pairs) / 4
    return 100 * math.exp(min(0.0, 1 - r / h) + log_mean)


@other
def bleu_by_product(counts):
    columns = [sum(column) for column in zip(*counts.tolist(), strict=True)]
    product = 1.0
    for n in range(4):
        if columns[2 + n] == 0:
            return 0.0
        product *= columns[2 + n] / columns[6 + n]
    h, r = columns[:2]
    penalty = 1.0 if h >= r else math.exp(1 - r / h)
    return 100.0 * penalty * product**0.25


def sentences(*rows: tuple[int, ...]) -> Tensor:
    """Counts of hypothesis and reference lengths and of four matches."""
    return torch.tensor(
        [[*row, *(max(0, row[0] - n) for n in range(4))] for row in rows]
    )


def draw_counts(draw: Draw) -> Case:
    rows = []
    for _ in range(draw.size(1, 5)):
        row = [draw.size(5, 12), draw.size(5, 12)]
        for n in range(4):
            last = row[-1] if n else min(row)
            most = min(last, row[0] - n, row[1] - n)
            row.append(max(0, most - draw.size(0, 2)))
        rows.append(tuple(row))
    return case("random counts", sentences(*rows))


EXERCISE = exercise_of(
    bleu,
    section="14_evaluation#bleu-of-a-whole-corpus",
    points=3,
    cases=[
        case("one sentence, all right", sentences((5, 5, 5, 4, 3, 2))),
        case("the chapter's sentence", sentences((7, 9, 7, 4, 3, 2))),
        case("too short, all right", sentences((5, 10, 5, 4, 3, 2))),
        case("too long", sentences((10, 5, 5, 4, 3, 2))),
        case("no four words match", sentences((6, 6, 4, 2, 1, 0))),
        case("nothing matches", sentences((5, 6, 0, 0, 0, 0))),
        case("shorter than four words", sentences((3, 3, 3, 2, 1, 0))),
        case(
            "one too short, one too long",
            sentences((4, 8, 4, 3, 2, 1), (12, 8, 7, 5, 4, 3)),
        ),
        case(
            "no four words match in one of two",
            sentences((6, 6, 4, 2, 1, 0), (9, 9, 9, 8, 7, 6)),
        ),
        case(
            "a good short one and a poor long one",
            sentences((5, 5, 5, 4, 3, 2), (12, 12, 6, 3, 2, 1)),
        ),
        case(
            "a whole page, a little too short",
            sentences(*[(9, 10, 8, 6, 4, 3), (11, 11, 9, 6, 5, 3)] * 10),
        ),
    ],
    draw=draw_counts,
)
