"""Scaled dot-product attention."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
) -> tuple[
    Float[Tensor, "*batch query d_v"], Float[Tensor, "*batch query key"]
]:
    """Compute softmax(Q Kᵀ / √d_k) V, and say with which weights.

    Section 3.2.1 of the paper, equation 1; without a mask. Scores may be
    large: no exponential overflows on the way.

    Args:
        query: a row for each position that asks.
        key: a row for each position that may be looked at, as wide as a
            query.
        value: what is handed over from there; it may have another width.
            `*batch` stands for any number of axes in front, or none: a
            sentence, a batch of them, or heads besides.

    Returns:
        Two tensors, in the dtype of what is given: the output, a row for
        each query; then the weights, of which each row sums to one.
    """
    ### BEGIN SOLUTION
    scale = math.sqrt(query.size(-1))
    scores = query @ key.transpose(-2, -1) / scale
    weights = scores.softmax(dim=-1)
    output = weights @ value
    return output, weights
    ### END SOLUTION


@other
def attention_by_einsum(query, key, value):
    query = query / query.shape[-1] ** 0.5
    scores = torch.einsum("...qd,...kd->...qk", query, key)
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


@other
def attention_by_broadcasting(query, key, value):
    pairs = query[..., :, None, :] * key[..., None, :, :]
    scores = pairs.sum(dim=-1) * key.size(-1) ** -0.5
    weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
    return (weights[..., None] * value[..., None, :, :]).sum(-2), weights


@other
def attention_by_two_roots(query, key, value):
    root = query.size(-1) ** 0.25  # of the root: both are made smaller
    scores = torch.matmul(query / root, (key / root).mT)
    weights = scores.sub(scores.amax(dim=-1, keepdim=True)).exp()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return torch.matmul(weights, value), weights


EDITS = """
# unscaled
- / scale ->
You do not divide the scores.

The wider the vectors, the larger their dot products, and the more of the
weight goes to a single key.

# scaled_by_axis_one
- query.size(-1) -> query.size(1)
You divide by the root of the size of axis 1, counted from the left.

In one sentence that is the width of a query. In a batch it is the number of
queries, and with heads yet another one: axes in front move everything to the
right.

# scaled_by_the_width (05_score_functions#divide-by-the-square-root)
- math.sqrt(query.size(-1)) -> query.size(-1)
You divide by d_k, not by its root.

The *variance* of a dot product grows like d_k, its typical size like the root.
Your weights come out far more even than the paper's.

# scaled_by_the_root_of_the_keys
- query.size(-1) -> key.size(-2)
You divide by the root of the number of *keys*.

A dot product is a sum of d_k products, so divide by √d_k, however long the
sentence is.

# scaled_by_the_root_of_the_queries
- query.size(-1) -> query.size(-2)
You divide by the root of the number of *queries*.

A dot product is a sum of d_k products, so divide by √d_k. Other queries must
not change where one of them looks.

# scaled_by_the_root_of_the_values
- query.size(-1) -> value.size(-1)
You divide by the root of the width of the *values*.

The values have no part in the scores, and may be wider or narrower than the
keys. Often the two are equally wide, and nobody notices.

# scaled_by_the_root_of_axis_zero
- query.size(-1) -> key.size(0)
or
- query.size(-1) -> query.size(0)
You divide by the root of the size of the first axis.

In a batch that is the number of sentences, and in one sentence the number of
words. A dot product is a sum of d_k products: d_k is the last axis.

# scaled_by_eight
- math.sqrt(query.size(-1)) -> 8
You divide by 8, the root of the paper's width, whatever the width is.

The paper's heads are 64 wide. Here the width is that of the query.

# scaled_otherwise (05_score_functions#divide-by-the-square-root)
- math.sqrt(query.size(-1)) -> query.size(-1) ** 2
or
- math.sqrt(query.size(-1)) -> int(math.sqrt(query.size(-1)))
or
- math.sqrt(query.size(-1)) -> key.size(-2)
or
- math.sqrt(query.size(-1)) -> query.norm(dim=-1, keepdim=True)
You divide by another number than √d_k.

It is the square root of the width of a query, and need not be a whole number.
It does not depend on how large the numbers are, nor on how many keys there
are.

# future_hidden (06_masks#the-causal-mask)
- weights =
+ seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
+ scores = scores.masked_fill(~seen, -torch.inf)
+ weights =
You hide from each query the keys that come after it.

