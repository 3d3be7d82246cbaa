"""Additive attention scores."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def additive_score(
    query: Float[Tensor, "batch query d_query"],
    key: Float[Tensor, "batch key d_key"],
    U_q: Float[Tensor, "d_query d_hidden"],
    U_k: Float[Tensor, "d_key d_hidden"],
    v: Float[Tensor, " d_hidden"],
) -> Float[Tensor, "batch query key"]:
    """Score every query with every key: v · tanh(q U_q + k U_k).

    Bahdanau et al. 2015, appendix A.1.2.

    Args:
        query: a row for each position that asks.
        key: a row for each position that may be looked at; there may be
            more or fewer of these, and of another width.
        U_q: projects the queries.
        U_k: projects the keys.
        v: reads a number off the hidden units.

    Returns:
        The scores, a row for each query: not divided by anything, and
        without a softmax.
    """
    ### BEGIN SOLUTION
    asking = (query @ U_q)[:, :, None, :]
    asked = (key @ U_k)[:, None, :, :]
    hidden = (asking + asked).tanh()  # (batch, query, key, d_hidden)
    scores = hidden @ v
    return scores
    ### END SOLUTION


@other
def additive_by_loop(query, key, U_q, U_k, v):
    rows = []
    for place in range(query.size(1)):
        one = query[:, place : place + 1] @ U_q  # (batch, 1, d_hidden)
        rows.append(((one + key @ U_k).tanh() * v).sum(dim=-1))
    return torch.stack(rows, dim=1)


@other
def additive_by_concatenation(query, key, U_q, U_k, v):
    n, m = query.size(1), key.size(1)
    queries = query.unsqueeze(2).expand(-1, -1, m, -1)
    keys = key.unsqueeze(1).expand(-1, n, -1, -1)
    pairs = torch.cat([queries, keys], dim=-1)
    return torch.tanh(pairs @ torch.cat([U_q, U_k])) @ v


@other
def additive_by_einsum(query, key, U_q, U_k, v):
    asking = torch.einsum("bnd,dh->bnh", query, U_q)
    asked = torch.einsum("bmd,dh->bmh", key, U_k)
    asking = asking.repeat_interleave(key.size(1), dim=1)
    asked = asked.repeat(1, query.size(1), 1)
    scores = torch.einsum("bph,h->bp", torch.tanh(asking + asked), v)
    return scores.view(query.size(0), query.size(1), key.size(1))


EDITS = """
# tanh_forgotten
- .tanh() ->
There is no tanh.

Without it a score is one number of the query plus one of the key. The query's
is the same for every key, and a softmax does not see what all keys share: it
no longer matters what the query says.

# tanh_before_the_sum
- (asking -> (asking.tanh()
- asked).tanh() -> asked.tanh())
You apply tanh to query and key separately.

A score is then one number of the query plus one of the key. A softmax does not
see the query's, which is the same for every key: the two never meet.

# tanh_of_the_score
- .tanh() ->
- return scores -> return scores.tanh()
You apply tanh to the score instead of the hidden units.

Every score then lies between -1 and 1. The tanh belongs to the hidden units,
before `v` reads them.

# vector_inside_the_tanh
- asking + asked -> v * (asking + asked)
- hidden @ v -> hidden.sum(dim=-1)
or
- asking + asked -> v * (asking + asked)
You multiply by `v` inside the tanh.

`v` says how much each hidden unit counts, and reads them after the tanh. In
front of it no unit can count for more than 1.

# vector_forgotten
- hidden @ v -> hidden.sum(dim=-1)
You sum the hidden units; `v` is never used.

How much a hidden unit counts, and for or against a key, is to be learned too.

# tanh_replaced
- tanh -> relu
or
- tanh -> sigmoid
or
- (asking + asked).tanh() -> torch.nn.functional.gelu(asking + asked)
or
- tanh() -> softmax(dim=-1)
You apply a function other than tanh to the hidden units.

A tanh goes from -1 to 1, and through 0: it keeps the score bounded, and a
hidden unit may speak for a key or against it.

# projections_multiplied
- + -> *
You *multiply* projected queries and keys, number by number.

The additive score adds them.

# dot_of_projections
- (asking + asked).tanh() -> asking * asked
- hidden @ v -> hidden.sum(dim=-1)
Your score is the dot product of projected queries and keys.

That is a general score, with the matrix U_q U_kᵀ. It has neither a tanh nor
`v`.

# query_not_looked_at
- asking + -> 0 * asking +
or
- asking + ->
Your score depends on the key alone; the query is not looked at.

Each query then gives the same weights. Add both projections.

# queries_only
- asking + asked -> asking + 0 * asked
or
- + asked).tanh() -> ).tanh()
Your score depends on the query alone: all keys get the same.

