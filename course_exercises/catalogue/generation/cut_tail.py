"""Top-p (nucleus) filtering."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def cut_tail(
    probabilities: Float[Tensor, "rows vocab"], p: float
) -> Float[Tensor, "rows vocab"]:
    """Top-p: keep the smallest set of words that holds the share p.

    Args:
        probabilities: a distribution in each row. No two words of a row are
            equally probable.
        p: above 0, and at most 1.

    Returns:
        Distributions again, the words in their old positions, in the old
        dtype. In each row words are kept from the most probable on, until
        their sum is p or more: at least one word. All others get 0, and those
        kept are divided by their sum.
    """
    ### BEGIN SOLUTION
    ordered, order = probabilities.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered
    keep = before < p
    kept = torch.zeros_like(ordered).scatter(-1, order, ordered * keep)
    return kept / kept.sum(dim=-1, keepdim=True)
    ### END SOLUTION


@other
def tail_by_loop(probabilities, p):
    rows = []
    for row in probabilities:
        keep, total = torch.zeros_like(row), 0.0
        for word in row.argsort(descending=True).tolist():
            if total >= p:
                break
            keep[word] = 1
            total += row[word].item()
        rows.append(row * keep / (row * keep).sum())
    return torch.stack(rows)


@other
def tail_by_comparing(probabilities, p):
    larger = probabilities[:, None, :] > probabilities[:, :, None]
    before = (larger * probabilities[:, None, :]).sum(dim=-1)
    kept = probabilities.masked_fill(before >= p, 0)
    return kept / kept.sum(dim=-1, keepdim=True)


@other
def tail_by_logits(probabilities, p):
    ordered, order = torch.sort(probabilities, dim=1, descending=True)
    cumulative = torch.cumsum(ordered, dim=1)
    drop = torch.cat(
        [torch.zeros_like(cumulative[:, :1]), cumulative[:, :-1]], dim=1
    )
    drop = (drop >= p).gather(1, order.argsort(dim=1))
    return probabilities.log().masked_fill(drop, -torch.inf).softmax(dim=1)


def draw_rows(draw: Draw) -> Case:
    logits = 2 * draw.normal(draw.size(1, 4), draw.size(3, 7))
    p = draw.choice([0.3, 0.6, 0.8, 0.9])
    return case("random rows", logits.softmax(dim=-1), p)


def rows(note: str, p: float, *probabilities: list[float]) -> Case:
    return case(note, torch.tensor(probabilities), p)


EXERCISE = exercise_of(
    cut_tail,
    section="13_generation#sampling-draw-instead-of-choosing",
    points=3,
    cases=[
        rows("the chapter's row, 0.8", 0.8, [0.5, 0.4, 0.1]),
        rows("less than one word", 0.45, [0.5, 0.4, 0.1]),
        rows("not sorted", 0.8, [0.1, 0.3, 0.6]),
        rows("in another order", 0.8, [0.3, 0.1, 0.6]),
        rows("a sum that is exactly p", 0.75, [0.5, 0.25, 0.1875, 0.0625]),
        rows("everything", 1.0, [0.25, 0.625, 0.125]),
        rows("a single word", 0.5, [1.0]),
        rows(
            "a sure row and an unsure one",
            0.7,
            [0.9, 0.06, 0.04],
            [0.2, 0.35, 0.45],
        ),
        rows(
            "an unsure row and a sure one",
            0.7,
            [0.2, 0.35, 0.45],
            [0.06, 0.04, 0.9],
        ),
        case("float64", Draw(4).normal(2, 4).double().softmax(dim=-1), 0.6),
    ],
    draw=draw_rows,
)
