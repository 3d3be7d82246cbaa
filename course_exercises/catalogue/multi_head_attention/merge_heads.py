"""Merging of heads."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.catalogue import numbered
from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other

from . import SPLITTING


def merge_heads(
    x: Float[Tensor, "batch heads length d_head"],
) -> Float[Tensor, "batch length d_model"]:
    """Lay the heads' answers side by side: the way back from a split.

    Args:
        x: what each head says at each token.

    Returns:
        For each token the numbers of the first head, then those of the
        second, and so on; ``d_model`` is heads · d_head.
    """
    ### BEGIN SOLUTION
    batch, _, length, _ = x.shape
    return x.transpose(1, 2).reshape(batch, length, -1)
    ### END SOLUTION


@other
def merge_by_cat(x):
    return torch.cat([x[:, i] for i in range(x.size(1))], dim=-1)


@other
def merge_by_flatten(x):
    return x.permute(0, 2, 1, 3).flatten(start_dim=2)


@other
def merge_by_filling(x):
    batch, heads, length, width = x.shape
    merged = x.new_empty(batch, length, heads * width)
    for head in range(heads):
        merged[..., head * width : (head + 1) * width] = x[:, head]
    return merged


EDITS = """
# merged_without_transpose
- x.transpose(1, 2) -> x
You have not swapped heads and length before you merge.

The numbers lie in memory head after head. Read in that order, your first row
is what *one* head says at the first tokens, not what all heads say at the
first one. The shape fits, so that no error is raised.

# merged_by_view
- reshape -> view
You swap axes, and then `view` refuses.

After `transpose` the numbers no longer lie in memory in the order in which
they are read, and `view` never moves a number. Which function copies them
where it has to?

# merged_by_turns
- transpose(1, 2) -> permute(0, 2, 3, 1)
You interleave the heads' numbers.

First comes the first number of every head, then the second of every head. The
sections have to lie one after the other: all numbers of the first head, then
all of the second.

# merged_wrong_axes
- (1, 2) -> (2, 3)
You swap the last two axes, length and numbers, and leave the heads where they
are.

The shape fits after reshaping. But a row of your result mixes several tokens.

# merged_over_the_batch
- (1, 2) -> (0, 1)
You swap the heads with the batch, not with the length.

The shape fits after reshaping. But what the heads say about one sentence ends
up in the rows of another.

# merged_by_sum (#the-formula-and-its-sizes)
- transpose(1, 2).reshape(batch, length, -1) -> sum(dim=1)
You add the heads up.

Then it is lost which head said what. They are added later, after each has been
multiplied by its own rows of the output matrix; here they have to lie side by
side.

# merged_by_mean (#the-formula-and-its-sizes)
- transpose(1, 2).reshape(batch, length, -1) -> mean(dim=1)
You take the mean over the heads.

Averaging is just what several heads are there to avoid. They have to lie side
by side, so that each keeps its own numbers.

# merged_first_head
- transpose(1, 2).reshape(batch, length, -1) -> select(1, 0)
You return the first head alone.

The others are lost. All heads have to lie side by side in a token's row.

# merged_in_length
- transpose(1, 2).reshape(batch, length, -1) -> flatten(1, 2)
You put the heads' answers one below the other.

With two heads the sentence becomes twice as long. They belong side by side, in
the row of their token.

# merged_not_joined
- .reshape(batch, length, -1) ->
You bring the heads back behind the length, and stop there.

The heads and their numbers are still two axes: make them one.

# merged_sizes_misread
- _, length -> length, _
You take the second axis for the length.

What comes in is (batch, heads, length, d_head): the length is the third.

# merged_length_and_numbers
- transpose(1, 2).reshape(batch, length, -1) -> flatten(2)
You join the length with the numbers: (batch, heads, length · d_head).

So each *head* has one long row. Each *token* needs one, with what all heads
say.

# merged_on_its_side
- -1) -> -1).mT
Your result lies on its side: (batch, d_model, length).

Each token needs a row, of the width d_model.

# merged_batch_into_the_length
- -1) -> -1).flatten(0, 1)
You make one axis of the batch and the length.

Sentences have to stay apart: the result is (batch, length, d_model).

# merged_far_axes
- (1, 2) -> (1, 3)
You swap the heads with the numbers, and not with the length.

The shape fits after reshaping. But a row of your result mixes several tokens.

# merged_into_the_batch
- transpose(1, 2).reshape(batch, length, -1) -> flatten(0, 1)
or
- transpose(1, 2).reshape(batch, length, -1) -> transpose(0, 1).flatten(0, 1)
You put the heads' answers one below the other, as if they were sentences.

With two heads the batch becomes twice as large. They belong side by side, in
the row of their token.
"""


def draw_answers(draw: Draw) -> Case:
    batch, heads = draw.size(1, 3), draw.size(2, 4)
    answers = draw.normal(batch, heads, draw.size(2, 6), draw.size(2, 4))
    return case("random numbers", answers)


EXERCISE = exercise_of(
    merge_heads,
    section=SPLITTING,
    points=1,
    hints=(
        "Which two axes are to become one? A merge can only join axes that "
        "stand beside each other, in that order.",
        "Undo the steps of the split, the last one first: bring the heads "
        "back behind the length, then make one axis of heads and numbers. "
        "Not every function can do the second to a transposed tensor.",
    ),
    cases=[
        case("two heads of width 1", numbered(1, 2, 2, 1)),
        case("two heads of width 2", numbered(1, 2, 2, 2)),
        case("a single token", numbered(1, 3, 1, 2)),
        case("one head", numbered(1, 1, 3, 2)),
        case("three heads, two tokens", numbered(1, 3, 2, 2)),
        case("two sentences", numbered(2, 2, 3, 2)),
        case(
            "heads that were split from a row",
            numbered(2, 3, 3, 2).transpose(1, 2),
        ),
        case("float64", numbered(2, 2, 2, 3).double()),
    ],
    draw=draw_answers,
)
