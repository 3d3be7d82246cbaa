"""One more token, with what is known of the others."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    other,
)


def step_with_cache(
    newest: Float[Tensor, "batch 1 d"],
    encoding: Float[Tensor, "length d"],
    keys: Float[Tensor, "batch held d"],
    values: Float[Tensor, "batch held d"],
    w_query: Float[Tensor, "d d"],
    w_key: Float[Tensor, "d d"],
    w_value: Float[Tensor, "d d"],
) -> tuple[
    Float[Tensor, "batch 1 d"],
    Float[Tensor, "batch all d"],
    Float[Tensor, "batch all d"],
]:
    """The newest token goes through one head of causal self-attention.

    Args:
        newest: its embedding, scaled already, but without its position.
        encoding: the positional encoding; row 0 is that of the first token,
            and there are more rows than are needed.
        keys: the cache: those of the tokens before it, in their order; at
            the first token ``held`` is 0. They were made from embedding and
            position and are projected already.
        values: the same.
        w_query: makes queries, as in ``x @ w_query``.
        w_key: makes keys.
        w_value: makes values.

    Returns:
        What scaled dot-product attention gives for the newest token, which
        sees all tokens before it and itself (nothing else of a layer: no
        residual, no norm); then all keys and all values, its own at the end.
    """
    ### BEGIN SOLUTION
    held = keys.size(1)
    x = newest + encoding[held]
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    keys = torch.cat([keys, key], dim=1)
    values = torch.cat([values, value], dim=1)
    scores = query @ keys.transpose(-2, -1) / math.sqrt(x.size(-1))
    weights = scores.softmax(dim=-1)  # (batch, 1, all)
    return weights @ values, keys, values
    ### END SOLUTION


@other
def step_by_torch(newest, encoding, keys, values, w_query, w_key, w_value):
    held = keys.shape[1]
    x = newest + encoding[held : held + 1]
    keys = torch.hstack([keys, x.matmul(w_key)])
    values = torch.hstack([values, x.matmul(w_value)])
    attend = F.scaled_dot_product_attention
    return attend(x.matmul(w_query), keys, values), keys, values


@other
def step_by_loop(newest, encoding, keys, values, w_query, w_key, w_value):
    outputs, all_keys, all_values = [], [], []
    for token, k, v in zip(newest, keys, values, strict=True):
        x = token[0] + encoding[len(k)]
        k = torch.stack([*k, x @ w_key])
        v = torch.stack([*v, x @ w_value])
        scores = torch.stack([(x @ w_query) @ key for key in k])
        scores = scores / len(x) ** 0.5
        terms = (scores - scores.max()).exp()
        mixed = sum(t * row for t, row in zip(terms, v, strict=True))
        outputs.append((mixed / terms.sum())[None])
        all_keys.append(k)
        all_values.append(v)
    return tuple(map(torch.stack, (outputs, all_keys, all_values)))


@other
def step_by_einsum(newest, encoding, keys, values, w_query, w_key, w_value):
    x = newest + encoding[keys.size(1)][None, None]
    q, k, v = (
        torch.einsum("btd,de->bte", x, w) for w in (w_query, w_key, w_value)
    )
    keys, values = torch.cat((keys, k), 1), torch.cat((values, v), 1)
    scores = torch.einsum("bqd,bkd->bqk", q, keys) * q.size(-1) ** -0.5
    output = torch.einsum("bqk,bkd->bqd", scores.softmax(-1), values)
    return output, keys, values


EDITS = """
# position_zero
- [held] -> [0]
Your token believes to be the first one, each time.

It comes alone, so that its place in the input is 0. Its place in the sentence
is not: the cache knows how many came before it.

# position_too_late
- [held] -> [held + 1]
Your token is one position too late.

Positions begin at 0: when the cache is empty, the token is at 0. Do you count
it before you ask where it is?

# position_too_early
- [held] -> [held - 1]
Your token has the position of the token before it.

Positions begin at 0: with n tokens in the cache they are taken from 0 to n -
1. (And the first token gets the last position of all.)

# position_stays_at_one
- [held] -> [min(held, 1)]
The first token is right, and all others believe to be the second.

Where a token is, is not only a question of whether the cache is empty.

# last_position
- [held] -> [-1]
Your token always has the last position that there is.

The table of positions is longer than the sentence. How far the sentence has
come is told by the cache.

# all_positions_added
- [held] -> [: held + 1]
You add a whole beginning of the table of positions to one token.

By broadcasting, the one token becomes as many as there are positions. It has
one position.

# batch_for_position
- keys.size(1) -> len(keys)
Your token's position is the number of sentences in the batch.

`len` of a tensor is the size of its first axis, and that is the batch. The
tokens of the cache lie along the second.

# width_for_position
- keys.size(1) -> keys.size(2)
Your token's position is the width of a key.

The cache is (batch, held, d): how many tokens it holds is told by the axis in
the middle.

# query_without_position
- x @ w_query -> newest @ w_query
Your query has no position, though the new key and value have theirs.

