"""Causal mask."""

import torch
from jaxtyping import Bool
from torch import Tensor

from course_exercises.engine.exercise import case, exercise_of, other


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
# causal_inverted (#mask-conventions-of-other-libraries)
- tril() -> triu(1)
Your mask is True exactly where the future is.

In this course True says that a key *may be* attended to. With your mask a
token sees only what comes after it, and the last one nothing at all.
(`nn.Transformer` uses your convention.)

# causal_backwards
- tril() -> triu()
Your mask lets a token see itself and what comes *after* it.

Rows are queries, columns are keys: row 0 is the first token, which may see
nothing but itself. Yours is the other triangle.

# causal_without_itself
- tril() -> tril(-1)
Your mask hides each token from itself.

The first token may then look nowhere. A token's own key is not the future:
the model predicts the *next* one.

# causal_one_too_many (#what-a-model-learns-that-can-see-the-future)
- tril() -> tril(1)
Your mask lets each token see one token of the future.

That is the very token that the model has to predict.

# causal_everything
- everything.tril() -> everything
Your mask hides nothing: every token sees the whole sentence.

A token may see itself and what comes before it, not what comes later.

# causal_nothing
- everything.tril() -> torch.zeros_like(everything)
Your mask hides everything: no token sees anything, not even itself.

True says that a key *may be* attended to. Which keys are those, for each
query?

# causal_only_itself
- everything.tril() -> torch.eye(length, dtype=torch.bool)
Your mask lets each token see itself and nothing else.

It has to see what came before as well, or there is nothing to attend to.

# causal_added (#mask-conventions-of-other-libraries)
- [None, None] -> [None, None].float().log()
or
- [None, None] -> .float().log()
Your mask is a table of numbers to be added to the scores: 0 and -inf.

That works too, and some libraries expect it. But `&` cannot join it with a
padding mask, and this exercise asks for a mask of True and False.

# causal_of_numbers (#two-masks-at-once)
- , dtype=torch.bool) -> )
or
- , dtype=torch.bool) -> , dtype=torch.long)
or
- , dtype=torch.bool) -> , dtype=torch.uint8)
Your mask holds the numbers 1 and 0, not True and False.

`~` does not turn 1 into 0, and `masked_fill` takes no such mask. Make it of
dtype `torch.bool`.

# causal_in_two_axes (#two-masks-at-once)
- [None, None] ->
Your mask has no axes for the batch and the heads.

Broadcasting would add them in most places. But this exercise asks for the
shape (1, 1, query, key), in which the mask is joined with a padding mask.

# causal_in_three_axes (#two-masks-at-once)
- [None, None] -> [None]
Your mask has one axis of size 1 in front, not two.

Scores are (batch, heads, query, key): the mask needs one axis for the batch
and one for the heads.

# causal_axes_behind (#two-masks-at-once)
- [None, None] -> [..., None, None]
Your two axes of size 1 come last, not first.

Scores are (batch, heads, query, key), so yours would be taken for the queries
and the keys: the mask has to be (1, 1, query, key).

# causal_one_step_back
- tril() -> tril().triu(-1)
Your mask lets each token see itself and the one before it, no more.

A token may see all that came before it, however far back.
"""

EXERCISE = exercise_of(
    causal_mask,
    section="06_masks#the-causal-mask",
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
)