The softmax would share the attention out evenly. Add both projections.

# projections_subtracted
- + -> -
or
- asking + asked -> asked - asking
You subtract queries and keys.

A matrix can learn the sign, so a model would train as well. But weights from
elsewhere would give other scores.

# matrices_exchanged
- U_q -> U_k
- U_k -> U_q
You project the queries by `U_k` and the keys by `U_q`.

Where both have the same width nothing warns you. Otherwise your code raises an
error.

# one_matrix_for_both
- U_k -> U_q
or
- U_q -> U_k
You project both by one matrix; the other is never used.

Queries and keys may mean different things, and have different widths: each has
a matrix of its own. Where the widths differ, your code raises an error.

# matrices_transposed (#three-scores-in-the-package)
- U_q -> U_q.T
- U_k -> U_k.T
You transpose the matrices before you multiply by them.

`nn.Linear` keeps its matrix that way. Here they are given as the formula has
them, with as many rows as a query, or a key, has numbers. Where a matrix is
not square, your code raises an error.

# nothing_projected
- (query @ U_q) -> query
- (key @ U_k) -> key
or
- (query @ U_q) -> query
or
- (key @ U_k) -> key
You do not project the queries or the keys.

Each has a matrix of its own, into the hidden units. Where the widths do not
fit, your code raises an error.

# hidden_units_averaged
- @ v -> @ v / len(v)
or
- hidden @ v -> hidden.mean(dim=-1)
You take the *mean* over the hidden units.

The score would get smaller the more hidden units there are. A product with `v`
is a sum, in which `v` says how much each unit counts.

# axes_of_one_sentence (#three-scores-in-the-package)
- [:, :, None, :] -> [:, None]
- [:, None, :, :] -> [None]
Your new axes are where they belong for a single sentence, without a batch.

A batch in front moves every axis to the right: you add sentences to sentences,
and query 1 to key 1, query 2 to key 2.

# row_by_row (#three-scores-in-the-package)
- [:, :, None, :] ->
- [:, None, :, :] ->
You add query 1 to key 1, query 2 to key 2, and so on.

Every query has to meet every key. Where there are more or fewer keys than
queries, your code raises an error or returns an axis too few.

# keys_in_rows (#three-scores-in-the-package)
- [:, :, None, :] -> [:, None, :, :]
- [:, None, :, :] -> [:, :, None, :]
Your table has a row for each key and a column for each query.

A row belongs to a query. The softmax that follows would run over the queries.

# weights_in_place_of_scores (04_attention#all-queries-at-once)
- return scores -> return scores.softmax(dim=-1)
or
- return scores -> return scores.softmax(dim=-2)
or
- return scores -> return scores.log_softmax(dim=-1)
You return weights, or their logarithms: there is a softmax at the end.

The exercise asks for the score. The softmax comes after it, and is the same
for every score function.

# additive_divided_by_a_root (#the-divisor-is-a-temperature)
- return scores -> return scores / len(v) ** 0.5
or
- asking + asked -> (asking + asked) / len(v) ** 0.5
You divide by the root of the number of hidden units.

That belongs to the dot product, which grows with the width. This score is
bounded by its tanh, and `v` starts small enough.

# additive_divided_by_another_root (#the-divisor-is-a-temperature)
- return scores -> return scores / query.size(-1) ** 0.5
or
- return scores -> return scores / key.size(-1) ** 0.5
or
- asking + asked -> (asking + asked) / query.size(-1) ** 0.5
or
- hidden @ v -> hidden @ v / key.size(1) ** 0.5
You divide by the root of a width or a length.

That belongs to the dot product, a sum of so many products. This score is
bounded by its tanh: nothing is divided.

# vector_not_summed
- hidden @ v -> hidden * v
You multiply the hidden units by `v`, but do not sum them.

Your result has a number for each hidden unit. A score is one number for each
query and key.

# tanh_twice
- asking + asked -> asking.tanh() + asked.tanh()
or
- return scores -> return scores.tanh()
You apply tanh twice.

The formula has one tanh: around the sum of the projected query and key.

# tanh_of_one_side
- (asking + asked).tanh() -> (asking.tanh() + asked)
or
- (asking + asked).tanh() -> (asking + asked.tanh())
You apply tanh to one of the two, and add the other as it is.

A score is then one number of the query plus one of the key. A softmax does not
see the query's: the two never meet inside a tanh.

# tanh_around_a_product
- (asking + asked).tanh() -> asking.tanh() * asked.tanh()
- hidden @ v -> hidden.sum(dim=-1)
or
- (asking + asked).tanh() -> asking * asked
- hidden @ v -> hidden.sum(dim=-1).tanh()
You multiply queries and keys, and apply tanh before or after that.

