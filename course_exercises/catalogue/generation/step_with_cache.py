"""One decoding step with a key-value cache."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


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
