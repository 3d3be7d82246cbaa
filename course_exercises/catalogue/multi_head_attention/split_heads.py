"""Splitting into heads."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.catalogue import numbered
from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other

from . import SPLITTING


def split_heads(
    x: Float[Tensor, "batch length d_model"], n_heads: int
) -> Float[Tensor, "batch heads length d_head"]:
    """Give each head its own section of every token's numbers.

    No number is changed, each only gets another place.

    Args:
        x: what a projection has made of a batch of sentences.
        n_heads: how many heads share the width; it divides ``d_model``.

    Returns:
        An axis for the heads, ahead of the length. The first head has the
        first ``d_model / n_heads`` numbers of each token, the second one the
        next, and so on.
    """
    ### BEGIN SOLUTION
    batch, length, d_model = x.shape
    d_head = d_model // n_heads
    pieces = x.view(batch, length, n_heads, d_head)
    return pieces.transpose(1, 2)
    ### END SOLUTION


@other
def split_by_chunks(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


@other
def split_by_slices(x, n_heads):
    width = x.size(-1) // n_heads
    heads = [x[:, :, i * width : (i + 1) * width] for i in range(n_heads)]
    return torch.cat([head[:, None] for head in heads], dim=1)


@other
def split_of_transposed(x, n_heads):
    columns = x.mT.unflatten(1, (n_heads, -1))  # (batch, heads, d_head, ...)
    return columns.mT


EDITS = """
# split_by_view_alone
- view(batch, length, n_heads -> reshape(batch, n_heads, length
- pieces.transpose(1, 2) -> pieces
Your "heads" are sections of the *sentence*.

`view` and `reshape` read the numbers in the order in which they lie in
memory, token after token. So your first head holds all the numbers of the
first tokens, and nothing of the last ones. The shape fits, so that no error is
raised.

# split_not_transposed
- pieces.transpose(1, 2) -> pieces
Your heads come after the length: (batch, length, heads, d_head).

A matrix product works on the last two axes. With yours, the heads of one token
would attend to each other, and tokens would never meet.

# split_by_turns
- n_heads, d_head) -> d_head, n_heads).mT
You deal a token's numbers out to the heads in turn.

With two heads, one has the numbers 0, 2, 4 and so on, the other 1, 3, 5. Each
head has to get a section of numbers that lie side by side. (A layer could be
trained with yours, but its weights would fit no other program.)

# split_sizes_swapped
- n_heads, d_head -> d_head, n_heads
You confuse the number of heads with the width of a head.

From 8 numbers and 2 heads you make 4 heads of width 2, not 2 heads of width 4.

# split_heads_before_batch (#folding-the-heads-into-the-batch)
- transpose(1, 2) -> permute(2, 0, 1, 3)
Your heads come before the batch: (heads, batch, length, d_head).

Masks and other programs expect the batch first: (batch, heads, length,
d_head).

# split_into_the_batch (#folding-the-heads-into-the-batch)
- transpose(1, 2) -> transpose(1, 2).flatten(0, 1)
You make one axis of the batch and the heads.

Attention works like that as well, and many programs do so. This exercise asks
for two axes, so that masks of (batch, 1, 1, key) still fit.

# split_over_the_batch
- view(batch, length, n_heads -> reshape(n_heads, batch, length
- transpose(1, 2) -> transpose(0, 1)
Your heads mix the sentences of the batch.

A `view` or `reshape` that begins with the heads cuts the batch where a token
should be cut. The shape fits, but the numbers of one sentence end up in the
rows of another.

# split_transposed_too_early
- x.view(batch, length, n_heads
+ x.transpose(1, 2).reshape(batch, n_heads, length
- pieces.transpose(1, 2) -> pieces
You transpose first, and cut afterwards.

Then the axis that you cut is no longer that of a token's numbers: each of your
rows mixes several tokens. The shape fits, so that no error is raised.

# split_all_alike
- transpose(1, 2) -> transpose(1, 2)[:, :1].repeat(1, n_heads, 1, 1)
All your heads hold the same numbers, the first of each token.

Then all of them compute the same. Each head needs a section of its own.

# split_wrong_axes
- (1, 2) -> (2, 3)
You swap the heads with the numbers of a head: (batch, length, d_head, heads).

The axis of the heads has to come before the length.

# split_far_axes
- (1, 2) -> (1, 3)
You swap the length with the numbers of a head: (batch, d_head, heads, length).

The axis of the heads has to come before the length, and the numbers last.

# split_swapped_with_the_batch
- (1, 2) -> (0, 2)
You swap the heads with the batch: (heads, length, batch, d_head).

The axis of the heads has to come before the length, after the batch.

# split_length_last
- transpose(1, 2) -> permute(0, 2, 3, 1)
Your heads lie on their side: (batch, heads, d_head, length).

Keys are transposed like that later, to compute scores. After the split each
token has a row.

# split_overlapping
- x.view(batch, length, n_heads, d_head)
+ x.unfold(-1, d_head, 1)[:, :, :n_heads]
Your sections overlap: each begins one number after the one before it.

They have to lie side by side: the second head begins where the first one ends.
With yours, no head gets the last numbers of a token.

# split_whole_for_each
- pieces.transpose(1, 2) -> x[:, None].repeat(1, n_heads, 1, 1)
Each of your heads holds all the numbers of every token.

The heads have to share them: with h heads, each gets d_model / h numbers.

# split_the_sentence
- pieces.transpose(1, 2) -> torch.stack(x.chunk(n_heads, dim=1), dim=1)
You cut the sentence into parts, one for each head.

Cut the *numbers of each token*: every head sees the whole sentence.

# split_folded_by_view (#folding-the-heads-into-the-batch)
- view(batch, length, n_heads -> reshape(batch * n_heads, length
- pieces.transpose(1, 2) -> pieces
You make one axis of the batch and the heads, by `view` or `reshape` alone.

This exercise asks for two axes. And numbers are read in the order in which
they lie in memory: your rows are sections of the *sentence*, not of its
tokens.
"""


def draw_stream(draw: Draw) -> Case:
    n_heads, d_head = draw.size(2, 4), draw.size(1, 4)
    shape = draw.size(1, 3), draw.size(3, 6), n_heads * d_head
    return case("random numbers", draw.normal(*shape), n_heads)


EXERCISE = exercise_of(
    split_heads,
    section=SPLITTING,
    points=1,
    hints=(
        "Write down the numbers of two tokens, four each, and draw a line "
        "where two heads part. Which axis has to be cut in two? And where is "
        "the new axis to stand?",
        "Cut the last axis into heads and numbers of a head, and leave the "
        "other two as they are. Then swap the length with the heads: these "
        "are two steps, and `view` alone cannot do the second.",
    ),
    cases=[
        case("two tokens, two heads of width 1", numbered(1, 2, 2), 2),
        case("a single token", numbered(1, 1, 4), 2),
        case("two tokens, two heads of width 2", numbered(1, 2, 4), 2),
        case("one head", numbered(1, 2, 3), 1),
        case("two heads of width 3", numbered(1, 2, 6), 2),
        case("two sentences", numbered(2, 3, 4), 2),
        case("three heads, five tokens", numbered(2, 5, 6), 3),
        case("float64", numbered(2, 2, 4).double(), 2),
    ],
    draw=draw_stream,
)
