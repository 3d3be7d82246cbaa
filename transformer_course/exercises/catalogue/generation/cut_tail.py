"""Top-p: the tail of a distribution is cut off."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    other,
)


def cut_tail(
    probabilities: Float[Tensor, "rows vocab"], p: float
) -> Float[Tensor, "rows vocab"]:
    """Top-p: keep the smallest set of words that holds the share p.

    Args:
        probabilities: a distribution in each row. No two words of a row are
            equally probable.
        p: above 0, and at most 1.

    Returns:
        Distributions again, the words in their old places, in the old dtype.
        In each row words are kept from the most probable on, until their sum
        is p or more: at least one word. All others get 0, and those kept are
        divided by their sum.
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


EDITS = """
# word_that_reaches_p_dropped
- cumsum(dim=-1) - ordered -> cumsum(dim=-1)
- before < p -> before <= p
You drop the word with which the sum goes beyond p.

What you keep holds less than the share p. And where one word alone is more
probable than p, nothing is left, and 0 is divided by 0.

# word_that_meets_p_dropped
- cumsum(dim=-1) - ordered -> cumsum(dim=-1)
You drop the word with which the sum reaches p.

What you keep holds less than the share p, always. And where one word alone is
more probable than p, nothing is left, and 0 is divided by 0.

# only_the_first_is_safe
- cumsum(dim=-1) - ordered -> cumsum(dim=-1)
- before < p
+ before <= p
+ keep[:, 0] = True
You drop the word with which the sum goes beyond p, but never the first.

So nothing is divided by 0. But where more than one word is needed, what you
keep holds less than the share p.

# nothing_left_but_the_first
- cumsum(dim=-1) - ordered -> cumsum(dim=-1)
- kept = torch
+ keep[:, 0] = True
+ kept = torch
You drop the word with which the sum reaches p, but never the first.

So nothing is divided by 0. But where more than one word is needed, what you
keep holds less than the share p.

# row_left_empty
- cumsum(dim=-1) - ordered -> cumsum(dim=-1)
- keepdim=True) -> keepdim=True).clamp(min=1e-9)
You drop the word with which the sum reaches p.

What you keep holds less than the share p, always. And where one word alone is
more probable than p, your row is all zeros: nothing could be drawn from it.

# one_word_too_many
- before < p -> before <= p
Where the sum is exactly p, you take one word more.

The set that holds p is complete then.

# one_more_each_time
- before < p
+ before < p
+ keep[:, 1:] = keep[:, :-1].clone()
You keep one word too many.

You seem to shift the cut by one, so that the word that reaches p is kept; but
it was kept already.

# not_divided
- kept / kept.sum(dim=-1, keepdim=True) -> kept
What you keep does not sum to one.

The words are the right ones. Divide them by their sum, or else it is no
distribution.

# divided_by_p
- kept.sum(dim=-1, keepdim=True) -> p
You divide by p.

What was kept holds p *or more*, so your rows sum to more than one. It is their
own sum that they have to be divided by.

# divided_over_all_rows
- sum(dim=-1, keepdim=True) -> sum()
You divide by the sum of all rows together.

Each row is a distribution of its own, and has to sum to one.

# logarithms_returned
- kept / kept.sum(dim=-1, keepdim=True) -> kept.log()
or
- kept / kept.sum(dim=-1, keepdim=True)
+ (kept / kept.sum(dim=-1, keepdim=True)).log()
You return logarithms, with -inf where a word is cut.

That suits what a softmax comes after, as in the package. Probabilities were
given here, and probabilities are asked for.

# taken_for_logits
- ordered, order = probabilities -> ordered, order = probabilities.softmax(-1)
You take a softmax first, as if you had been given logits.

These are probabilities already. Another softmax makes them nearly equal, so
that far too many words are kept.

# softmax_of_probabilities
- kept / kept.sum(dim=-1, keepdim=True)
+ kept.masked_fill(kept == 0, -torch.inf).softmax(dim=-1)
You take a softmax of probabilities.

The words are the right ones. But a softmax wants logits: of numbers between 0
and 1 it makes nearly equal shares.

# tail_kept
- , descending=True ->
You keep the tail: the *least* probable words, until they hold p.

Sorted the other way, the sum begins at the wrong end.

# head_cut_off
- before < p -> before >= p
You cut off the head and keep the tail.

The words that hold p are found, and those are the ones that you set to 0.
Where they are all, 0 is divided by 0.

# left_in_order
- torch.zeros_like(ordered).scatter(-1, order, ordered * keep)
+ ordered * keep
Your words have changed places: they are still sorted.

Which word a number belongs to is told by its place. They have to go back to
where they were.

# sorted_twice
- torch.zeros_like(ordered).scatter(-1, order, ordered * keep)
+ (ordered * keep).gather(-1, order)
Your words have changed places.

You read by the order that sorting gave you, where you should *write* by it.
That does the sorting a second time instead of undoing it.

# mask_left_in_order
- torch.zeros_like(ordered).scatter(-1, order, ordered * keep)
+ probabilities * keep
You choose places in the sorted row, and apply them to the row as it was.

So what is kept is the first places, whatever words stand there.

# mask_sorted_twice
- torch.zeros_like(ordered).scatter(-1, order, ordered * keep)
+ probabilities * keep.gather(-1, order)
You keep the wrong words: the mask is not brought back to their places.

You read it by the order that sorting gave you, where you should *write* by it.
That does the sorting a second time instead of undoing it.

# never_sorted
- ordered, order = probabilities.sort(dim=-1, descending=True)
+ ordered = probabilities
- torch.zeros_like(ordered).scatter(-1, order, ordered * keep)
+ ordered * keep
You sum the words in the order of the vocabulary.

So it depends on a word's number whether it is kept. Begin with the most
probable.

# each_above_p
- before < p -> ordered >= p
You keep the words of which each alone has the probability p.

The share p is that of all words kept, together. With yours hardly anything is
left, and often nothing: 0 divided by 0.

# each_above_what_is_left
- before < p -> ordered >= 1 - p
You keep each word that is at least 1 - p.

The share p is that of all words kept, together; how probable the single ones
are does not matter.

# compared_with_the_best
- before < p -> ordered >= p * ordered[:, :1]
You keep the words that have p times the best one's probability.

Others do so, and call it min-p. Top-p looks at the sum of what is kept.

# share_of_the_vocabulary
- before < p
+ torch.arange(ordered.size(-1)) < max(1, int(p * ordered.size(-1)))
or
- before < p -> torch.arange(ordered.size(-1)) < p * ordered.size(-1)
You keep a share p of the *words*.

p is a share of the probability, and how many words it takes is another number
in each row: one where the model is sure, many where it is not.

# as_many_in_each_row
- before < p -> (before < p)[:1]
You keep equally many words in each row.

How many it takes is found in one row, or over all. Where the model is sure,
few words hold p; where it is not, many: each row for itself.

# as_many_as_the_unsurest
- before < p -> (before < p).any(dim=0)
You keep as many words in each row as the row that needs most.

Where the model is sure, few words hold p, and more than these are tail: each
row for itself.

# sorted_down_the_rows
- sort(dim=-1 -> sort(dim=0
- cumsum(dim=-1) -> cumsum(dim=0)
- scatter(-1 -> scatter(0
You sort and sum down the columns.

The words of a row compete with each other, so it is the last axis.

# nothing_cut
- before < p -> before < 2
Nothing is cut: you return the distribution as it was.

# share_turned
- before < p -> before < 1 - p
or
- before < p -> before <= 1 - p
You keep the words that hold 1 - p, and cut the rest.

The share p is that of what is kept; the tail gets 1 - p or less.

# missing_share_spread
- kept / kept.sum(dim=-1, keepdim=True)
+ kept + (1 - kept.sum(dim=-1, keepdim=True)) * (kept > 0) / (
+     (kept > 0).sum(dim=-1, keepdim=True)
+ )
You give each kept word an equal part of what was cut.

Then the less probable ones gain most. Divided by their sum, words keep their
proportions.

# kept_words_alike
- kept / kept.sum(dim=-1, keepdim=True)
+ (kept > 0) / (kept > 0).sum(dim=-1, keepdim=True)
All words that you keep are equally probable.

Only the tail is to go: the others keep their proportions.
"""


def draw_rows(draw: Draw) -> Case:
    logits = 2 * draw.normal(draw.size(1, 4), draw.size(3, 7))
    p = draw.choice([0.3, 0.6, 0.8, 0.9])
    return case("random rows", logits.softmax(dim=-1), p)


def rows(note: str, p: float, *probabilities: list[float]) -> Case:
    return case(note, torch.tensor(probabilities), p)


EXERCISE = exercise_of(
    cut_tail,
    place=3,
    section="13_generation#drawing-in-place-of-choosing",
    points=3,
    hints=(
        "Do it on paper for .5, .4, .1 and a share of .8: .5 is not enough, "
        ".9 is. For each word, the probability of all that is *more* probable "
        "decides. What is that for the first word, and what follows for it?",
        "Sort each row downwards and keep the indices. A cumulative sum, "
        "less the word itself, is what stands before it; compare that with "
        "p. Divide by the sum of what is left, and scatter it back by the "
        "indices.",
    ),
    cases=[
        rows("the chapter's row, .8", 0.8, [0.5, 0.4, 0.1]),
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
    edits=EDITS,
)
