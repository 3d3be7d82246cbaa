"""Macro F1."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
)


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


@mistake
def plain_accuracy(right, guesses, classes):
    """You return the share of right answers.

    That is accuracy: a class with many texts counts much, and whoever always
    names it looks good. (F1 of the counts of all classes together, "micro F1",
    comes to the same.) Macro F1 gives each class the same weight.
    """
    return (right == guesses).float().mean()


@mistake
def f1_of_means(right, guesses, classes):
    """You join the mean precision and the mean recall of all classes.

    Macro F1 goes the other way round: first the F1 of each class, then the
    mean. A class with high precision and hardly any recall has an F1 near 0,
    and no other class can make up for that.
    """
    precision, recall = [], []
    for label in range(classes):
        hits = ((right == label) & (guesses == label)).sum()
        precision.append(hits / (guesses == label).sum().clamp(min=1))
        recall.append(hits / (right == label).sum().clamp(min=1))
    p, r = torch.stack(precision).mean(), torch.stack(recall).mean()
    return 2 * p * r / (p + r).clamp(min=1e-9)


EDITS = """
# precision_alone
- 2 * hits -> hits
- (there + guessed) -> guessed
You return the mean precision: of what is taken for a class, how much is it?

A classifier that names a class once, and rightly, has a precision of 1 there,
however many it misses.

# recall_alone
- 2 * hits -> hits
- (there + guessed) -> there
You return the mean recall: of what has a class, how much is found?

Whoever takes everything for one class has a recall of 1 there.

# arithmetic_mean
- 2 * hits / (there + guessed).clamp(min=1)
+ (hits / guessed.clamp(min=1) + hits / there.clamp(min=1)) / 2
You take the plain mean of precision and recall.

F1 is their harmonic mean, which is low if either is.

# hits_counted_once
- 2 * hits -> hits
You count the hits once.

Each of them is in both numbers below, among those that are there and among
those that are guessed. Your best score would be one half.

# hits_counted_once_below
- (there + guessed) -> (there + guessed - hits)
You count the hits twice above the line, and once below it.

Where all is right, you get 2. Each hit is among those that are there and among
those that are guessed.

# hits_counted_once_each
- 2 * hits -> hits
- (there + guessed) -> (there + guessed - hits)
You leave out both 2s: TP / (TP + FP + FN).

That is the Jaccard index. It puts classes into the same order, but is lower
than F1, except at 0 and 1.

# empty_class_nan
- .clamp(min=1) ->
You return NaN for a class that is neither there nor guessed.

That is 0 / 0; such a class counts with 0 here.

# empty_classes_left_out
- each.append -> if there + guessed: each.append
You leave out the classes that are neither there nor guessed.

Some do so. Here the mean is over all classes, and such a one counts with 0:
so two scores are means over the same number of classes.

# absent_classes_left_out
- range(classes) -> right.unique()
You leave out the classes that no text has.

The mean is over all of them: one that is not there has an F1 of 0.

# weighted_by_size
- .append( -> .append(there / len(right) *
- .mean() -> .sum()
You weigh each class by how many texts it has.

That is the "weighted" F1. In macro F1 a rare class counts as much as a
frequent one.

# summed
- .mean() -> .sum()
You add up the classes in place of taking their mean.
"""


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
    hints=(
        "Go through the classes one by one. For each you need three counts. "
        "2 TP + FP + FN is the number that are there plus the number that "
        "are guessed: why?",
        "There may be a class for which that sum is 0. Divide by at least 1.",
    ),
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