That is a causal mask (chapter 06), and belongs to the decoder's self-attention
alone. Here every query may look at every key.

# multiplied_by_the_root
- / scale -> * scale
You multiply by √d_k instead of dividing.

Scores get larger instead of smaller, and one key takes nearly all.

# scaled_after_the_softmax
- / scale ->
- output =
+ weights = weights / scale
+ output =
You divide *after* the softmax: rows no longer sum to one.

The root is there to keep the softmax from giving nearly all to one key. After
the softmax it is too late for that, and the output only gets smaller.

# output_scaled
- / scale ->
- return output
+ output = output / scale
+ return output
You divide the *output* by the root, not the scores.

The weights come from scores as large as before, and the output is only made
smaller. The root belongs inside the softmax.

# output_scaled_as_well
- output = -> output = 1 / scale *
You divide the output by the root.

An output is a mean of the values, and as large as these: the root belongs to
the scores alone.

# no_softmax
- .softmax(dim=-1) ->
There is no softmax: you mix the values with the scores themselves.

Scores may be negative, and their sum may be anything, so the output is no mean
of the values.

# softmax_over_the_queries (#all-queries-at-once)
- dim=-1 -> dim=-2
Your softmax runs over the queries, down the columns.

Each query shares out its own unit of attention among the keys: it is the
*rows* of the weights that have to sum to one.

# softmax_over_no_axis_named
- dim=-1 -> dim=0 if scores.dim() == 3 else 1
or
- dim=-1 -> dim=0
Your softmax runs along the first axis.

In a batch that is the axis of the sentences: each of them shares its attention
with its neighbours. A softmax that is not told an axis may do this, too.

# softmax_over_axis_one
- dim=-1 -> dim=1
Your softmax runs over axis 1, counted from the left.

In one sentence that is the keys. In a batch it is the queries, and with heads
yet another one: axes in front move everything to the right.

# softmax_over_everything
- scores.softmax(dim=-1) -> scores.flatten().softmax(dim=0).view_as(scores)
or
- scores.softmax(dim=-1)
+ (scores - scores.amax(dim=-1, keepdim=True)).exp()
- output =
+ weights = weights / weights.sum()
+ output =
You divide by the sum over the whole tensor, not by the sum of each row.

Every query has one unit of attention of its own. What another query finds, or
another sentence of the batch, must not change its weights.

# logarithms_mixed
- softmax -> log_softmax
You mix the values with the *logarithms* of the weights.

They are negative, and no mean can be taken with them.

# softmax_twice
- output =
+ weights = weights.softmax(dim=-1)
+ output =
You apply a softmax twice.

The second one takes weights for scores. Weights lie between 0 and 1, so hardly
any difference between the keys is left.

# keys_transposed_for_a_batch
- transpose(-2, -1) -> transpose(1, 2)
You transpose axes 1 and 2, counted from the left.

In a batch of sentences these are the last two. One sentence alone has no axis
2, and with heads in front they are others.

# keys_transposed_for_a_sentence
- transpose(-2, -1) -> transpose(0, 1)
You transpose axes 0 and 1, counted from the left.

In one sentence these are all there are. In a batch axis 0 is the batch, and
sentences get mixed.

# keys_turned_round
- transpose(-2, -1) -> permute(*reversed(range(key.dim())))
You reverse the order of *all* axes of the keys.

In one sentence that is right: there are only two. In a batch the sentences end
up on the last axis, where the keys should be.

# keys_reshaped (07_multi_head_attention#splitting-and-merging)
- transpose(-2, -1) -> reshape(key.mT.shape)
You give the keys the shape of their transpose, but do not transpose them.

A view or a reshape leaves the numbers in the order in which they lie in
memory, so each score mixes several keys. The shape fits, so no error is
raised.

# keys_as_they_lie (#all-queries-at-once)
- key.transpose(-2, -1) -> key
You multiply by the keys without transposing them.

A matrix product takes rows by columns, so the keys have to stand in columns.
Where there are not as many keys as numbers in a row, your code raises an
error.

# keys_mixed (#a-lookup-that-can-learn)
- @ value -> @ key
You mix the *keys*; the values are never used.

A key says what an entry is found by, a value what it hands over. Compare with
the keys, mix the values.

