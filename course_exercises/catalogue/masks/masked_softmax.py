"""Masked softmax."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
    variant_of,
)

BEFORE = "06_masks#why-minus-infinity-and-why-before-the-softmax"


def masked_softmax(
    scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "..."]
) -> Float[Tensor, "*batch query key"]:
    """Weigh the keys that may be attended to, and no others.

    Args:
        scores: how well each key answers each query.
        mask: True = may be attended to; broadcast to the scores' shape.

    Returns:
        A softmax over the keys that the mask allows; the hidden ones have
        weight 0. A row that may attend nowhere is all zeros, and its
        gradient is not NaN either. All of it holds for scores of any size,
        and for float16 too; the weights have the dtype of the scores.
    """
    ### BEGIN SOLUTION
    somewhere = mask.any(dim=-1, keepdim=True)
    opened = mask | ~somewhere  # rows that are empty see all, for now
    weights = scores.masked_fill(~opened, -torch.inf).softmax(dim=-1)
    return weights * somewhere
    ### END SOLUTION


@other
def softmax_by_where(scores, mask):
    mask = mask.expand_as(scores)
    empty = ~mask.any(dim=-1, keepdim=True)
    hidden = torch.where(mask | empty, scores, float("-inf"))
    weights = torch.softmax(hidden, dim=-1)
    return torch.where(empty, torch.zeros_like(weights), weights)


@other
def softmax_by_hand(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    largest = hidden.amax(dim=-1, keepdim=True).detach()
    largest = largest.clamp(min=torch.finfo(scores.dtype).min)
    terms = (hidden - largest).exp()
    total = terms.sum(dim=-1, keepdim=True)
    return terms / total.masked_fill(total == 0, 1.0)


@other
def softmax_mended(scores, mask):
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


@other
def softmax_of_finite_minimum(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


EDITS = """
# mask_inverted (#mask-conventions-of-other-libraries)
- somewhere = mask.any
+ mask = ~mask
+ somewhere = mask.any
Your weights lie on the keys that the mask hides.

In this course True says that a key *may be* attended to.

# mask_after_softmax (#what-wrong-masks-do)
- scores.masked_fill(~opened, -torch.inf) -> scores
- weights * somewhere -> weights * mask
You hide keys *after* the softmax, by multiplying their weights by 0.

The hidden keys are still part of the softmax's sum. So what is left of a row
does not sum to one, and what is missing depends on the hidden scores.

# scores_times_zero
- scores.masked_fill(~opened, -torch.inf) -> (scores * mask)
- weights * somewhere -> weights
or
- scores.masked_fill(~opened, -torch.inf) -> (scores * mask)
- weights * somewhere -> weights * mask
You multiply the hidden scores by 0 before the softmax.

A score of 0 is an ordinary score: its key still gets a weight, since e⁰ is 1.

# empty_rows_not_a_number (#rows-that-may-attend-nowhere)
- ~opened -> ~mask
A row that may attend nowhere becomes NaN.

All its scores are -inf, so that the softmax divides 0 by 0. Such a row has to
be all zeros.

# empty_rows_see_all (#rows-that-may-attend-nowhere)
- weights * somewhere -> weights
A row that may attend nowhere looks everywhere, as if nothing were hidden.

Opening such a row keeps the softmax finite, but afterwards its weights have to
be set to 0.

# empty_rows_uniform (#minus-infinity-or-a-large-negative-number)
- ~opened, -torch.inf -> ~mask, torch.finfo(scores.dtype).min
- weights * somewhere -> weights
A row that may attend nowhere looks everywhere, with equal weights.

You hide with a number that is very low, but finite. Where all scores of a row
are that number, they are equal to the softmax. Such a row has to be all zeros.

# hidden_by_minus_1e9 (#minus-infinity-or-a-large-negative-number)
- ~opened, -torch.inf -> ~mask, -1e9
- weights * somewhere -> weights
You hide with -1e9 or a number like it.

float16 goes down to -65504 only. And a row that may attend nowhere looks
everywhere, with equal weights.

# not_low_enough (#minus-infinity-or-a-large-negative-number)
- ~opened, -torch.inf -> ~mask, -1e4
- weights * somewhere -> weights
or
- ~opened, -torch.inf -> ~mask, -1e4
- weights * somewhere -> weights * mask
You hide with a number that is low, but not low enough.

Scores can be lower still: then the hidden keys get nearly all the weight, and
those that may be seen get nothing.

# minus_1e9_and_zeros (#minus-infinity-or-a-large-negative-number)
- ~opened, -torch.inf -> ~mask, -1e9
- weights * somewhere -> weights * mask
You hide with a number that float16 does not have, such as -1e9.

The lowest number of float16 is -65504. Use the lowest of the scores' own
dtype, or -inf.

