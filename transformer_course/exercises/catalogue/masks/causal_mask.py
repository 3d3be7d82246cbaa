"""Nobody looks at what comes later."""

import torch
from jaxtyping import Bool
from torch import Tensor

from transformer_course.exercises.engine.exercise import (
    case,
    exercise_of,
    other,
)


def causal_mask(length: int) -> Bool[Tensor, "1 1 query key"]:
    """Let each token look at itself and at what came before.

    Args:
        length: how many tokens there are.

    Returns:
        True where a query (row) may attend to a key (column); bool, not
        numbers. The two axes of size 1 stand for all sentences and all
        heads.
    """
    ### BEGIN SOLUTION
    everything = torch.ones(length, length, dtype=torch.bool)
    return everything.tril()[None, None]
    ### END SOLUTION


@other
def causal_by_positions(length):
    position = torch.arange(length)
    not_later = position[None, :] <= position[:, None]
    return not_later.view(1, 1, length, length)


@other
def causal_by_loop(length):
    mask = torch.zeros(1, 1, length, length, dtype=torch.bool)
    for query in range(length):
        mask[..., query, : query + 1] = True
    return mask


EDITS = """
# causal_inverted (#everybodys-conventions)
- tril() -> triu(1)
Your mask is True exactly where the future is.

In this course True says that a key *may be* attended to. With your mask a
token sees only what comes after it, and the last one nothing at all.
(`nn.Transformer` has the convention that you used.)

# causal_backwards
- tril() -> triu()
Your mask lets a token see itself and what comes *after* it.

Rows are queries, columns are keys: row 0 is the first token, and there is
nothing before it that it could see. Yours is the other triangle.

# causal_without_itself
- tril() -> tril(-1)
Your mask hides each token from itself.

The first token may then look nowhere. A token's own key is not the future:
what is to be predicted is the *next* one.

# causal_one_too_many (#what-a-model-learns-that-can-see-the-future)
- tril() -> tril(1)
Your mask lets each token see one token of the future.

It is the very one that it has to predict.

# causal_everything
- everything.tril() -> everything
Your mask hides nothing: every token sees the whole sentence.

# causal_nothing
- everything.tril() -> torch.zeros_like(everything)
Your mask hides everything: no token sees anything, not even itself.

# causal_only_itself
- everything.tril() -> torch.eye(length, dtype=torch.bool)
Your mask lets each token see itself and nothing else.

What came before must be seen as well, or there is nothing to attend to.

# causal_added (#everybodys-conventions)
- return everything.tril()[None, None]
+ mask = everything.tril()[None, None]
+ return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
or
- return everything.tril()[None, None]
+ return torch.full((length, length), -torch.inf).triu(1)
Your mask is a table of numbers to be added to the scores: 0 and -inf.

That works too, and some libraries want it so. But it cannot be joined with a
padding mask by `&`, and asked for is a mask of True and False.

# causal_in_two_axes (#two-masks-at-once)
- [None, None] ->
Your mask is right, but has no axes for the batch and the heads.

Broadcasting would put them there in most places. Asked for is the shape in
which it is joined with a padding mask: (1, 1, query, key).

# causal_one_step_back
- tril() -> tril().triu(-1)
Your mask lets each token see itself and the one before it, no more.

All that came before may be seen, however far back.
"""

EXERCISE = exercise_of(
    causal_mask,
    place=2,
    section="06_masks#the-future",
    points=2,
    hints=(
        "Write the table for three tokens on paper first: a row for each "
        "query, a column for each key. Which shape do the cells have that "
        "are True?",
        "A lower triangle with its diagonal. torch cuts one out of a tensor "
        "of ones; comparing positions with each other gives it as well. "
        "Then there are two axes to add in front.",
    ),
    cases=[
        case("one token", 1),
        case("two tokens", 2),
        case("three tokens", 3),
        case("an even length", 6),
        case("a longer sentence", 17),
    ],
    draw=lambda draw: case("a random length", draw.size(2, 12)),
    edits=EDITS,
)
