"""Attention weights."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def attention_weights(
    query: Float[Tensor, "query d"], key: Float[Tensor, "key d"]
) -> Float[Tensor, "query key"]:
    """Compute how each query of one sentence shares out its attention.

    The score of a query and a key is their dot product, not divided by
    anything here; a softmax makes weights of the scores, which may be large.
    No batch, no heads.

    Args:
        query: a row for each position that asks.
        key: a row for each position that may be looked at; there may be
            more or fewer of these.

    Returns:
        A row for each query: its weights for the keys, which sum to one, in
        the dtype of what is given.
    """
    ### BEGIN SOLUTION
    scores = query @ key.T
    weights = scores.softmax(dim=-1)
    return weights
    ### END SOLUTION


@other
def weights_by_loop(query, key):
    rows = []
    for q in query:
        scores = torch.stack([(q * k).sum() for k in key])
        powers = (scores - scores.max()).exp()
        rows.append(powers / powers.sum())
    return torch.stack(rows)


@other
def weights_by_einsum(query, key):
    scores = torch.einsum("qd,kd->qk", query, key)
    powers = (scores - scores.amax(dim=1)[:, None]).exp()
    return torch.einsum("qk,q->qk", powers, 1 / powers.sum(dim=1))


@other
def weights_by_logarithm(query, key):
    scores = (query[:, None, :] * key[None, :, :]).sum(dim=2)
    return (scores - scores.logsumexp(dim=1, keepdim=True)).exp()


EDITS = """
# weights_down_the_columns (#all-queries-at-once)
- dim=-1 -> dim=0
Your softmax runs over the queries, down the columns.

Each query has one unit of attention to share out among the keys, so each *row*
has to sum to one. With yours the queries compete for a key, and a query may
get hardly anything.

# weights_of_the_whole_table (#all-queries-at-once)
- scores.softmax(dim=-1) -> scores.flatten().softmax(dim=0).view_as(scores)
or
- scores.softmax(dim=-1)
+ (scores - scores.amax(dim=-1, keepdim=True)).exp()
- return
+ weights = weights / weights.sum()
+ return
You divide by the sum over the whole table, not by the sum of each row.

Every query has one unit of attention of its own. What another query finds must
not change its weights.

# weights_with_keys_asking (#all-queries-at-once)
- query @ key.T -> key @ query.T
You have exchanged queries and keys: your table has a row for each key.

It is each *query* that shares out its attention, so a row belongs to a query.

# weights_transposed (#all-queries-at-once)
- return weights -> return weights.mT
You return the table transposed.

Later each row has to mix the values of all keys: rows belong to queries,
columns to keys.

# weights_are_scores
- .softmax(dim=-1) ->
You return the scores: there is no softmax.

Scores may be negative, and a row may sum to anything. Weights are positive,
and each row sums to one.

# weights_not_divided
- softmax(dim=-1) -> exp()
or
- scores.softmax(dim=-1) -> (scores - scores.amax(dim=-1, keepdim=True)).exp()
Your weights are exponentials of the scores, never divided by their sum.

They are positive, but a row does not sum to one. To take the largest score
away first keeps exponentials small, but does not replace the division.

# weights_without_powers
- scores.softmax(dim=-1) -> scores / scores.sum(dim=-1, keepdim=True)
or
- scores.softmax(dim=-1) -> scores.abs() / scores.abs().sum(-1, keepdim=True)
or
- scores.softmax(dim=-1) -> scores.relu() / scores.relu().sum(-1, keepdim=True)
You make weights of the scores without taking exponentials.

Scores of both signs then give weights below 0 or above 1. Made positive by a
ReLU or by absolute values, a score of -2 counts as much as one of 0, or of 2.

# weights_divided_by_other_rows
- scores.softmax(dim=-1) -> scores.exp() / scores.exp().sum(dim=-1)
or
- scores.softmax(dim=-1)
+ (scores - scores.amax(dim=-1, keepdim=True)).exp()
- return
+ weights = weights / weights.sum(dim=-1)
+ return
You divide by the sums of the rows, but not each row by its own.

The sums have lost an axis, and broadcasting lines axes up from the right: each
*column* is divided by the sum of another row. Where there are more or fewer
keys than queries, your code raises an error.

# weights_one_by_one
- softmax(dim=-1) -> sigmoid()
You squash each score by itself, with a sigmoid.

A softmax compares a score with the others of its row, and makes the row sum to
one. With a sigmoid a query may look at everything, or at nothing.

# weights_are_logarithms
- softmax -> log_softmax
You return the *logarithms* of the weights.

They are negative, and no mean can be taken with them.

# weights_all_or_nothing (#a-lookup-that-can-learn)
- scores.softmax(dim=-1) -> torch.eye(len(key))[scores.argmax(dim=-1)]
or
- scores.softmax(dim=-1) -> torch.eye(len(key)).to(key)[scores.argmax(dim=-1)]
Your best key takes all, and the others get nothing.

That is the dictionary with which the chapter begins. It has no slope, so
nothing could learn how to ask.

# weights_already_scaled (#all-queries-at-once)
- scores = -> scores = query.size(-1) ** -0.5 *
You divide the scores by √d.

The next exercise asks for that. This one asks for the plain dot product.

# weights_of_directions (05_score_functions#a-dot-product-also-measures-length)
- query @ key.T -> torch.cosine_similarity(query[:, None], key, dim=-1)
or
- query @ key.T
+ query / query.norm(dim=-1, keepdim=True)
+ scores = scores @ (key / key.norm(dim=-1, keepdim=True)).T
You compare directions only: your score is the cosine of the angle.

A dot product depends on lengths too: a longer query gives sharper weights. No
cosine leaves [-1, 1], so no key can take nearly all.

