"""Multi-head attention."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    call,
    exercise_of,
    module_case,
    other,
)
from transformer_course.models.attention import scaled_dot_product_attention
from transformer_course.models.masks import causal_mask, padding_mask

from . import FORMULA
from .merge_heads import merge_heads
from .split_heads import split_heads


class MultiHead(nn.Module):
    """Several attentions side by side, each on its own projections.

    The four matrices are there, each for all heads at once. Each head is a
    scaled dot-product attention as in chapter 04, for scores of any size, on
    its own section of what they give: ``d_model / n_heads`` numbers of each
    token, as ``split_heads`` cuts them. There is no dropout, and no sum with
    the input.

    Args:
        d_model: width of input and output.
        n_heads: how many heads share it.
    """

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend from ``query`` to ``memory``, with every head.

        Args:
            query: the positions that ask.
            memory: the positions to look at, which give keys and values;
                None means the query's own.
            mask: True = may attend; four axes, each as long as in (batch,
                heads, query, key) or 1. None means that all may be looked
                at. No row is without a key that may be looked at.

        Returns:
            What the heads say, laid side by side and mixed by the output
            matrix.
        """
        ### BEGIN SOLUTION
        source = query if memory is None else memory
        q = self.to_query(query)
        k = self.to_key(source)
        v = self.to_value(source)
        q, k, v = (split_heads(x, self.n_heads) for x in [q, k, v])
        answers, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.to_output(merge_heads(answers))
        ### END SOLUTION


@other
class InSteps(MultiHead):
    def forward(self, query, memory=None, mask=None):
        source = query if memory is None else memory
        q, k, v = (
            torch.stack(project(x).chunk(self.n_heads, dim=-1), dim=1)
            for project, x in (
                (self.to_query, query),
                (self.to_key, source),
                (self.to_value, source),
            )
        )
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        answers = torch.einsum("bhqk,bhkd->bhqd", scores.softmax(dim=-1), v)
        return self.to_output(torch.cat(answers.unbind(1), dim=-1))


@other
class SumOfHeads(MultiHead):
    def forward(self, query, memory=None, mask=None):
        memory = query if memory is None else memory
        width = query.size(-1) // self.n_heads
        output = 0
        for i in range(self.n_heads):
            rows = slice(i * width, (i + 1) * width)
            q = query @ self.to_query.weight[rows].T
            k = memory @ self.to_key.weight[rows].T
            v = memory @ self.to_value.weight[rows].T
            own = mask if mask is None else mask[:, i % mask.size(1)]
            answer, _ = scaled_dot_product_attention(q, k, v, own)
            output = output + answer @ self.to_output.weight[:, rows].T
        return output


@other
class Fused(MultiHead):
    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        batch, length, d_model = query.shape

        def split(x):
            x = x.view(batch, -1, self.n_heads, d_model // self.n_heads)
            return x.transpose(1, 2)

        answers = F.scaled_dot_product_attention(
            split(self.to_query(query)),
            split(self.to_key(memory)),
            split(self.to_value(memory)),
            mask,
        )
        merged = answers.transpose(1, 2).contiguous()
        return self.to_output(merged.view(batch, length, d_model))


def attend(query, key, value, mask=None, hidden=-torch.inf, axis=-1):
    """Attention with the options that edits choose from."""
    scores = query @ key.mT / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, hidden)
    weights = scores.softmax(axis)
    return torch.einsum("bhqk,bhkd->bhqd", weights, value), weights


def attend_by_exp(query, key, value, mask=None):
    terms = (query @ key.mT / query.size(-1) ** 0.5).exp()
    terms = terms if mask is None else terms * mask
    weights = terms / terms.sum(dim=-1, keepdim=True)
    return weights @ value, weights


