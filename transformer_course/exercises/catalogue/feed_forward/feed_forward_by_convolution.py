"""The same part as two convolutions of width one."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from transformer_course.exercises.catalogue.feed_forward import (
    ONE_WORD,
    draw_part,
    random_part,
)
from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    other,
)


def feed_forward_by_convolution(
    x: Float[Tensor, "batch length d_model"],
    kernel_1: Float[Tensor, "d_ff d_model 1"],
    b_1: Float[Tensor, " d_ff"],
    kernel_2: Float[Tensor, "d_model d_ff 1"],
    b_2: Float[Tensor, " d_model"],
) -> Float[Tensor, "batch length d_model"]:
    """Compute the feed-forward part as two convolutions of width one.

    The numbers are those of ``feed_forward``, the exercise before, with its
    two linear maps, biases and ReLU; the weights are only kept in another
    shape.

    ``F.conv1d(x, kernel, bias)`` wants ``x`` as (batch, channels, length),
    and a kernel of (channels out, channels in, width).

    Args:
        x: the stream, with a word's numbers on the *last* axis.
        kernel_1: widens; its weights as ``nn.Conv1d`` keeps them.
        b_1: one number for each unit.
        kernel_2: narrows.
        b_2: one number for each number of the result.

    Returns:
        What the part answers, with the axes of ``x``.
    """
    ### BEGIN SOLUTION
    channels = x.transpose(1, 2)  # (batch, d_model, length)
    units = F.conv1d(channels, kernel_1, b_1).relu()
    answers = F.conv1d(units, kernel_2, b_2)
    return answers.transpose(1, 2)
    ### END SOLUTION


@other
def convolved_as_linear(x, kernel_1, b_1, kernel_2, b_2):
    units = F.linear(x, kernel_1[..., 0], b_1).relu()
    return F.linear(units, kernel_2[..., 0], b_2)


@other
def convolved_by_einsum(x, kernel_1, b_1, kernel_2, b_2):
    units = torch.einsum("bld,fdw->blf", x, kernel_1) + b_1
    return torch.einsum("blf,dfw->bld", units.clamp(min=0), kernel_2) + b_2


@other
def convolved_word_by_word(x, kernel_1, b_1, kernel_2, b_2):
    words = x.reshape(-1, x.size(-1), 1)  # each a sentence of one word
    units = torch.relu(torch.conv1d(words, kernel_1, b_1))
    return torch.conv1d(units, kernel_2, b_2).reshape(x.shape)


EDITS = """
# axes_left_alone
- x.transpose(1, 2) -> x
- answers.transpose(1, 2) -> answers
Your convolution takes words for channels.

It wants the channels on the second axis, where yours has the words. That is an
error, unless there are as many words as numbers: then there is none, and all
words are mixed.

# axes_not_brought_back
- answers.transpose(1, 2) -> answers
Your result is (batch, channels, length), as the convolution gives it.

The numbers are right. Whoever reads the stream next expects a word's numbers
on the last axis.