# weights_of_distances (05_score_functions#a-dot-product-also-measures-length)
- query @ key.T -> -torch.cdist(query, key)
or
- query @ key.T -> torch.cdist(query, key)
or
- query @ key.T -> -torch.cdist(query, key).square()
Your score is a distance, or its negative, not a dot product.

Distance and dot product rank keys alike only where all keys have the same
length.

# weights_of_a_reshaped_key (07_multi_head_attention#splitting-and-merging)
- key.T -> key.reshape(key.T.shape)
You give the keys the shape of their transpose, but do not transpose them.

A view or a reshape leaves the numbers in the order in which they lie in
memory, so each column mixes several keys. The shape fits, so no error is
raised.

# weights_of_queries_alone (#all-queries-at-once)
- key.T -> query.T
You compare the queries with each other; the keys are never used.

A score compares a query with a key, and each key needs a column.

# weights_of_keys_alone (#all-queries-at-once)
- query @ -> key @
You compare the keys with each other; the queries are never used.

A score compares a query with a key, and each query needs a row.

# weights_overflow (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(
+ (lambda x, dim: x.exp() / x.exp().sum(dim, keepdim=True))(scores,
Where a score is large, your result is NaN.

You divide exponentials by their sum, and e¹⁰⁰ overflows float32: infinity over
infinity. PyTorch's softmax takes the largest score of the row away first.

# weights_negated
- query @ -> -query @
The key that fits best gets the smallest weight: a sign is wrong.

The larger the dot product, the *more* a query looks there.

# weights_below_one_maximum (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(dim=-1)
+ (lambda x: x / x.sum(-1, keepdim=True))((scores - scores.max()).exp())
You take away the largest score of the *whole* table, not of each row.

Where all scores of a row are far below it, all exponentials of the row
underflow to 0, and 0/0 is NaN: what one query finds breaks the weights of
another.

# weights_scaled_otherwise (#all-queries-at-once)
- scores = -> scores = 1 / query.size(-1) *
or
- scores = -> scores = query.size(-1) ** 0.5 *
or
- scores = -> scores = len(key) ** -0.5 *
You divide or multiply the scores by a width, a length or the root of one.

This exercise asks for the plain dot product.

# weights_of_the_past (06_masks#the-causal-mask)
- weights =
+ seen = torch.ones_like(scores).tril() > 0
+ scores = scores.masked_fill(~seen, -torch.inf)
+ weights =
You hide from each query the keys that come after it.

That is a causal mask (chapter 06). Here every query may look at every key.

# weights_softened_twice
- return weights -> return weights.softmax(dim=-1)
You apply a softmax twice.

The second one takes weights for scores. Weights lie between 0 and 1, so hardly
any difference between the keys is left.

# weights_of_divided_scores (05_score_functions#the-divisor-is-a-temperature)
- weights =
+ scores = scores / scores.amax(dim=-1, keepdim=True)
+ weights =
You divide the scores by the largest of their row before the softmax.

A softmax sees differences, so you may take a number *away* from all scores. To
divide them changes the weights.

# weights_number_by_number (#all-queries-at-once)
- query @ key.T -> query * key
or
- query @ key.T -> (query * key).sum(dim=-1)
You multiply query 1 with key 1, query 2 with key 2, number by number.

Every query has to meet every key, and a score is the *sum* of such products.
Where there are more or fewer keys than queries, your code raises an error.

# weights_untransposed (#all-queries-at-once)
- key.T -> key
You multiply by the keys without transposing them.

A matrix product takes rows by columns, so the keys have to stand in columns.
Where there are not as many keys as numbers in a row, your code raises an
error.

# weights_gone_on_to_mix
- return weights -> return weights @ key
or
- return weights -> return weights @ query
You go one step too far: you mix rows with the weights.

The exercise asks for the weights themselves, one for each query and key.
"""


def draw_queries(draw: Draw) -> Case:
    d = draw.size(2, 6)
    query, key = draw.size(1, 6), draw.size(2, 7)
    return case("random rows", draw.normal(query, d), draw.normal(key, d))


EXERCISE = exercise_of(
    attention_weights,
    section="04_attention#all-queries-at-once",
    points=1,
    hints=(
        "All scores together are one matrix product. Its shape is (query, "
        "key): which of the two matrices has to be transposed? Then take one "
        "row and make shares of it.",
        "Multiply the queries with the transposed keys. A row of the result "
        "belongs to one query, and its entries lie along the last axis: that "
        "is where the softmax goes.",
    ),
    cases=[
        case(
            "one query, two keys",
            torch.tensor([[1.0, 2.0]]),
            torch.tensor([[1.0, 1.0], [0.0, 1.0]]),
        ),
        case(
            "two queries, one key",
            torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
            torch.tensor([[1.0, 1.0]]),
        ),
        case(
            "two queries, two keys",
            torch.tensor([[2.0, 0.0], [1.0, 1.0]]),
            torch.tensor([[1.0, 0.0], [-1.0, 1.0]]),
        ),
        case(
            "cats drink milk, as in the chapter",
            torch.tensor([[0.0, 2.0], [2.0, 2.0], [0.0, 0.0]]),
            torch.tensor([[1.1513, 0.0], [-0.5, 0.5], [0.0, 1.0986]]),
        ),
        case(
            "one query's scores are large",
            torch.tensor([[300.0, 0.0], [1.0, 2.0]]),
            torch.tensor([[4.0, 0.0], [3.0, 1.0]]),
        ),
        case(
            "more keys than queries",
            Draw(40).normal(2, 3),
            Draw(41).normal(5, 3),
        ),
        case("float64", Draw(42).normal(2, 2).double(), torch.eye(2).double()),
    ],
    draw=draw_queries,
)