EDITS = """
# ScaledByWholeWidth
- (q, k, -> (q / self.n_heads**0.5, k,
You divide the scores by √d_model.

A head's dot product has only d_model / h terms, and grows with the root of
*their* number. If you divide by more, the weights come out too even.

# NotScaled
- (q, k, -> (q * q.size(-1) ** 0.5, k,
You do not divide the scores by anything.

They have to be divided by the root of a head's width, or the weights become
too sharp.

# ScaledWithoutRoot
- (q, k, -> (q / q.size(-1) ** 0.5, k,
You divide the scores by d_head, and not by its root.

The size of a dot product grows with the root of the width. (Or do you divide
by the root twice? `scaled_dot_product_attention` has done it already.)

# ScaledByNumberOfHeads
- (q, k, -> (q * (q.size(-1) / self.n_heads) ** 0.5, k,
You divide the scores by the root of the *number* of heads.

A dot product grows with the root of a head's *width*.

# NoOutputMatrix (#the-formula-and-its-sizes)
- self.to_output(merge_heads(answers)) -> merge_heads(answers)
You leave out the output matrix.

Without it, each head writes into its own section of the result only.
`to_output` mixes the heads.

# OneWideHead
- self.n_heads -> 1
- merge_heads(answers) -> answers[:, 0]
or
- split_heads(x, self.n_heads) -> x
- merge_heads(answers) -> answers
You attend once, with the whole width, as if there were one head.

So each token has one row of weights, where it should have one for each head.
The numbers have to be split before the scores are computed.

# SplitAndMergedByView (#splitting-and-merging)
- split_heads(x, self.n_heads)
+ x.reshape(len(x), self.n_heads, x.size(1), -1)
- merge_heads(answers) -> answers.reshape(query.shape)
You split, and merge, by `view` or `reshape` without a transpose.

All shapes fit, since merging undoes the mistake of splitting. But your heads
are sections of the sentence: tokens of different sections never meet.

# SplitByView (#splitting-and-merging)
- split_heads(x, self.n_heads)
+ x.reshape(len(x), self.n_heads, x.size(1), -1)
You split by `view` or `reshape` without a transpose.

The shape fits, but your heads are sections of the sentence: tokens of
different sections never meet.

# MergedByView (#splitting-and-merging)
- merge_heads(answers) -> answers.reshape(query.shape)
You merge by `view` or `reshape` without a transpose.

The heads' answers are then read head after head: a token's row holds what one
head says at several tokens.

# HeadsInTurns (#splitting-and-merging)
- split_heads(x, self.n_heads)
+ x.unflatten(-1, (-1, self.n_heads)).permute(0, 3, 1, 2)
- merge_heads(answers) -> answers.permute(0, 2, 3, 1).flatten(2)
or
- split_heads(x, self.n_heads)
+ x.unflatten(-1, (-1, self.n_heads)).permute(0, 3, 1, 2)
You deal a token's numbers out to the heads in turn.

With two heads, one has the numbers 0, 2, 4 and so on, the other 1, 3, 5. Each
head has to get a section of numbers that lie side by side, as from
`split_heads`.

# MemoryIgnored
- query if memory is None else memory -> query
Your heads never look at the memory.

Keys and values come from the query, even when a memory is given. So it is
always self-attention, and a mask for a memory of another length ends in an
error.

# QueryAndMemorySwapped
- query(query) -> query(source)
- key(source) -> key(query)
- value(source) -> value(query)
Your queries come from the memory, your keys and values from `query`.

It has to be the other way round: the result has a row for each token of
`query`, and what it fetches comes from the memory. In self-attention this does
not show.

# MemoryAsksItself
- query(query) -> query(source)
You make the queries from the memory, too.

The result needs a row for each token of `query`: these are the tokens that
ask. In self-attention this does not show.

# KeysFromQuery
- key(source) -> key(query)
or
- key(source) -> key(query)
- scaled_dot_product_attention -> attend
Your keys come from `query`, though there is a memory.

Then what is looked at is not what is fetched: keys and values both come from
the memory. Where the lengths differ, this ends in an error.

# ValuesFromQuery
- value(source) -> value(query)
or
- value(source) -> value(query)
- scaled_dot_product_attention -> attend
Your values come from `query`, though there is a memory.

Then what is looked at is not what is fetched: keys and values both come from
the memory. Where the lengths differ, this ends in an error.

# ValuesAreKeys
- self.to_value -> self.to_key
You make the values with the matrix of the keys.

`to_value` is never used. By what a token is found, and what it hands over, are
two things to learn.

# KeysByQueryMatrix
- self.to_key -> self.to_query
You make the keys with the matrix of the queries.

`to_key` is never used. What a token looks for, and by what it is found, are
two things to learn.

# QueriesByKeyMatrix
- self.to_query -> self.to_key
You make the queries with the matrix of the keys.

`to_query` is never used. What a token looks for, and by what it is found, are
two things to learn.

# NotProjected
- [q, k, v] -> [query, source, source]
You split the tokens themselves: none of the three projections is used.

Each head then sees only its own section of every token, and has nothing to
learn. A projection reads the whole token for each head.

# SplitBeforeProjecting (#one-matrix-or-one-for-each-head)
- query(query) -> query(split_heads(query, self.n_heads))
- key(source) -> key(split_heads(source, self.n_heads))
- value(source) -> value(split_heads(source, self.n_heads))
- split_heads(x, self.n_heads) -> x
You split the tokens first, and project the pieces.

The matrices are as wide as the model, and the pieces are not: with more than
one head there is an error. Each head reads *all* of a token; split what comes
out of the projections.

# MemoryAlwaysExpected
- query if memory is None else memory -> memory
You use the memory without asking whether there is one.

If it is left out, it is None: then the sentence attends to itself, and keys
and values come from the query.

# QueryAdded
- return -> return query +
You add the query to what the heads say.

That sum belongs to the layer around this one (chapter 08). Return what comes
out of the output matrix.

# ProjectedByRelu
- heads(x, -> heads(x.relu(),
Your queries, keys and values have no negative numbers.

Is there a ReLU behind the projections? In the Transformer they are linear:
scores and answers need negative numbers, too.

# MaskIgnored (06_masks#the-padding-mask-by-hand)
- v, mask -> v
You never use the mask: nothing is hidden.

Where it is False, a key must not be attended to; the other weights of the row
sum to one.

# MaskInverted (06_masks#mask-conventions-of-other-libraries)
- v, mask -> v, None if mask is None else ~mask
or
- v, mask -> v, None if mask is None else ~mask
- scaled_dot_product_attention -> attend
or
- v, mask -> v, None if mask is None else ~mask, -1e9
- scaled_dot_product_attention -> attend
You look at exactly those keys that the mask hides.

In this course True says that a key *may be* attended to.

# MaskOfTheFirstHead (06_masks#the-padding-mask-by-hand)
- v, mask -> v, None if mask is None else mask[:, :1]
All your heads use the mask of the first one.

Mostly a mask is the same for all heads. But its second axis may be as long as
there are heads: then each head has a mask of its own.

# MaskAfterSoftmax (06_masks#why-minus-infinity-and-why-before-the-softmax)
- answers, _ -> _, weights
- v, mask)
+ v)
+ answers = (weights if mask is None else weights * mask) @ v
You hide keys *after* the softmax, by multiplying their weights by 0.

The hidden keys are still part of the softmax's sum: what is left of a row does
not sum to one.

# HiddenScoresZero (06_masks#why-minus-infinity-and-why-before-the-softmax)
- scaled_dot_product_attention -> attend
- v, mask -> v, mask, 0.0
You set the hidden scores to 0 before the softmax.

A score of 0 is an ordinary score: its key still gets a weight, since e⁰ is 1.

# SoftmaxOverHeads (04_attention#three-tokens-by-hand)
- scaled_dot_product_attention -> attend
- v, mask -> v, mask, -1e9, 1
Your softmax runs over the heads.

With an axis for the heads, axis 1 is no longer that of the keys. Each head's
row over the *keys*, the last axis, has to sum to one.

# SoftmaxOverQueries (04_attention#three-tokens-by-hand)
- scaled_dot_product_attention -> attend
- v, mask -> v, mask, -1e9, -2
Your softmax runs over the queries, down the columns.

Each query spreads its own attention: every *row* has to sum to one.

# MasksInTurns (#folding-the-heads-into-the-batch)
- answers, _ =
+ if mask is not None:
+     whole = mask[:, 0].expand(len(q), q.size(2), k.size(2))
+     mask = whole.repeat(self.n_heads, 1, 1).view(*q.shape[:3], -1)
+ answers, _ =
Some of your heads use the mask of another sentence.

Do you fold the heads into the batch? The rows are then sentence 1 for each
head, followed by sentence 2 for each head. `repeat` puts the masks into
another order: sentence 1, 2, 1, 2.

# NotTransposed (#splitting-and-merging)
- split_heads(x, self.n_heads) -> x.unflatten(-1, (self.n_heads, -1))
- merge_heads(answers) -> answers.flatten(2)
You attend with the heads *after* the length: (batch, length, heads, d_head).

A matrix product works on the last two axes: the heads of one token attend to
each other, and tokens never meet. The heads have to come before the length.

# HeadsAndWidthSwapped (#splitting-and-merging)
- self.n_heads -> x.size(-1) // self.n_heads
You confuse the number of heads with the width of a head.

From 6 numbers and 2 heads you make 3 heads of width 2, not 2 heads of width 3.

# KeysAndValuesSwapped
- self.to_key -> self.to_value
- self.to_value -> self.to_key
You make keys with the matrix of the values, and values with that of the keys.

Trained from scratch, it would learn as well. But weights that were trained
elsewhere would not work in it.

# MaskAfterAndDivided (06_masks#why-minus-infinity-and-why-before-the-softmax)
- answers, _ -> _, weights
- v, mask)
+ v)
+ weights = weights if mask is None else weights * mask
+ answers = weights / weights.sum(dim=-1, keepdim=True) @ v
or
- answers, _ -> _, weights
- v, mask)
+ v)
+ weights = weights if mask is None else weights * mask
+ answers = weights / (weights.sum(dim=-1, keepdim=True) + 1e-9) @ v
You strike weights out after the softmax, and divide by the sum of the rest.

On paper that is right. But where a hidden key has by far the largest score,
the weights of all others underflow to 0.

# NotLowEnough (06_masks#minus-infinity-or-a-large-negative-number)
- scaled_dot_product_attention -> attend
- v, mask -> v, mask, -1e4
You hide with a number that is low, but not low enough.

Scores can be lower still: then the hidden keys get nearly all the weight.

# SoftmaxByExp (05_score_functions#a-softmax-that-cannot-overflow)
- scaled_dot_product_attention -> attend_by_exp
You take e^s of the scores as they are.

For a large score that is infinity, and infinity divided by infinity is NaN.
"""