# weights_turned_to_mix (#all-queries-at-once)
- weights @ -> weights.mT @
You transpose the weights before you mix the values.

A row of the weights belongs to one query, and its shares go with the rows of
the values. Where there are more or fewer keys than queries, your code raises
an error.

# values_compared (#a-lookup-that-can-learn)
- @ key. -> @ value.
You compare the queries with the *values*; the keys are never used.

A key says what an entry is found by, a value what it hands over. Where the two
have different widths, your code raises an error.

# results_exchanged
- output, weights -> weights, output
You return the weights first and the output second.

The output comes first, then the weights.

# scores_returned
- output, weights -> output, scores
or
- output, weights -> output, scores * scale
You return the scores, from before the softmax, in the place of the weights.

Weights are positive, and each row of them sums to one.

# other_weights_returned
- return output, weights
+ return output, (scores * scale).softmax(dim=-1)
or
- return output, weights -> return output, weights.mT
or
- return output, weights -> return output, weights.log()
Beside the output you return other weights than those that you mixed with.

They may come from unscaled scores, or be transposed, or logarithms. Return the
very weights that made the output: a row for each query.

# scores_overflow (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(
+ (lambda x, dim: x.exp() / x.exp().sum(dim, keepdim=True))(scores,
Where a score is large, your result is NaN.

You divide exponentials by their sum, and e¹⁰⁰ overflows float32: infinity over
infinity. PyTorch's softmax takes the largest score of the row away first.

# maximum_of_everything (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(
+ (lambda x, dim: x / x.sum(dim, keepdim=True))((scores - scores.max()).exp(),
You take away the largest score of the *whole* tensor, not of each row.

Where all scores of a row are far below it, all exponentials of the row
underflow to 0, and 0/0 is NaN: what one query finds breaks the weights of
another.

# no_sum_below
- scores.softmax(dim=-1)
+ (scores - scores.amax(dim=-1, keepdim=True)).exp()
or
- scores.softmax(dim=-1) -> scores.exp()
Your weights are exponentials of the scores, never divided by their sum.

They are positive, but a row does not sum to one. To take the largest score
away first keeps exponentials small, but does not replace the division.

# divided_by_other_rows (#all-queries-at-once)
- scores.softmax(dim=-1) -> scores.exp() / scores.exp().sum(dim=-1)
or
- scores.softmax(dim=-1)
+ (scores - scores.amax(dim=-1, keepdim=True)).exp()
- output =
+ weights = weights / weights.sum(dim=-1)
+ output =
You divide exponentials by the sums of the rows, but not each row by its own.

The sums have lost an axis, and broadcasting lines axes up from the right.
Where the sizes do not fit, your code raises an error.

# directions_compared (05_score_functions#a-dot-product-also-measures-length)
- query @ key. -> F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).
or
- query @ key. -> F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).
- / scale ->
You compare directions only: your score is the cosine of the angle.

A dot product depends on lengths too: a longer query gives sharper weights. No
cosine leaves [-1, 1], so no key can take nearly all.

# queries_alone (#all-queries-at-once)
- @ key. -> @ query.
You compare the queries with each other; the keys are never used.

A score compares a query with a key, and each key needs a column.

# keys_alone (#all-queries-at-once)
- query @ key -> key @ key
You compare the keys with each other; the queries are never used.

A score compares a query with a key, and each query needs a row.

# keys_ask (#all-queries-at-once)
- query @ key. -> key @ query.
You have exchanged queries and keys: your table has a row for each key.

It is each *query* that shares out its attention. Where there are more or fewer
keys than queries, your code raises an error when it mixes the values.

# scores_negated
- query @ -> -query @
The key that fits best gets the smallest weight: a sign is wrong.

The larger the dot product, the *more* a query looks there.

# one_by_one
- softmax(dim=-1) -> sigmoid()
You squash each score by itself, with a sigmoid.

A softmax compares a score with the others of its row, and makes the row sum to
one.

# without_powers
- scores.softmax(dim=-1) -> scores / scores.sum(dim=-1, keepdim=True)
or
- scores.softmax(dim=-1) -> scores.relu() / scores.relu().sum(-1, keepdim=True)
or
- scores.softmax(dim=-1) -> scores.abs() / scores.abs().sum(-1, keepdim=True)
You make weights of the scores without taking exponentials.