The position is added once, to the embedding; all three are made from the sum.

# key_without_position
- x @ w_key -> newest @ w_key
Your new key has no position, though the query and the value have theirs.

The position is added once, to the embedding; all three are made from the sum.

# position_after_the_projection
- query, key, value = x @ w_query, x @ w_key, x @ w_value
+ weights = w_query, w_key, w_value
+ query, key, value = (newest @ w + encoding[held] for w in weights)
You add the position to query, key and value.

It belongs to the embedding: added before the projections, it goes through them
too.

# no_position
- newest + encoding[held] -> newest
Your token has no position.

The keys in the cache were made with theirs; this one belongs beside them.

# only_the_query_has_a_position
- x @ w_key -> newest @ w_key
- x @ w_value -> newest @ w_value
Your query has a position, but the new key and value have none.

The position is added once, to the embedding; all three are made from the sum.

# value_without_position
- x @ w_value -> newest @ w_value
Your new value has no position.

(With rotary positions it would have none.) Here the position is added to the
embedding, and query, key and value are made from the sum.

# itself_not_seen
- query @ keys -> query @ keys[:, :held]
- weights @ values -> weights @ values[:, :held]
Your token does not see itself.

You attend first, and put its key and value into the cache afterwards. The
causal mask hides what comes later, and a token is not later than itself; the
first token would see nothing at all.

# only_itself_seen
- query @ keys -> query @ key
- weights @ values -> weights @ value
Your token sees nothing but itself.

The cache grows as it should, but you attend to the new key and value alone.

# put_in_front
- [keys, key] -> [key, keys]
- [values, value] -> [value, values]
You put the newest in front of the cache.

The output is right, since attention knows no order. But the cache is to be in
the order of the sentence.

# cache_left_as_it_was
- , keys, values -> , keys[:, :held], values[:, :held]
You return the cache as it was given.

The output is right. But at the next token this one would be forgotten, and the
position would be wrong.

# only_the_newest_returned
- , keys, values -> , key, value
You return the new key and value alone.

The output is right. But at the next token all that came before would be
forgotten.

# inputs_in_the_cache
- [keys, key] -> [keys @ w_key, key]
- [values, value] -> [values @ w_value, value]
You multiply the cached keys and values by the weights once more.

The cache holds what has been projected already, so that it need not be done
again. Only what is new is to be projected.

# keys_for_values
- weights @ values -> weights @ keys
Your output is a mean of keys, not of values.

The weights are right, and so is the cache.

# key_and_value_swapped
- x @ w_key, x @ w_value -> x @ w_value, x @ w_key
The new key is made by the values' weights, and the new value by the keys'.

What is in the cache is made the right way round.

# query_and_key_swapped
- x @ w_query, x @ w_key -> x @ w_key, x @ w_query
The query is made by the keys' weights, and the new key by the queries'.

What is in the cache is made the right way round.

# query_not_projected
- x @ w_query -> x
Your query is the token itself.

It has weights of its own, as keys and values have.

# one_matrix_for_query_and_key
- x @ w_query -> x @ w_key
You make the query with the keys' weights.

What a token looks for and what it offers are two things: queries have weights
of their own.

# one_matrix_for_key_and_query
- x @ w_key -> x @ w_query
You make the new key with the queries' weights.

The keys in the cache were made with the keys' weights: it cannot be compared
with them.

# one_matrix_for_key_and_value
- x @ w_value -> x @ w_key
You make the new value with the keys' weights.

What a token is found by and what it gives are two things: values have weights
of their own.

# key_not_projected
- x @ w_key -> x
Your new key is the token itself.

It has weights of its own, as queries and values have.

# value_not_projected
- x @ w_value -> x
Your new value is the token itself.

It has weights of its own, as queries and keys have.

# weights_transposed
- query, key, value = x @ w_query, x @ w_key, x @ w_value
+ query, key, value = (x @ w.T for w in (w_query, w_key, w_value))
You multiply by the transposed weights.

`nn.Linear` keeps its weights so. These are to be used as they stand, as in ``x
@ w_query``.

# token_added
- return -> return newest +
or
- return -> return x +
You add the embedding to what attention gives.

The residual connection is another part of the layer. Asked for is the output
of the attention alone.

# cache_before_output
- weights @ values, keys, values -> keys, values, weights @ values
Your results are the right ones, in another order.

The output comes first, then the keys, then the values.

# mask_of_a_single_row (06_masks#the-future)
- weights = scores
+ future = torch.ones_like(scores).triu(1).bool()
+ weights = scores.masked_fill(future, -torch.inf)
Your token sees the very first token and nothing else.

You use a causal mask, and of a table with a single row it leaves only the
first column. The newest token may see all that is there: it needs no mask.

# not_scaled (05_score_functions#divide-by-the-root)
-  / math.sqrt(x.size(-1)) ->
You do not divide the scores by the root of the width.