# axes_back_too_early
- (units, -> (units.transpose(1, 2),
- answers.transpose(1, 2) -> answers
You bring the axes back *between* the two convolutions.

The second one wants channels on the second axis as well.

# axes_only_brought_back
- x.transpose(1, 2) -> x
Your first convolution takes words for channels; the axes change places only at
the end.

That is an error, unless there are as many words as numbers. They have to
change places before the first convolution as well.

# axes_by_view (07_multi_head_attention#splitting-and-merging)
- x.transpose(1, 2) -> x.reshape(x.mT.shape)
- answers.transpose(1, 2) -> answers.reshape(x.shape)
You exchange axes by `view` or `reshape`, there and back.

All shapes are right. But the numbers stay in the order in which they lie in
memory: a channel of yours mixes the numbers of several words.

# axes_there_by_view (07_multi_head_attention#splitting-and-merging)
- x.transpose(1, 2) -> x.reshape(x.mT.shape)
You bring the axes into order by `view` or `reshape`.

The shape is right. But the numbers stay in the order in which they lie in
memory: a channel of yours mixes the numbers of several words. (The way back is
right.)

# axes_back_by_view (07_multi_head_attention#splitting-and-merging)
- answers.transpose(1, 2) -> answers.reshape(x.shape)
You bring the result into order by `view` or `reshape`.

The shape is right. But the numbers stay in the order in which they lie in
memory, channel after channel: your first word gets the first channel of
several words. (The way there is right.)

# sentence_for_channels
- x.transpose(1, 2) -> x.transpose(0, 1)
- answers.transpose(1, 2) -> answers.transpose(0, 1)
You exchange the sentences with the words, not words with numbers.

That is an error, unless there are as many sentences as numbers. The channels
are a word's numbers, which stand on the last axis.

# kernels_transposed
- channels, kernel_1 -> channels, kernel_1.transpose(0, 1)
- units, kernel_2 -> units, kernel_2.transpose(0, 1)
or
- channels, kernel_1 -> channels, kernel_1.transpose(0, 1)
or
- units, kernel_2 -> units, kernel_2.transpose(0, 1)
You exchange the axes of the kernels.

That is an error, unless the part is as wide inside as outside. A kernel has
the channels that come *out* on its first axis already, as a convolution wants
it.

# convolved_with_padding
- b_1) -> b_1, padding=1)
- b_2) -> b_2, padding=1)
or
- b_1) -> b_1, padding=1)
or
- b_2) -> b_2, padding=1)
Your sentence comes out longer than it went in.

You pad it by one word at each end. That is right for a window of three; a
window of one word needs none.

# convolved_without_kink (#what-a-mean-cannot-compute)
- .relu() ->
There is no kink between your convolutions.

Two linear maps, one after the other, are one linear map; and a convolution is
linear too.

# convolved_kink_at_the_end (#the-formula)
- .relu() ->
- b_2) -> b_2).relu()
Your kink is behind the second convolution, in place of the first.

Then there is none between the two linear maps, and the answer can never be
negative.

# convolved_kink_twice (#the-formula)
- b_2) -> b_2).relu()
You have a kink behind each of the two convolutions.

The second one is too many: the answer can never be negative.