Scores of both signs then give weights below 0 or above 1. Made positive by a
ReLU or by absolute values, a score of -2 counts as much as one of 0, or of 2.

# softmax_at_the_end
- scores.softmax(dim=-1) -> scores
- weights @ value -> (weights @ value).softmax(dim=-1)
or
- weights @ value -> (weights @ value).softmax(dim=-1)
You put the *output* through a softmax.

A softmax makes weights of scores. The output is a mean of the values, which
may have any size and sign.

# scores_mixed
- weights @ value -> scores @ value
You mix the values with the scores; the weights are only returned.

A mean is taken with weights that are positive and sum to one.

# values_averaged
- weights @ value -> weights @ value / key.size(-2)
You divide the output by the number of keys.

The weights sum to one already: the sum of all values, each times its weight,
*is* a mean.

# query_added
- weights @ value -> query + weights @ value
You add the query to what it has fetched.

That sum belongs to the layer around attention (chapter 08). Where the values
have another width, your code raises an error.

# values_transposed
- weights @ value -> weights @ value.mT
or
- weights @ value -> value @ weights
You transpose the values, or multiply with them in front of the weights.

A row of the weights goes with the *rows* of the values: each belongs to a key.
Where the sizes do not fit, your code raises an error.
"""


def draw_attention(draw: Draw) -> Case:
    batch = draw.choice([(), (2,), (3,), (2, 3)])
    query, key = draw.size(1, 5), draw.size(2, 6)
    d_k, d_v = draw.size(2, 6), draw.size(2, 6)
    return case(
        "random rows",
        2 * draw.normal(*batch, query, d_k),
        draw.normal(*batch, key, d_k),
        draw.normal(*batch, key, d_v),
    )


EXERCISE = exercise_of(
    scaled_dot_product_attention,
    section="04_attention#all-queries-at-once",
    points=2,
    hints=(
        "Three lines: score, softmax, mix. Which axis of the scores are the "
        "keys, however many axes stand in front? And how many products are "
        "summed in one score?",
        "Count axes from the right: the last two are swapped to multiply, "
        "the last one is the softmax's. Divide the scores, before the "
        "softmax, by the root of the width of a query.",
    ),
    cases=[
        case(
            "one query, two keys",
            torch.tensor([[2.0, 0.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
            torch.tensor([[1.0], [3.0]]),
        ),
        case(
            "two queries, three keys",
            torch.tensor([[2.0, 1.0], [0.0, -2.0]]),
            torch.tensor([[1.0, 0.0], [-1.0, 1.0], [0.5, 2.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]),
        ),
        case(
            "wide values",
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
            torch.tensor([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 5.0, 0.0]]),
        ),
        case(
            "as many queries as keys as numbers",
            torch.tensor([[2.0, 1.0], [0.0, -1.0]]),
            torch.tensor([[1.0, 3.0], [-1.0, 0.0]]),
            torch.tensor([[1.0, 0.0], [4.0, 1.0]]),
        ),
        case(
            "a batch of two sentences",
            torch.tensor([[[1.0, 1.0]], [[2.0, 0.0]]]),
            torch.tensor([[[1.0, 2.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 3.0]]]),
            torch.tensor([[[1.0], [2.0]], [[3.0], [5.0]]]),
        ),
        case(
            "two sentences of two words of width 2",
            Draw(61).normal(2, 2, 2),
            Draw(62).normal(2, 2, 2),
            Draw(63).normal(2, 2, 2),
        ),
        case(
            "a batch of one sentence",
            Draw(46).normal(1, 2, 3),
            Draw(47).normal(1, 4, 3),
            Draw(48).normal(1, 4, 3),
        ),
        case(
            "one query's scores are large",
            torch.tensor([[300.0, 0.0], [1.0, 2.0]]),
            torch.tensor([[4.0, 0.0], [3.0, 1.0]]),
            torch.tensor([[1.0], [2.0]]),
        ),
        case(
            "a batch, and heads",
            Draw(49).normal(2, 3, 4, 5),
            Draw(50).normal(2, 3, 5, 5),
            Draw(51).normal(2, 3, 5, 4),
        ),
        case(
            "float64",
            Draw(52).normal(2, 3).double(),
            Draw(53).normal(2, 3).double(),
            Draw(54).normal(2, 2).double(),
        ),
    ],
    draw=draw_attention,
)
