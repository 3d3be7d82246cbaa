"""One decoding step with a key-value cache."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


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
    """Pass the newest token through one head of causal self-attention.

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
Your token takes itself for the first one, each time.

It comes alone, at position 0 of the input. But in the sentence there are
tokens before it, as many as the cache holds.

# position_too_late
- [held] -> [held + 1]
Your token is one position too late.

Positions begin at 0: when the cache is empty, the token is at 0. Do you count
the token itself?

# position_too_early
- [held] -> [held - 1]
Your token has the position of the token before it.

Positions begin at 0. So n tokens in the cache have the positions up to n - 1,
and the newest one is at n.

# position_stays_at_one
- [held] -> [min(held, 1)]
All tokens after the first take themselves for the second.

A position is a count: how many tokens does the cache hold?

# last_position
- [held] -> [-1]
Your token always has the last position that there is.

The table of positions is longer than the sentence. The cache says how many
tokens there have been.

# all_positions_added
- [held] -> [: held + 1]
You add a whole beginning of the table of positions to one token.

By broadcasting, one token becomes as many as there are positions. Add one row
of the table only.

# batch_for_position
- keys.size(1) -> len(keys)
Your token's position is the number of sentences in the batch.

`len` of a tensor is the size of its first axis, and that is the batch. The
tokens of the cache lie along the second.

# width_for_position
- keys.size(1) -> keys.size(2)
Your token's position is the width of a key.

The cache is (batch, held, d): the tokens lie along the axis in the middle.

# query_without_position
- x @ w_query -> newest @ w_query
Your query has no position.

Add the position to the embedding, and make query, key and value from the sum.

# key_without_position
- x @ w_key -> newest @ w_key
Your new key has no position.

Add the position to the embedding, and make query, key and value from the sum.

# position_after_the_projection
- query, key, value = x @ w_query, x @ w_key, x @ w_value
+ weights = w_query, w_key, w_value
+ query, key, value = (newest @ w + encoding[held] for w in weights)
You add the position to query, key and value, after the projections.

Add it to the embedding, so that it is projected, too.

# no_position
- newest + encoding[held] -> newest
Your token has no position.

The keys and values in the cache were made with theirs. Add the position to the
embedding before you project it.

# only_the_query_has_a_position
- x @ w_key -> newest @ w_key
- x @ w_value -> newest @ w_value
Your new key and value have no position.

Add the position to the embedding, and make query, key and value from the sum.

# value_without_position
- x @ w_value -> newest @ w_value
Your new value has no position.

That would be right with rotary positions. Here you have to add the position to
the embedding, and make query, key and value from the sum.

# itself_not_seen
- query @ keys -> query @ keys[:, :held]
- weights @ values -> weights @ values[:, :held]
Your token does not see itself.

Do you attend first, and add its key and value to the cache afterwards? A
causal mask hides only what comes later, not the token itself. The first token
would see nothing at all.

# only_itself_seen
- query @ keys -> query @ key
- weights @ values -> weights @ value
Your token sees nothing but itself.

You attend to the new key and value alone. Attend to all that the cache holds,
and to the new ones.

# put_in_front
- [keys, key] -> [key, keys]
- [values, value] -> [value, values]
You put the newest token in front of the cache.

The output does not depend on the order of keys. But the cache has to be in the
order of the sentence: the newest token comes last.

# cache_left_as_it_was
- , keys, values -> , keys[:, :held], values[:, :held]
You return the cache as it was given.

So this token is forgotten when the next one comes, and that one gets the wrong
position. Return the cache with the new key and value in it.

# only_the_newest_returned
- , keys, values -> , key, value
You return the new key and value alone.

So all tokens before this one are forgotten when the next one comes. Return the
whole cache.

# inputs_in_the_cache
- [keys, key] -> [keys @ w_key, key]
- [values, value] -> [values @ w_value, value]
You multiply the cached keys and values by the weights once more.

The cache holds what is projected already: that is what it is for. Project only
the newest token.

# cached_keys_projected_again
- [keys, key] -> [keys @ w_key, key]
You multiply the cached keys by the weights once more.

The cache holds what is projected already: that is what it is for. Project only
the newest token.

# cached_values_projected_again
- [values, value] -> [values @ w_value, value]
You multiply the cached values by the weights once more.

The cache holds what is projected already: that is what it is for. Project only
the newest token.

# cached_positions_added_again
- [keys, key] -> [keys + encoding[:held], key]
or
- [keys, key] -> [keys + encoding[:held], key]
- [values, value] -> [values + encoding[:held], value]
You add positions to what is in the cache.

The cached keys and values were made with their positions already. Add one to
the newest token alone.

# keys_for_values
- weights @ values -> weights @ keys
Your output is a mean of keys, not of values.

Keys say where to look; values are what is fetched there.

# key_and_value_swapped
- x @ w_key, x @ w_value -> x @ w_value, x @ w_key
You make the new key with the values' weights, and the new value with the
keys'.