The additive score adds the two, applies tanh to each hidden unit, and lets `v`
read them.

# queries_with_themselves (#three-scores-in-the-package)
- (key @ U_k) -> (query @ U_k)
You compare the queries with each other; the keys are never used.

A score compares a query with a key, and each key needs a column.

# keys_with_themselves (#three-scores-in-the-package)
- (query @ U_q) -> (key @ U_q)
You compare the keys with each other; the queries are never used.

A score compares a query with a key, and each query needs a row.

# halved
- asking + asked -> (asking + asked) / 2
You take the *mean* of query and key, not their sum.

Half as much inside a tanh gives other scores.

# summed_over_another_axis (#three-scores-in-the-package)
- hidden @ v -> (hidden * v).sum(dim=2)
or
- hidden @ v -> (hidden * v).sum(dim=1)
or
- hidden @ v -> (hidden * v).sum()
You sum over the keys or the queries, not over the hidden units.

A score is left for each query and key: what goes is the last axis.

# pairs_in_another_order (07_multi_head_attention#splitting-and-merging)
- hidden @ v
+ (hidden @ v).mT.reshape(query.size(0), query.size(1), key.size(1))
or
- scores =
+ q, k = query @ U_q, key @ U_k
+ pairs = q.repeat(1, key.size(1), 1) + k.repeat(1, query.size(1), 1)
+ hidden = pairs.tanh().view(hidden.shape)
+ scores =
Your pairs stand in another order than your table takes them in.

Repeat the keys as a whole, and the queries row by row (or the other way round,
and transpose). The shape fits, so no error is raised.
"""


def draw_additive(draw: Draw) -> Case:
    batch, query, key = draw.size(1, 3), draw.size(1, 4), draw.size(2, 5)
    d_query, d_hidden = draw.size(1, 4), draw.size(2, 5)
    d_key = draw.choice([d_query, d_query + 1])
    return case(
        "random rows and matrices",
        draw.normal(batch, query, d_query),
        draw.normal(batch, key, d_key),
        draw.normal(d_query, d_hidden),
        draw.normal(d_key, d_hidden),
        draw.normal(d_hidden),
    )


EXERCISE = exercise_of(
    additive_score,
    section="05_score_functions#three-scores-by-hand",
    points=2,
    hints=(
        "Write the shapes of q U_q and k U_k for a whole batch. Every query "
        "meets every key: which shape has the block of all hidden units?",
        "A new axis of size 1 in the one, after its queries, and one in the "
        "other, before its keys: broadcasting then adds all pairs. What v "
        "does to the last axis is a matrix product.",
    ),
    cases=[
        case(
            "one query, one key, all of width 1",
            torch.tensor([[[1.0]]]),
            torch.tensor([[[2.0]]]),
            torch.tensor([[0.5]]),
            torch.tensor([[-1.0]]),
            torch.tensor([2.0]),
        ),
        case(
            "one query, two keys",
            torch.tensor([[[1.0]]]),
            torch.tensor([[[1.0], [-2.0]]]),
            torch.tensor([[1.0, 0.5]]),
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([1.0, 3.0]),
        ),
        case(
            "two queries, two keys",
            torch.tensor([[[1.0], [-1.0]]]),
            torch.tensor([[[0.0], [2.0]]]),
            torch.tensor([[1.0, 0.5]]),
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([1.0, 3.0]),
        ),
        case(
            "cats, drink, milk, as in the chapter",
            torch.tensor([[[2.0, 2.0]]]),
            torch.tensor([[[1.1513, 0.0], [-0.5, 0.5], [0.0, 1.0986]]]),
            0.5 * torch.eye(2),
            torch.eye(2),
            torch.tensor([3.0, 3.0]),
        ),
        case(
            "keys wider than queries",
            Draw(20).normal(1, 2, 2),
            Draw(21).normal(1, 3, 3),
            Draw(22).normal(2, 2),
            Draw(23).normal(3, 2),
            Draw(24).normal(2),
        ),
        case(
            "a batch of two, as many queries as keys",
            Draw(25).normal(2, 3, 2),
            Draw(26).normal(2, 3, 2),
            Draw(27).normal(2, 4),
            Draw(28).normal(2, 4),
            Draw(29).normal(4),
        ),
        case(
            "float64",
            Draw(30).normal(1, 2, 2).double(),
            Draw(31).normal(1, 2, 2).double(),
            Draw(32).normal(2, 2).double(),
            Draw(33).normal(2, 2).double(),
            Draw(34).normal(2).double(),
        ),
    ],
    draw=draw_additive,
)