# not_a_number_mended (#rows-that-may-attend-nowhere)
- scores.masked_fill(~opened, -torch.inf)
+ (scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf))
- weights * somewhere -> weights.nan_to_num(0.0)
The gradient of empty rows is NaN, though their weights are not.

You add -inf to hidden scores, let the softmax divide 0 by 0, and replace the
NaN by zeros. The gradient still goes through it: 0 · NaN is NaN. After one
training step all the model's parameters are NaN.

# softmax_over_queries (04_attention#three-tokens-by-hand)
- softmax(dim=-1) -> softmax(dim=-2)
- weights * somewhere -> weights * mask
or
- ~opened, -torch.inf).softmax(dim=-1) -> ~mask, -1e9).softmax(dim=-2)
- weights * somewhere -> weights * mask
Your softmax runs over the queries, down the columns.

Each query spreads its own attention: every *row* has to sum to one.

# softmax_over_the_table (04_attention#three-tokens-by-hand)
- ~opened, -torch.inf).softmax(dim=-1)
+ ~mask, -torch.inf).flatten(-2).softmax(dim=-1)
- weights * somewhere -> weights.view_as(scores)
Your softmax runs over queries and keys together.

So it is the whole table that sums to one. Each query spreads its own
attention: every *row* has to sum to one.

# mask_ignored
- scores.masked_fill(~opened, -torch.inf) -> scores
- weights * somewhere -> weights
Your weights are those of a plain softmax: nothing is hidden.

Where the mask is False, the weight has to be 0, and the others of the row
have to sum to one.

# mask_added_to_scores (#mask-conventions-of-other-libraries)
- scores.masked_fill(~opened, -torch.inf) -> (scores + mask)
- weights * somewhere -> weights
You add the mask to the scores, as if it held 0 and -inf.

It holds True and False, which count as 1 and 0: keys that may be seen get
more weight, but none is hidden.

# zero_times_infinity (#minus-infinity-or-a-large-negative-number)
- scores.masked_fill(~opened, -torch.inf)
+ (scores + ~mask * -torch.inf)
- weights * somewhere -> weights
You multiply the mask by -inf before you add it.

Where nothing is hidden, that is 0 times infinity: not 0, but NaN.

# one_maximum_for_all (05_score_functions#a-softmax-that-cannot-overflow)
- weights = scores.masked_fill(~opened, -torch.inf).softmax(dim=-1)
+ hidden = scores.masked_fill(~opened, -torch.inf)
+ terms = (hidden - hidden.max()).exp()
+ total = terms.sum(dim=-1, keepdim=True)
+ weights = terms / total.masked_fill(total == 0, 1.0)
or
- weights = scores.masked_fill(~opened, -torch.inf).softmax(dim=-1)
+ hidden = scores.masked_fill(~opened, -torch.inf)
+ terms = (hidden - hidden.max()).exp()
+ weights = terms / terms.sum(dim=-1, keepdim=True)
You subtract one maximum from all scores, that of the whole table.

In a row that lies far below it, every e^s underflows to 0, and so does their
sum. Each row needs its own maximum.

# exponentials_of_large_scores
(05_score_functions#a-softmax-that-cannot-overflow)
- weights = scores.masked_fill(~opened, -torch.inf).softmax(dim=-1)
+ terms = scores.masked_fill(~opened, -torch.inf).exp()
+ weights = terms / terms.sum(dim=-1, keepdim=True)
or
- weights = scores.masked_fill(~opened, -torch.inf).softmax(dim=-1)
+ terms = scores.masked_fill(~mask, -torch.inf).exp()
+ weights = terms / terms.sum(dim=-1, keepdim=True)
or
- weights = scores.masked_fill(~opened, -torch.inf).softmax(dim=-1)
+ terms = scores.masked_fill(~mask, -torch.inf).exp()
+ total = terms.sum(dim=-1, keepdim=True)
+ weights = terms / total.masked_fill(total == 0, 1.0)
You take e^s of the scores as they are.

For a large score that is infinity, and infinity divided by infinity is NaN.
For very low scores it is 0, and so is their sum.

# softmax_over_axis_1 (04_attention#three-tokens-by-hand)
- softmax(dim=-1) -> softmax(dim=1)
or
- softmax(dim=-1) -> softmax(dim=1)
- weights * somewhere -> weights * mask
or
- ~opened, -torch.inf).softmax(dim=-1)
+ ~mask, torch.finfo(scores.dtype).min).softmax(dim=1)
- weights * somewhere -> weights * mask
Your softmax runs over axis 1.

In a table of two axes those are the keys; with a batch in front they are not.
The keys are the last axis, -1.

# weights_in_float32
- softmax(dim=-1) -> softmax(dim=-1, dtype=torch.float32)
or
- weights * somewhere -> (weights * somewhere).float()
Your weights are float32, whatever the scores are.