BY_HAND = "W_Q = I, W_K = 2I, W_V = 10I, W_O = -I"
FACTORS = {"to_query": 1.0, "to_key": 2.0, "to_value": 10.0, "to_output": -1.0}
TWO_TOKENS = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])


def small_by_hand(candidate, given: Case) -> Tensor:
    """Call the module; its matrices of width 2 are multiples of I."""
    if given.build[0] > 2:
        return call(candidate, given)
    module = candidate(*given.build)
    for name, factor in FACTORS.items():
        with torch.no_grad():
            module.get_parameter(f"{name}.weight").copy_(factor * torch.eye(2))
    return module(*given.args, **given.kwargs)


def draw_attention(draw: Draw) -> Case:
    n_heads, d_head = draw.size(2, 3), draw.size(2, 4)
    batch, query, key = draw.size(1, 3), draw.size(2, 4), draw.size(2, 5)
    width = n_heads * d_head
    x, memory = (
        draw.normal(batch, query, width),
        draw.normal(batch, key, width),
    )
    mask = draw.mask(batch, 1, 1, key)
    mask[..., 0] = True
    note = "random numbers, a memory and padding"
    return module_case(note, (width, n_heads), x, memory, mask)


EXERCISE = exercise_of(
    MultiHead,
    section=FORMULA,
    points=3,
    hints=(
        "Five steps, and you have written two of them already: project, "
        "split, attend, merge, project. Which of the three projections read "
        "the query, and which the memory?",
        "Project at full width first, then split the three results. "
        "`scaled_dot_product_attention` of chapter 04 works on the last two "
        "axes, and takes the mask as it is. Its scale is the root of the "
        "width that it is given: that has to be a head's.",
    ),
    cases=[
        module_case(f"two heads, {BY_HAND}", (2, 2), TWO_TOKENS),
        module_case(f"one head, {BY_HAND}", (2, 1), TWO_TOKENS),
        module_case(
            f"a memory, {BY_HAND}",
            (2, 2),
            torch.tensor([[[1.0, 2.0]]]),
            torch.tensor([[[3.0, 0.0], [0.0, 1.0]]]),
        ),
        module_case(
            f"padding, {BY_HAND}",
            (2, 2),
            TWO_TOKENS,
            None,
            padding_mask(torch.tensor([[5, 0]])),
        ),
        module_case(f"large scores, {BY_HAND}", (2, 2), 10 * TWO_TOKENS),
        module_case(
            f"a large score hidden, {BY_HAND}",
            (2, 2),
            torch.tensor([[[100.0, 1.0], [-100.0, 0.0]]]),
            None,
            torch.tensor([False, True])[None, None, None],
        ),
        module_case(
            "drawn matrices, one head", (3, 1), Draw(1).normal(1, 2, 3)
        ),
        module_case(
            "drawn matrices, two heads", (4, 2), Draw(2).normal(1, 3, 4)
        ),
        module_case(
            "a memory as long as the query",
            (4, 2),
            Draw(3).normal(1, 3, 4),
            Draw(4).normal(1, 3, 4),
        ),
        module_case(
            "the future hidden",
            (4, 2),
            Draw(5).normal(2, 3, 4),
            None,
            causal_mask(3),
        ),
        module_case(
            "three heads, one sentence padded",
            (6, 3),
            Draw(6).normal(2, 3, 6),
            None,
            padding_mask(torch.tensor([[5, 6, 7], [8, 0, 0]])),
        ),
        module_case(
            "a mask of its own for each head",
            (4, 2),
            Draw(7).normal(1, 2, 4),
            None,
            torch.stack([causal_mask(2)[0, 0], causal_mask(2)[0, 0].T])[None],
        ),
    ],
    draw=draw_attention,
    run=small_by_hand,
)
