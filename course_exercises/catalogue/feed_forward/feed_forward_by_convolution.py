"""The feed-forward network as two convolutions of width one."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.catalogue.feed_forward import (
    ONE_WORD,
    draw_part,
    random_part,
)
from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


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
You leave the axes as they are, so the convolution takes words for channels.

It expects the channels on the second axis, where you have the words. That is
an error, unless a sentence has as many words as a word has numbers: then all
words are mixed, and nothing tells you.

# axes_not_brought_back
- answers.transpose(1, 2) -> answers
Your result is (batch, channels, length), as a convolution returns it.

Swap the axes back: the next layer expects a word's numbers on the last axis.

# axes_back_too_early
- (units, -> (units.transpose(1, 2),
- answers.transpose(1, 2) -> answers
You swap the axes back *between* the two convolutions.

The second one expects channels on the second axis as well.

# axes_only_brought_back
- x.transpose(1, 2) -> x
You swap the axes only at the end, so your first convolution takes words for
channels.

That is an error, unless a sentence has as many words as a word has numbers.
Swap the axes before the first convolution as well.

# axes_by_view (07_multi_head_attention#splitting-and-merging)
- x.transpose(1, 2) -> x.reshape(x.mT.shape)
- answers.transpose(1, 2) -> answers.reshape(x.shape)
You use `view` or `reshape` to swap axes, before and after the convolutions.

That gives the right shape, but the numbers stay in the order in which they lie
in memory: each of your channels mixes the numbers of several words.

# axes_there_by_view (07_multi_head_attention#splitting-and-merging)
- x.transpose(1, 2) -> x.reshape(x.mT.shape)
You use `view` or `reshape` to swap the axes before the convolutions.

That gives the right shape, but the numbers stay in the order in which they lie
in memory: each of your channels mixes the numbers of several words.

# axes_back_by_view (07_multi_head_attention#splitting-and-merging)
- answers.transpose(1, 2) -> answers.reshape(x.shape)
You use `view` or `reshape` to swap the axes of the result back.

That gives the right shape, but the numbers stay in the order in which they lie
in memory, channel after channel: your first word gets the first channel of
several words.

# sentence_for_channels
- x.transpose(1, 2) -> x.transpose(0, 1)
- answers.transpose(1, 2) -> answers.transpose(0, 1)
You swap the axes of sentences and words, not those of words and numbers.

That is an error, unless there are as many sentences as numbers in a word. The
channels are a word's numbers, which stand on the last axis.

# kernels_transposed
- channels, kernel_1 -> channels, kernel_1.transpose(0, 1)
- units, kernel_2 -> units, kernel_2.transpose(0, 1)
or
- channels, kernel_1 -> channels, kernel_1.transpose(0, 1)
or
- units, kernel_2 -> units, kernel_2.transpose(0, 1)
You swap the axes of a kernel.

That is an error, unless the part is as wide inside as outside. The kernels
already have the channels that come *out* on their first axis, as a convolution
expects them.

# convolved_with_padding
- b_1) -> b_1, padding=1)
- b_2) -> b_2, padding=1)
or
- b_1) -> b_1, padding=1)
or
- b_2) -> b_2, padding=1)
You pad the sentence by a word at each end, so it comes out longer.

That suits a window of three words; a window of one word needs no padding.

# convolved_without_kink (#what-a-mean-cannot-compute)
- .relu() ->
There is no ReLU between your convolutions.

A convolution is a linear map, and two linear maps, one after the other, are
one.

# convolved_kink_at_the_end (#the-formula)
- .relu() ->
- b_2) -> b_2).relu()
Your ReLU comes after the second convolution, and there is none between them.

Without it the two are one linear map. And the answer can never be negative.

# convolved_kink_twice (#the-formula)
- b_2) -> b_2).relu()
You apply an activation after each of the two convolutions.

The second one is too many: with it the answer can never be negative.

# convolved_kink_before (#the-formula)
- F.conv1d(channels -> F.conv1d(channels.relu()
- .relu() ->
Your ReLU comes before the first convolution: it cuts off the stream's numbers.

All negative numbers of a word are lost before the first convolution sees them.
It is the hidden units that are cut off at 0.

# convolved_with_gelu (#relu-and-gelu)
- F.conv1d(channels, kernel_1, b_1).relu()
+ F.gelu(F.conv1d(channels, kernel_1, b_1))
Your activation is a GELU, as in BERT.

The exercise asks for the *same* part as the one before, with the paper's ReLU.

# convolved_without_biases (#the-formula)
- , b_1 ->
- , b_2 ->
You use neither `b_1` nor `b_2`.

`F.conv1d` adds a bias only if it is given one.

# convolved_without_first_bias (#the-formula)
- , b_1 ->
You never use `b_1`.

`F.conv1d` adds a bias only if it is given one.

# convolved_without_second_bias (#the-formula)
- , b_2 ->
You never use `b_2`.

`F.conv1d` adds a bias only if it is given one.

# convolved_stream_added (08_add_and_norm#post-norm-and-pre-norm)
- return -> return x +
You add the stream to your answer.

That has to be done, but by the layer around this part. Done twice, it would
add every word twice.

# convolved_bias_too_late (#the-formula)
- , b_1 ->
- .relu() -> .relu() + b_1[:, None]
You add `b_1` after the activation.

It should move the point at which a unit begins to fire. After the activation
it only adds the same to every word.

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
Your activation is not the paper's ReLU.

The exercise asks for the *same* part as the one before, with its max(0, z).

# convolved_with_a_softmax
- relu() -> softmax(dim=1)
or
- relu() -> softmax(dim=-1)
You take a softmax of the units, so they compete.

That belongs to attention. Here each unit fires, or does not fire, whatever the
others do: max(0, z).

# convolved_kink_upside_down (#relu-and-gelu)
- relu() -> clamp(max=0)
You keep what is *below* zero, and cut off what is above.

max(0, z) is never negative: it cuts off what is below.

# convolved_once
- F.conv1d(units, kernel_2, b_2) -> units
You return the units: the second convolution is missing.

The part returns as many numbers for each word as it was given.

# convolved_biases_swapped (#the-formula)
- , b_1 -> , b_2
- , b_2 -> , b_1
You swap the two biases.

That is an error, unless the part is as wide inside as outside. A bias has a
number for each channel that comes *out*: `b_1` has one for each unit.

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

They have a third axis, of length 1: the window. A convolution needs it; for a
linear map you would have to take it away.

# windows_reach_over_words
- b_1) -> b_1, stride=2)
- b_2) -> b_2, stride=2)
or
- b_1) -> b_1, stride=2)
or
- b_2) -> b_2, stride=2)
You convolve with a stride of 2: every second word is left out.

Each word needs an answer, so the window has to move one word at a time.
"""


def as_convolution(
    note: str, x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor
) -> Case:
    """The same weights in the shapes of ``nn.Conv1d``."""
    return case(note, x, W_1.T[..., None], b_1, W_2.T[..., None], b_2)


def drawn(note: str, seed: int, *sizes: int) -> Case:
    return as_convolution(note, *draw_part(Draw(seed), *sizes))


EXERCISE = exercise_of(
    feed_forward_by_convolution,
    section="09_feed_forward#a-convolution-of-width-one",
    points=2,
    hints=(
        "Write down the shape that you have and the shape that a convolution "
        "wants. Which two axes change places, and what has to be done at the "
        "end?",
        "Transpose the last two axes before the first convolution, and again "
        "after the second. Between the two convolutions there is only the "
        "ReLU, which does not depend on the order of axes.",
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
        drawn("two words of width 1", 6, 1, 2, 1, 4),
        drawn("five words", 7, 1, 5, 2, 3),
        drawn("as many sentences as numbers", 8, 2, 3, 2, 4),
        as_convolution(
            "float64", *(t.double() for t in draw_part(Draw(9), 2, 2, 3, 5))
        ),
    ],
    draw=lambda draw: as_convolution("random numbers", *random_part(draw)),
)
