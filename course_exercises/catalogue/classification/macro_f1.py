"""Macro F1."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def macro_f1(
    right: Int[Tensor, " texts"], guesses: Int[Tensor, " texts"], classes: int
) -> Float[Tensor, ""]:
    """The mean over all classes of 2 TP / (2 TP + FP + FN).

    For one class, TP are the texts that have it and are taken for it, FP
    those that are taken for it wrongly, FN those that have it and are missed.

    Args:
        right: the class of each text, from 0.
        guesses: what each was taken for.
        classes: how many there are. One that is neither there nor guessed
            counts too: with 0, by convention.

    Returns:
        A tensor without axes, from 0 to 1; 0 if there are no texts at all.
    """
    ### BEGIN SOLUTION
    each = []
    for label in range(classes):
        hits = ((right == label) & (guesses == label)).sum()
        there = (right == label).sum()
        guessed = (guesses == label).sum()
        each.append(2 * hits / (there + guessed).clamp(min=1))
    return torch.stack(each).mean()
    ### END SOLUTION


@other
def f1_by_counting(right, guesses, classes):
    there = torch.bincount(right, minlength=classes)
    guessed = torch.bincount(guesses, minlength=classes)
    hits = torch.bincount(right[right == guesses], minlength=classes)
    return (2 * hits / (there + guessed).clamp(min=1)).mean()


@other
def f1_by_table(right, guesses, classes):
    table = torch.zeros(classes, classes)
    for i, j in zip(right.tolist(), guesses.tolist(), strict=True):
        table[i, j] += 1
    hits = table.diagonal()
    wrong = table.sum(dim=0) + table.sum(dim=1) - 2 * hits
    f1 = 2 * hits / (2 * hits + wrong)
    return f1.nan_to_num(0.0).mean()


def texts(note: str, right: list[int], guesses: list[int], n: int) -> Case:
    return case(note, torch.tensor(right), torch.tensor(guesses), n)


def draw_answers(draw: Draw) -> Case:
    length = draw.size(4, 20)
    right, guesses = (
        torch.tensor([draw.size(0, 3) for _ in range(length)])
        for _ in range(2)
    )
    return case("random answers", right, guesses, 4)


EXERCISE = exercise_of(
    macro_f1,
    section="17_classification#accuracy-if-classes-are-unequal",
    points=2,
    cases=[
        texts("all right", [0, 1, 1], [0, 1, 1], 2),
        texts("always the frequent class", [0, 0, 0, 1], [0, 0, 0, 0], 2),
        texts("one of each missed", [0, 0, 1, 1, 1], [0, 1, 1, 1, 0], 2),
        texts("three classes", [0, 1, 2, 2, 2, 2], [0, 2, 2, 2, 1, 2], 3),
        texts("a class that is not there", [0, 1, 1], [0, 1, 0], 3),
        texts("a class that is only guessed", [0, 0, 1], [0, 2, 1], 3),
        texts("nothing right", [0, 1], [1, 0], 2),
    ],
    draw=draw_answers,
)
