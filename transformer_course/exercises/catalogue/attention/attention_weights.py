"""Who looks at whom, and how much."""

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


def attention_weights(
    query: Float[Tensor, "query d"], key: Float[Tensor, "key d"]
) -> Float[Tensor, "query key"]:
    """Say how each query of one sentence shares its attention out.

    The score of a query and a key is their dot product, not divided by
    anything here; a softmax makes weights of scores, however large they are.
    No batch, no heads.

    Args:
        query: a row for each position that asks.
        key: a row for each position that may be looked at. There may be
            more or fewer of them than queries.

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
# weights_down_the_columns (#everybody-asks-at-once)
- dim=-1 -> dim=0
Your softmax runs over the queries: each *column* sums to one.

A row belongs to who asks, a column to who is asked, and each query has one
unit of attention to share out. With yours the queries compete for a key, and a
query may get hardly anything in all. No error is raised.

# weights_of_the_whole_table (#everybody-asks-at-once)
- scores.softmax(dim=-1) -> scores.flatten().softmax(dim=0).view_as(scores)
Your weights sum to one over the whole table, not in each row.

Every query asks for itself, and shares out one unit of its own. What another
query finds must not change its weights.

# weights_with_keys_asking (#everybody-asks-at-once)
- query @ key.T -> key @ query.T
In your table the keys ask and the queries are asked.

It has a row for each key. The row sums are one, but it is each *query* that
has a unit to share out.

# weights_transposed (#everybody-asks-at-once)
- return weights -> return weights.T
Your table holds the right weights, but lies on its side.

Its rows are keys and its columns queries. Later each row has to mix the values
of all keys: a row belongs to who asks.

# weights_are_scores
- .softmax(dim=-1) ->
What you return are the scores: there is no softmax.

They may be negative, and a row may sum to anything. To mix values in shares
they have to be made positive, and to sum to one.

# weights_not_divided
- softmax(dim=-1) -> exp()
Your weights are the powers of the scores: positive, but not shares.

A row does not sum to one, and an output mixed from it need not lie among its
values.

# weights_without_powers
- scores.softmax(dim=-1) -> scores / scores.sum(dim=-1, keepdim=True)
You divide the scores by their sum, without making them positive.

Scores of both signs give weights below 0 and above 1, and scores that cancel
are divided by 0.

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
keys than queries, it ends in an error.

# weights_one_by_one
- softmax(dim=-1) -> sigmoid()
Every weight is between 0 and 1, but no row sums to one: you squash each score
by itself, with a sigmoid.

A softmax compares a score with the others of its row. With a sigmoid a query
may look at everything, or at nothing.

# weights_are_logarithms
- softmax -> log_softmax
What you return are the *logarithms* of the weights.

They are all negative, and no means can be taken with them.

# weights_all_or_nothing (#a-lookup-that-can-learn)
- scores.softmax(dim=-1) -> torch.eye(len(key))[scores.argmax(dim=-1)]
or
- scores.softmax(dim=-1) -> torch.eye(len(key)).to(key)[scores.argmax(dim=-1)]
or
- scores.softmax(dim=-1) -> torch.eye(len(key)).long()[scores.argmax(dim=-1)]
Your best key takes all, and the others get nothing.

That is the dictionary with which the chapter begins: there is no slope, so
nothing could learn how to ask.

# weights_already_scaled (#the-same-in-the-package)
- scores = -> scores = query.size(-1) ** -0.5 *
You divide the scores by the root of their width.

That is the scaled score, which the next exercise asks for. Here the dot
product itself is wanted, as in the first half of the chapter.

# weights_of_directions (#close-or-only-long)
- query @ key.T -> torch.cosine_similarity(query[:, None], key, dim=-1)
or
- query @ key.T
+ query / query.norm(dim=-1, keepdim=True)
+ scores = scores @ (key / key.norm(dim=-1, keepdim=True)).T
You compare directions only: your score is the cosine of the angle.

A dot product has the lengths in it too, and a longer query looks more sharply.
With a cosine no score leaves [-1, 1], and no key can take nearly all.

# weights_of_distances (#close-or-only-long)
- query @ key.T -> -torch.cdist(query, key)
or
- query @ key.T -> torch.cdist(query, key)
or
- query @ key.T -> -torch.cdist(query, key).square()
or
- query @ key.T -> torch.cdist(query, key).square()
or
- query @ key.T -> -torch.cdist(query, key).square() / 2
or
- query @ key.T -> -torch.cdist(query, key, p=1)
Your score is a distance, or its negative, and no dot product.

The two rank keys alike only where all keys have one length.

# weights_of_a_reshaped_key (07_multi_head_attention#splitting-and-merging)
- key.T -> key.reshape(key.T.shape)
You give the keys the shape of their transpose without transposing.

A view or a reshape leaves the numbers in the order in which they lie in
memory: they are cut into other rows, and each column is a mixture of several
keys. The shape fits, so no error is raised.

# weights_of_queries_alone (#everybody-asks-at-once)
- key.T -> query.T
You compare the queries with each other; the keys are not looked at.

What asks and what is asked are two matrices, and they need not be equally
long.

# weights_overflow (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(
+ (lambda x, dim: x.exp() / x.exp().sum(dim, keepdim=True))(scores,
Your weights are right until a score is large: then they are NaN.

You divide powers by their sum, and e¹⁰⁰ is beyond 32 bits: infinity over
infinity. PyTorch's softmax takes the largest score of the row away first.

# weights_negated
- query @ -> -query @
The key that fits best gets the smallest weight: a sign is turned.

A softmin does so, or a score that is taken for a distance. The larger the dot
product, the *more* a query looks there.

# weights_divided_by_the_best
- scores.softmax(dim=-1) -> (scores - scores.amax(dim=-1, keepdim=True)).exp()
The largest weight of each of your rows is 1: there is no sum below.

To take the largest score away keeps powers small, and changes no share. But
each row has still to be divided by its own sum.

# weights_below_one_maximum (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(dim=-1)
+ (lambda x: x / x.sum(-1, keepdim=True))((scores - scores.max()).exp())
You take away the largest score of the *whole* table, not of each row.

A row whose scores are all far below it has nothing but powers of 0, and 0 is
divided by 0: what one query finds breaks another one's weights.

# weights_of_sizes
- scores.softmax(dim=-1) -> scores.abs() / scores.abs().sum(-1, keepdim=True)
or
- scores.softmax(dim=-1) -> scores.relu() / scores.relu().sum(-1, keepdim=True)
or
- scores.softmax(dim=-1)
+ scores.square() / scores.square().sum(dim=-1, keepdim=True)
Your weights are positive and sum to one, but you made them positive without
powers: by absolute values, squares or a ReLU.

Then a score of -2 may count as much as one of 2, or all scores may become 0. A
power keeps their order, and its slope is never 0.

# weights_scaled_otherwise (#the-same-in-the-package)
- scores = -> scores = 1 / query.size(-1) *
or
- scores = -> scores = query.size(-1) ** 0.5 *
or
- scores = -> scores = len(key) ** -0.5 *
or
- scores = -> scores = 1 / len(key) *
You divide or multiply the scores by a width, a length or a root of one.

Here the dot product itself is wanted. (The root of the width comes with the
next exercise. It is no mean of products, and depends on no length.)

# weights_of_one_direction (#close-or-only-long)
- query @ -> query / query.norm(dim=-1, keepdim=True) @
or
- query @ -> torch.nn.functional.normalize(query) @
or
- key.T -> (key / key.norm(dim=-1, keepdim=True)).T
You divide the queries, or the keys, by their lengths first.

A dot product has both lengths in it: a longer query looks more sharply, and a
longer key is found more easily.

# weights_of_the_past (06_masks#the-future)
- weights =
+ seen = torch.ones_like(scores).tril() > 0
+ scores = scores.masked_fill(~seen, -torch.inf)
+ weights =
Your queries look only at keys that stand no later than they do.

That is a causal mask (chapter 06). Here every query may look at every key.

# weights_softened_twice
- return weights -> return weights.softmax(dim=-1)
Your weights have been through a softmax twice.

The second one takes weights for scores. These lie between 0 and 1, so that
hardly any difference between the keys is left.

# weights_of_softened_rows
- query @ -> query.softmax(dim=-1) @
or
- query @ -> query.softmax(dim=-1) @
- key.T -> key.softmax(dim=-1).T
or
- query @ -> query.softmax(dim=-1) @
- scores.softmax(dim=-1) -> scores
You put the rows through a softmax before you compare them.

What a query and a key say are any numbers, negative ones too. Compare them as
they are: what is shared out are the scores.

# weights_of_cut_scores (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax -> scores.clamp(max=50).softmax
You cut large scores off at some limit.

Nothing overflows, but scores beyond the limit become alike: 1200 and 900 get
equal shares. To take the largest score of the row away changes no share.

# weights_of_positive_scores
- scores.softmax -> scores.abs().softmax
or
- scores.softmax -> scores.relu().softmax
You make the scores positive before the softmax.

It makes positive shares of any numbers, and a score of -2 has to get less than
one of 0, or of 2: the sign says what does *not* fit.

# weights_to_another_base
- scores.softmax -> (scores * 0.6931472).softmax
or
- scores.softmax -> (scores * 2.3025851).softmax
Your powers are those of 2 or 10, not of e.

The shares sum to one, but they are more even, or less: a softmax takes e to
the power of each score.

# weights_between_bounds
- scores.softmax(dim=-1) -> scores / scores.norm(dim=-1, keepdim=True)
or
- scores.softmax(dim=-1)
+ scores - scores.amin(dim=-1, keepdim=True)
- return
+ weights = weights / weights.sum(dim=-1, keepdim=True)
+ return
or
- scores.softmax(dim=-1)
+ scores - scores.amin(dim=-1, keepdim=True)
- return
+ weights = weights / weights.amax(dim=-1, keepdim=True)
+ return
You shift or stretch the scores of each row; there are no powers.

Divided by their length they may be negative; with the smallest taken away, the
worst key always gets 0, and no less. A softmax raises e to each score.

# weights_of_divided_scores (05_score_functions#a-temperature)
- weights =
+ scores = scores / scores.amax(dim=-1, keepdim=True)
+ weights =
or
- weights =
+ scores = scores / scores.norm(dim=-1, keepdim=True)
+ weights =
or
- weights =
+ scores = scores / scores.sum(dim=-1, keepdim=True)
+ weights =
You divide the scores by the largest one, or by another number of their row,
before the softmax.

It sees differences, so a number may be taken *away* from all of them. To
divide changes the shares; and where that number is negative, it turns them
round.

# weights_of_keys_alone (#everybody-asks-at-once)
- query @ -> key @
You compare the keys with each other; the queries are not looked at.

There has to be a row for each query.

# weights_number_by_number (#everybody-asks-at-once)
- query @ key.T -> query * key
or
- query @ key.T -> (query * key).sum(dim=-1)
You multiply query 1 with key 1, query 2 with key 2, number by number.

Every query has to meet every key, and a score is the *sum* of such products:
one number. Where there are more or fewer keys than queries, yours ends in an
error.

# weights_untransposed (#everybody-asks-at-once)
- key.T -> key
You multiply by the keys as they lie: no matrix is transposed.

A product goes row by column, so the keys have to stand in columns. (Where they
are not as many as a row has numbers, yours ends in an error.)

# weights_gone_on_to_mix
- return weights -> return weights @ key
or
- return weights -> return weights @ query
You go one step too far: you mix rows with the weights.

Asked for are the weights themselves, one for each query and key.

# weights_by_the_mean
- scores.softmax(dim=-1)
+ (scores - scores.amax(dim=-1, keepdim=True)).exp()
- return
+ weights = weights / weights.mean(dim=-1, keepdim=True)
+ return
or
- scores.softmax(dim=-1)
+ (scores - scores.amax(dim=-1, keepdim=True)).exp()
- return
+ weights = weights / weights.norm(dim=-1, keepdim=True)
+ return
You divide the powers by their mean, or by the length of their row.

Shares come of dividing by the *sum*: then they sum to one.

# weights_of_sums
- query @ key.T -> query.sum(dim=-1, keepdim=True) + key.sum(dim=-1)
or
- query @ key.T -> query.sum(dim=-1, keepdim=True) * key.sum(dim=-1)
or
- query @ key.T -> (query[:, None] + key).sum(dim=-1)
You sum the numbers of each row before a query meets a key.

Then nobody sees which of them fit together. Multiply number by number first,
then sum the products.
"""


def draw_queries(draw: Draw) -> Case:
    d = draw.size(2, 6)
    query, key = draw.size(1, 6), draw.size(2, 7)
    return case("random rows", draw.normal(query, d), draw.normal(key, d))


EXERCISE = exercise_of(
    attention_weights,
    place=1,
    section="04_attention#everybody-asks-at-once",
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
            torch.tensor([[300.0], [1.0]]),
            torch.tensor([[4.0], [3.0]]),
        ),
        case(
            "more keys than queries",
            Draw(40).normal(2, 3),
            Draw(41).normal(5, 3),
        ),
        case("float64", Draw(42).normal(2, 2).double(), torch.eye(2).double()),
    ],
    draw=draw_queries,
    edits=EDITS,
)