It is a good idea to compute a softmax in float32. But the weights have to be
returned in the dtype of the scores, or the product with the values fails.

# axis_lost
- mask.any(dim=-1, keepdim=True) -> mask.any(dim=-1)
When you ask which rows are empty, you lose the axis of the keys.

Without `keepdim=True` there is one number for each query, and broadcasting
takes the queries for keys. Where the sizes differ, that is an error; where
they do not, the wrong keys are hidden.

# empty_columns_for_rows (#rows-that-may-attend-nowhere)
- mask.any(dim=-1 -> mask.any(dim=-2
You look for empty *columns*: keys that no query may attend to.

It is a *row* that may be empty, a query that may attend to no key. For a row,
`any` runs over the keys, the last axis.
"""


@mistake(see=BEFORE)
def mask_after_and_divided(scores, mask):
    """You strike weights out after the softmax and divide by the sum of the
    rest.

    On paper that is right. But where a hidden key has by far the largest
    score, the weights of all others underflow to 0, and you divide 0 by 0. An
    empty row is 0 / 0 too.
    """
    weights = scores.softmax(dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True)


@mistake(see=BEFORE)
def mask_after_and_divided_safely(scores, mask):
    """You strike weights out after the softmax and divide by the sum of the
    rest, guarded against 0.

    Where a hidden key has by far the largest score, the weights of all others
    underflow to 0: the guard keeps that from being NaN, but the row is all
    zeros. Hide keys *before* the softmax.
    """
    weights = scores.softmax(dim=-1) * mask
    return weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)


@mistake(see="05_score_functions#a-softmax-that-cannot-overflow")
def exponentials_times_zero(scores, mask):
    """You take e^s of every score, and multiply the hidden ones by 0.

    For a large score e^s is infinity, and 0 times infinity is NaN. And where
    all keys are hidden, or all scores very low, you divide 0 by 0.
    """
    terms = scores.exp() * mask
    return terms / terms.sum(dim=-1, keepdim=True)


@variant_of(exponentials_times_zero)
def exponentials_times_zero_safely(scores, mask):
    terms = scores.exp() * mask
    return terms / (terms.sum(dim=-1, keepdim=True) + 1e-9)


def draw_scores(draw: Draw) -> Case:
    batch, heads = draw.size(1, 3), draw.size(1, 3)
    query, key = draw.size(2, 5), draw.size(2, 6)
    shape = draw.choice([(batch, 1, 1, key), (1, 1, query, key)])
    scores = 2 * draw.normal(batch, heads, query, key)
    return case("random scores", scores, draw.mask(*shape))


EXERCISE = exercise_of(
    masked_softmax,
    section=BEFORE,
    points=3,
    hints=(
        "What has to become of a hidden score, so that its term e^s is "
        "exactly 0? And do it before the softmax, so that the term is not in "
        "the sum either. Then think of a row in which all are hidden.",
        "Fill the hidden scores with -inf, out of place. For a row that may "
        "attend nowhere, find out first that it is one, open it so that the "
        "softmax is finite, and set its weights to 0 afterwards.",
    ),
    cases=[
        case(
            "one query, one of two keys hidden",
            torch.tensor([[1.0, 2.0]]),
            torch.tensor([[True, False]]),
        ),
        case(
            "a row that may attend nowhere",
            torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
            torch.tensor([[False, False], [True, True]]),
        ),
        case(
            "a hidden score that is far larger",
            torch.tensor([[200.0, 0.0, 1.0]]),
            torch.tensor([[False, True, True]]),
        ),
        case(
            "everything visible",
            torch.tensor([[0.0, 1.0], [3.0, 0.0], [1.0, 1.0]]),
            torch.tensor([[True, True]]),
        ),
        case(
            "large scores",
            torch.tensor([[200.0, 201.0, 0.0]]),
            torch.tensor([[True, True, False]]),
        ),
        case(
            "a row far below another",
            torch.tensor([[200.0, 201.0], [0.0, 1.0]]),
            torch.tensor([[True, True]]),
        ),
        case(
            "very low scores",
            torch.tensor([[-1e5, -1.1e5, 0.0]]),
            torch.tensor([[True, True, False]]),
        ),
        case(
            "float16",
            torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float16),
            torch.tensor([[True, True, False]]),
        ),
        case(
            "padding, the same for all heads and queries",
            Draw(10).normal(2, 2, 3, 4),
            torch.tensor([[True] * 4, [True, True, False, False]])[
                :, None, None
            ],
        ),
        case(
            "the future hidden",
            Draw(11).normal(1, 2, 4, 4),
            torch.ones(4, 4, dtype=torch.bool).tril()[None, None],
        ),
    ],
    draw=draw_scores,
)
