"""Top-p (nucleus) filtering."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


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


EDITS = """
# word_that_reaches_p_dropped
- cumsum(dim=-1) - ordered -> cumsum(dim=-1)
- before < p -> before <= p
You drop the word with which the sum goes beyond p.

What you keep then holds less than the share p. And where one word alone is
more probable than p, nothing is left, and you divide 0 by 0.

# word_that_meets_p_dropped
- cumsum(dim=-1) - ordered -> cumsum(dim=-1)
You drop the word with which the sum reaches p.

So what you keep always holds less than the share p. And where one word alone
is more probable than p, nothing is left, and you divide 0 by 0.

# only_the_first_is_safe
- cumsum(dim=-1) - ordered -> cumsum(dim=-1)
- before < p
+ before <= p
+ keep[:, 0] = True
You drop the word with which the sum goes beyond p, but never the first.

So some word is always left. But where it takes more than one, what you keep
holds less than the share p.

# nothing_left_but_the_first
- cumsum(dim=-1) - ordered -> cumsum(dim=-1)
- kept = torch
+ keep[:, 0] = True
+ kept = torch
You drop the word with which the sum reaches p, but never the first.

So some word is always left. But where it takes more than one, what you keep
holds less than the share p.

# row_left_empty
- cumsum(dim=-1) - ordered -> cumsum(dim=-1)
- keepdim=True) -> keepdim=True).clamp(min=1e-9)
You drop the word with which the sum reaches p.

So what you keep always holds less than the share p. And where one word alone
is more probable than p, your row is all zeros: nothing can be drawn from it.

# first_not_made_safe
- keep =
+ before[:, 0] = ordered[:, 0]
+ keep =
Where the first word alone holds the share p, you drop it.

Do you shift the cut by one, and leave the first position as it was? Nothing
comes before the most probable word: you always have to keep it.

# one_word_too_many
- before < p -> before <= p
Where the sum is exactly p, you keep one word more.

Stop there: a sum of p is enough.

# one_more_each_time
- before < p
+ before < p
+ keep[:, 1:] = keep[:, :-1].clone()
You keep one word too many.

The word that reaches p is the last one to keep. You also keep the one after
it: is your cut shifted once too often?

# not_divided
- kept / kept.sum(dim=-1, keepdim=True) -> kept
What you keep does not sum to one.

Divide each row by its sum, or else it is no distribution.

# divided_by_p
- kept.sum(dim=-1, keepdim=True) -> p
You divide by p.

What is kept holds p *or more*: then such a row sums to more than one. Divide
each row by its own sum.

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

That is right where a softmax follows, as in the package. This exercise asks
for probabilities.

# minus_infinity_for_zero
- ordered * keep -> ordered.masked_fill(~keep, -torch.inf)
You set the words that you cut to -inf.

That is for logits, ahead of a softmax. These are probabilities, and that of a
word that cannot be drawn is 0.

# taken_for_logits
- ordered, order = probabilities -> ordered, order = probabilities.softmax(-1)
You take a softmax first, as if you had been given logits.

They are probabilities already. Another softmax makes them nearly equal, so
that far too many words are kept.

# softmax_of_probabilities
- kept / kept.sum(dim=-1, keepdim=True)
+ kept.masked_fill(kept == 0, -torch.inf).softmax(dim=-1)
You take a softmax of the probabilities that you keep.

A softmax is for logits: it turns numbers between 0 and 1 into nearly equal
shares. Divide by the sum.

# tail_kept
- , descending=True ->
You keep the tail: the *least* probable words, until they hold p.

Sort the other way round: the sum has to begin with the most probable word.

# head_cut_off
- before < p -> before >= p
You cut off the head and keep the tail.

You set exactly those words to 0 that hold the share p. Where these are all
words, you divide 0 by 0.

# left_in_order
- torch.zeros_like(ordered).scatter(-1, order, ordered * keep)
+ ordered * keep
Your words have changed places: they are still sorted.

The position of a number says which word it belongs to. Put each back where it
was.

# sorted_twice
- torch.zeros_like(ordered).scatter(-1, order, ordered * keep)
+ (ordered * keep).gather(-1, order)
Your words have changed places.