# scaled_by_the_length (05_score_functions#divide-by-the-root)
- x.size(-1) -> keys.size(1)
You divide the scores by the root of the number of keys.

It is the width of a key that makes dot products large, not how many keys there
are.

# scaled_by_the_width (05_score_functions#divide-by-the-root)
- math.sqrt(x.size(-1)) -> x.size(-1)
You divide the scores by the width, not by its root.

# softmax_over_queries (04_attention#three-tokens-by-hand)
- dim=-1 -> dim=-2
Your softmax runs over the queries.

There is only one, so every weight is 1, and your output is the sum of all
values. A token spreads its attention over the *keys*.

# no_softmax
- .softmax(dim=-1) ->
You weigh the values by the scores as they are: there is no softmax.

Weights are positive, and sum to one.

# softmax_over_the_batch (04_attention#three-tokens-by-hand)
- dim=-1 -> dim=0
Your softmax runs over the sentences of the batch.

Without a `dim`, `F.softmax` takes the first axis here. A token spreads its
attention over the *keys*, along the last axis.

# scaled_after_the_softmax (05_score_functions#divide-by-the-root)
-  / math.sqrt(x.size(-1)) ->
- softmax(dim=-1) -> softmax(dim=-1) / math.sqrt(x.size(-1))
You divide the weights by the root of the width, after the softmax.

It is the scores that are too large, before it. Your weights do not sum to one
any more.

# scaled_the_other_way (05_score_functions#divide-by-the-root)
- / math -> * math
You *multiply* the scores by the root of the width.

They are too large already: divided by it, they are about as large as one
product of two numbers.

# exponentials_overflow (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(dim=-1)
+ scores.exp() / scores.exp().sum(dim=-1, keepdim=True)
You take e^s of scores as they are.

Of a score of 100 that is infinity, in float32, and infinity divided by
infinity is NaN. `softmax` takes the largest score off first.

# joined_along_another_axis
- [keys, key], dim=1 -> [keys, key]
- [values, value], dim=1 -> [values, value]
or
- [keys, key], dim=1 -> [keys, key], dim=-1
- [values, value], dim=1 -> [values, value], dim=-1
You join the new key to the cache along the wrong axis.

The cache is (batch, held, d): a token more makes the axis in the middle
longer. `torch.cat` takes the first one, if it is told none.
"""


def state(note: str, seed: int, batch: int, held: int, d: int) -> Case:
    """Random numbers of these sizes, of one decimal so that they are read."""
    draw = Draw(seed)

    def few(*shape: int) -> Tensor:
        return (10 * draw.normal(*shape)).round() / 10

    return case(
        note,
        few(batch, 1, d),
        few(held + 3, d),
        few(batch, held, d),
        few(batch, held, d),
        *(few(d, d) for _ in range(3)),
    )


def narrow(
    note: str,
    positions: list[float],
    keys: list[float],
    values: list[float],
    w_query: float,
) -> Case:
    """A state of width 1, to be reckoned with on paper."""
    column = [
        torch.tensor(part)[:, None] for part in (positions, keys, values)
    ]
    weights = (torch.tensor([[w]]) for w in (w_query, 2.0, 3.0))
    return case(
        note,
        torch.tensor([[[1.0]]]),
        column[0],
        column[1][None],
        column[2][None],
        *weights,
    )


def draw_state(draw: Draw) -> Case:
    sizes = draw.size(1, 3), draw.size(0, 5), draw.size(2, 4)
    return state("a random state", draw.size(0, 10**6), *sizes)


EXERCISE = exercise_of(
    step_with_cache,
    place=4,
    section="13_generation#the-cache-do-not-compute-it-again",
    points=4,
    hints=(
        "What does the newest token need of the others, and what do later "
        "ones need of it? And at which position is it, if there are none, "
        "one, or two before it?",
        "The number of cached keys is its position. Add that row of the "
        "table; make query, key and value from the sum; join key and value "
        "to the cache along the axis of the tokens; then attend with the one "
        "query to all there is. There is nothing to hide.",
    ),
    cases=[
        narrow("the first token, of width 1", [0.5, 0.2], [], [], 1.0),
        narrow(
            "the second token, of width 1",
            [0.5, 0.2, -1.0],
            [1.0],
            [2.0],
            0.5,
        ),
        narrow(
            "the third token, of width 1",
            [0.5, 0.2, -0.4, -1.0],
            [1.0, 0.2],
            [2.0, 0.7],
            0.5,
        ),
        state("the first token", 20, 1, 0, 2),
        state("the second token", 21, 1, 1, 2),
        state("the third token", 22, 1, 2, 2),
        state("two sentences", 23, 2, 2, 3),
        state("as many tokens as sentences", 24, 3, 2, 3),
        narrow("large scores", [0.0, 1.0], [100.0], [2.0], 50.0),
        case(
            "float64",
            *(part.double() for part in state("", 25, 2, 3, 4).args),
        ),
    ],
    draw=draw_state,
    edits=EDITS,
)