# convolved_kink_before (#the-formula)
- F.conv1d(channels -> F.conv1d(channels.relu()
- .relu() ->
Your kink comes before the first convolution: it cuts the stream.

All negative numbers of a word are lost before the part has looked at them. The
units are what is cut.

# convolved_with_gelu (#relu-and-gelu)
- F.conv1d(channels, kernel_1, b_1).relu()
+ F.gelu(F.conv1d(channels, kernel_1, b_1))
Your kink is a GELU, as in BERT.

Asked for is the *same* part as in the exercise before: the paper's max(0, z).

# convolved_without_biases (#the-formula)
- , b_1 ->
- , b_2 ->
You use neither `b_1` nor `b_2`.

`F.conv1d` adds a bias only if it is given one.

# convolved_without_first_bias (#the-formula)
- , b_1 ->
You never use `b_1`. `F.conv1d` adds a bias only if it is given one.

# convolved_without_second_bias (#the-formula)
- , b_2 ->
You never use `b_2`. `F.conv1d` adds a bias only if it is given one.

# convolved_stream_added (08_add_and_norm#two-places-for-the-norm)
- return -> return x +
You add the stream to your answer.

That has to be done, but it is the layer's business: with it done twice, every
word would count double.

# convolved_bias_too_late (#the-formula)
- , b_1 ->
- .relu() -> .relu() + b_1[:, None]
You add `b_1` behind the kink.

It is to move the place at which a unit begins to fire. Behind the kink it only
adds the same to every word.

# convolved_with_another_kink (#relu-and-gelu)
- relu -> sigmoid
or
- relu -> tanh
or
- F.conv1d(channels, kernel_1, b_1).relu()
+ F.silu(F.conv1d(channels, kernel_1, b_1))
or
- F.conv1d(channels, kernel_1, b_1).relu()
+ F.leaky_relu(F.conv1d(channels, kernel_1, b_1))
or
- F.conv1d(channels, kernel_1, b_1).relu()
+ F.softplus(F.conv1d(channels, kernel_1, b_1))
or
- F.conv1d(channels, kernel_1, b_1).relu()
+ F.elu(F.conv1d(channels, kernel_1, b_1))
or
- relu() -> abs()
Your kink is not the paper's.

Asked for is the *same* part as in the exercise before, with its max(0, z).

# convolved_with_a_softmax
- relu() -> softmax(dim=1)
or
- relu() -> softmax(dim=-1)
You take a softmax of the units: they compete.

That belongs to attention. Here each unit fires for itself, or does not: max(0,
z).

# convolved_kink_upside_down (#relu-and-gelu)
- relu() -> clamp(max=0)
You keep what is *below* zero, and cut what is above.

max(0, z) is never negative.

# convolved_once
- F.conv1d(units, kernel_2, b_2) -> units
You return the units: the second convolution is missing.

The part gives as many numbers for each word as it was given.

# convolved_biases_swapped (#the-formula)
- , b_1 -> , b_2
- , b_2 -> , b_1
You use the two biases in each other's place.

That is an error, unless the part is as wide inside as outside. A bias has a
number for each channel that comes *out*: `b_1` for each unit.

# kernels_as_matrices (#the-formula)
- x.transpose(1, 2) -> x
- F.conv1d(channels, kernel_1, b_1) -> F.linear(channels, kernel_1, b_1)
- F.conv1d(units, kernel_2, b_2) -> F.linear(units, kernel_2, b_2)
- answers.transpose(1, 2) -> answers
or
- x.transpose(1, 2) -> x
- F.conv1d(channels, kernel_1, b_1) -> channels @ kernel_1 + b_1
- F.conv1d(units, kernel_2, b_2) -> units @ kernel_2 + b_2
- answers.transpose(1, 2) -> answers
You use the kernels as if they were matrices.

They have a third axis, of length 1: the window. A convolution takes them so; a
linear map would need them without it.

# windows_reach_over_words
- b_1) -> b_1, stride=2)
- b_2) -> b_2, stride=2)
or
- b_1) -> b_1, stride=2)
or
- b_2) -> b_2, stride=2)
You convolve with a stride of 2: every second word is left out.

Each word gets its answer, so the window moves by one word at a time.
"""


def as_convolution(
    note: str, x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor
) -> Case:
    """The same part, its matrices kept as a convolution keeps them."""
    return case(note, x, W_1.T[..., None], b_1, W_2.T[..., None], b_2)


def drawn(note: str, seed: int, *sizes: int) -> Case:
    return as_convolution(note, *draw_part(Draw(seed), *sizes))


EXERCISE = exercise_of(
    feed_forward_by_convolution,
    place=2,
    section="09_feed_forward#a-convolution-of-width-one",
    points=2,
    hints=(
        "Write down the shape that you have and the shape that a convolution "
        "wants. Which two axes change places, and what has to be done at the "
        "end?",
        "Transpose the last two axes before the first convolution, and again "
        "behind the second. Between the two convolutions there is only the "
        "kink: its place does not depend on the order of axes.",
    ),
    cases=[
        as_convolution(*ONE_WORD),
        as_convolution(
            "as many words as numbers",
            torch.tensor([[[1.0, 0.0], [0.0, 2.0]]]),
            torch.tensor([[1.0, 0.0], [1.0, 1.0]]),
            torch.tensor([0.5, -0.5]),
            torch.tensor([[1.0, 0.0], [0.0, 10.0]]),
            torch.tensor([-2.0, 0.0]),
        ),
        drawn("a single word", 5, 1, 1, 2, 4),
        drawn("two words of one number", 6, 1, 2, 1, 4),
        drawn("five words", 7, 1, 5, 2, 3),
        drawn("as many sentences as numbers", 8, 2, 3, 2, 4),
        as_convolution(
            "float64", *(t.double() for t in draw_part(Draw(9), 2, 2, 3, 5))
        ),
    ],
    draw=lambda draw: as_convolution("random numbers", *random_part(draw)),
    edits=EDITS,
)