You *read* by the indices that sorting gave you, where you should *write* by
them. That reorders the words once more instead of undoing it.

# mask_left_in_order
- torch.zeros_like(ordered).scatter(-1, order, ordered * keep)
+ probabilities * keep
You choose positions in the sorted row, and apply them to the row as it was.

So you keep the first positions of the row, whatever words are there.

# mask_sorted_twice
- torch.zeros_like(ordered).scatter(-1, order, ordered * keep)
+ probabilities * keep.gather(-1, order)
You keep the wrong words: you do not bring the mask back to their places.

You *read* it by the indices that sorting gave you, where you should *write* by
them. That reorders it once more instead of undoing it.

# never_sorted
- ordered, order = probabilities.sort(dim=-1, descending=True)
+ ordered = probabilities
- torch.zeros_like(ordered).scatter(-1, order, ordered * keep)
+ ordered * keep
You sum the probabilities in the order of the vocabulary.

Then it depends on a word's number whether you keep it. Begin with the most
probable word.

# each_above_p
- before < p -> ordered >= p
You keep the words that have at least the probability p, each by itself.

p is the share that all kept words hold together. With yours hardly a word is
left, and often none: then you divide 0 by 0.

# each_above_what_is_left
- before < p -> ordered >= 1 - p
You keep each word that has at least the probability 1 - p.

p is the share that all kept words hold together: compare sums with it, not
single words.

# compared_with_the_best
- before < p -> ordered >= p * ordered[:, :1]
You keep the words that have at least p times the probability of the best one.

That is another rule, called min-p. Top-p looks at the sum of what is kept.

# share_of_the_vocabulary
- before < p
+ torch.arange(ordered.size(-1)) < max(1, int(p * ordered.size(-1)))
or
- before < p -> torch.arange(ordered.size(-1)) < p * ordered.size(-1)
You keep a share p of the *words*.

p is a share of the *probability*. How many words it takes differs from row to
row: one where the model is sure, many where it is not.

# as_many_in_each_row
- before < p -> (before < p)[:1]
You keep as many words in each row as the first row needs.

Where the model is sure, few words hold p; where it is not, many. Count in each
row by itself.

# as_many_as_the_unsurest
- before < p -> (before < p).any(dim=0)
You keep as many words in each row as the row that needs most.

Where the model is sure, few words hold p, and you keep some of the tail. Count
in each row by itself.

# sorted_down_the_rows
- sort(dim=-1 -> sort(dim=0
- cumsum(dim=-1) -> cumsum(dim=0)
- scatter(-1 -> scatter(0
You sort and sum down the columns.

Each row is a distribution: its words are along the last axis.

# nothing_cut
- before < p -> before < 2
You cut nothing: what you return has all its words.

Once the sum of the most probable words is p or more, all others get 0.

# share_turned
- before < p -> before < 1 - p
or
- before < p -> before <= 1 - p
You keep the words that hold 1 - p, and cut the rest.

p is the share of what you keep. The tail is what is left, 1 - p or less.

# missing_share_spread
- kept / kept.sum(dim=-1, keepdim=True)
+ kept + (1 - kept.sum(dim=-1, keepdim=True)) * (kept > 0) / (
+     (kept > 0).sum(dim=-1, keepdim=True)
+ )
You give each kept word an equal part of what was cut.

So the less probable ones gain most. Divided by their sum, the words keep their
proportions.

# kept_words_alike
- kept / kept.sum(dim=-1, keepdim=True)
+ (kept > 0) / (kept > 0).sum(dim=-1, keepdim=True)
All words that you keep are equally probable.

Cut only the tail: the other words keep their proportions.
"""


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
    hints=(
        "Do it on paper for 0.5, 0.4, 0.1 and a share of 0.8: 0.5 is not "
        "enough, 0.9 is. For each word, the probability of all that is "
        "*more* probable decides. What is that for the first word, and what "
        "follows for it?",
        "Sort each row downwards and keep the indices. A cumulative sum, "
        "less the word itself, is what stands before it; compare that with "
        "p. Divide by the sum of what is left, and scatter it back by the "
        "indices.",
    ),
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