The cache was made the other way round: keys by `w_key`, values by `w_value`.

# query_and_key_swapped
- x @ w_query, x @ w_key -> x @ w_key, x @ w_query
You make the query with the keys' weights, and the new key with the queries'.

The keys in the cache were made by `w_key`.

# query_not_projected
- x @ w_query -> x
Your query is the token itself.

Project it: queries have weights of their own, as keys and values have.

# one_matrix_for_query_and_key
- x @ w_query -> x @ w_key
You make the query with the keys' weights.

What a token looks for and what it offers are two things: queries have weights
of their own.

# one_matrix_for_key_and_query
- x @ w_key -> x @ w_query
You make the new key with the queries' weights.

The keys in the cache were made with the keys' weights, and the new one stands
beside them.

# one_matrix_for_key_and_value
- x @ w_value -> x @ w_key
You make the new value with the keys' weights.

Keys decide where to look, values what is passed on: values have weights of
their own.

# key_not_projected
- x @ w_key -> x
Your new key is the token itself.

Project it: keys have weights of their own, as queries and values have.

# value_not_projected
- x @ w_value -> x
Your new value is the token itself.

Project it: values have weights of their own, as queries and keys have.

# weights_transposed
- query, key, value = x @ w_query, x @ w_key, x @ w_value
+ query, key, value = (x @ w.T for w in (w_query, w_key, w_value))
You multiply by the transposed weights.

`nn.Linear` stores its weights that way. Use these as they are, as in ``x @
w_query``.

# token_added
- return -> return newest +
or
- return -> return x +
You add the embedding to the output of the attention.

The residual connection is another part of the layer. Return the output of the
attention alone.

# cache_before_output
- weights @ values, keys, values -> keys, values, weights @ values
You return the output last.

It comes first, then the keys, then the values.

# mask_of_a_single_row (06_masks#the-causal-mask)
- weights = scores
+ future = torch.ones_like(scores).triu(1).bool()
+ weights = scores.masked_fill(future, -torch.inf)
Your token sees the very first token and nothing else.

Do you use a causal mask? In a table with a single row it leaves only the first
column. The newest token may see all that is there: it needs no mask.

# not_scaled (05_score_functions#divide-by-the-square-root)
-  / math.sqrt(x.size(-1)) ->
You do not divide the scores by the root of the width.

Dot products grow with that root, and large scores put nearly all the weight on
one key.

# scaled_by_the_length (05_score_functions#divide-by-the-square-root)
- x.size(-1) -> keys.size(1)
You divide the scores by the root of the number of keys.

Dot products grow with the width of a key, not with the number of keys.

# scaled_by_the_width (05_score_functions#divide-by-the-square-root)
- math.sqrt(x.size(-1)) -> x.size(-1)
You divide the scores by the width, not by its root.

Dot products grow with the root of the width. If you divide by more, the
weights come out too even.

# softmax_over_queries (04_attention#three-tokens-by-hand)
- dim=-1 -> dim=-2
Your softmax runs over the queries.

There is only one query, so every weight is 1, and your output is the sum of
all values. A token spreads its attention over the *keys*.

# no_softmax
- .softmax(dim=-1) ->
You weigh the values by the scores themselves: there is no softmax.

Weights have to be positive and to sum to one.

# softmax_over_the_batch (04_attention#three-tokens-by-hand)
- dim=-1 -> dim=0
Your softmax runs over the sentences of the batch.

Without a `dim`, `F.softmax` takes the first axis here. A token spreads its
attention over the *keys*, along the last axis.

# scaled_after_the_softmax (05_score_functions#divide-by-the-square-root)
-  / math.sqrt(x.size(-1)) ->
- softmax(dim=-1) -> softmax(dim=-1) / math.sqrt(x.size(-1))
You divide the weights by the root of the width, after the softmax.

Then the weights no longer sum to one. Divide the scores, before the softmax.

# scaled_the_other_way (05_score_functions#divide-by-the-square-root)
- / math -> * math
You *multiply* the scores by the root of the width.

Dot products grow with that root, so divide by it: then the width makes them
no larger.

# exponentials_overflow (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(dim=-1)
+ scores.exp() / scores.exp().sum(dim=-1, keepdim=True)
You take e^s of the scores as they are.

e¹⁰⁰ overflows float32: it is infinity, and infinity divided by infinity is
NaN. `softmax` subtracts the largest score first.

# joined_along_another_axis
- [keys, key], dim=1 -> [keys, key]
- [values, value], dim=1 -> [values, value]
or
- [keys, key], dim=1 -> [keys, key], dim=-1
- [values, value], dim=1 -> [values, value], dim=-1
You join the new key to the cache along the wrong axis.

The cache is (batch, held, d): one more token makes the axis in the middle
longer. Without `dim`, `torch.cat` uses the first axis.
"""


def state(note: str, seed: int, batch: int, held: int, d: int) -> Case:
    """Random tensors of these sizes, rounded to one decimal."""
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
    """A state of width 1, to be computed by hand."""
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
)
