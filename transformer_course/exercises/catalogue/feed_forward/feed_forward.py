"""Two linear maps and a kink, for each word alone."""

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
    case,
    exercise_of,
    other,
)


def feed_forward(
    x: Float[Tensor, "batch length d_model"],
    W_1: Float[Tensor, "d_model d_ff"],
    b_1: Float[Tensor, " d_ff"],
    W_2: Float[Tensor, "d_ff d_model"],
    b_2: Float[Tensor, " d_model"],
) -> Float[Tensor, "batch length d_model"]:
    """Send each word through two linear maps with the paper's kink between.

    The kink is a ReLU.

    Args:
        x: the stream.
        W_1: makes a word's vector wider; one column for each unit.
        b_1: one number for each unit.
        W_2: makes it as narrow as it was; one row for each unit.
        b_2: one number for each number of the result.

    Returns:
        What the part answers; the stream is not yet added to it.
    """
    ### BEGIN SOLUTION
    sums = x @ W_1 + b_1
    units = sums.clamp(min=0)
    return units @ W_2 + b_2
    ### END SOLUTION


@other
def feed_forward_by_linear(x, W_1, b_1, W_2, b_2):
    return F.linear(F.relu(F.linear(x, W_1.T, b_1)), W_2.T, b_2)


@other
def feed_forward_word_by_word(x, W_1, b_1, W_2, b_2):
    words = x.reshape(-1, x.size(-1))
    answers = [torch.relu(word @ W_1 + b_1) @ W_2 + b_2 for word in words]
    return torch.stack(answers).view(x.shape)


@other
def feed_forward_as_memory(x, W_1, b_1, W_2, b_2):
    answer = b_2.expand_as(x)
    for key, bias, value in zip(W_1.T, b_1, W_2, strict=True):
        match = torch.einsum("bld,d->bl", x, key) + bias
        fires = torch.maximum(match, match.new_zeros(()))
        answer = answer + fires[..., None] * value
    return answer


EDITS = """
# kink_left_out (#what-a-mean-cannot-compute)
- .clamp(min=0) ->
There is no kink: two linear maps, one after the other, are one linear map.

The width between them is then good for nothing.

# kink_at_the_end
- .clamp(min=0) ->
- units @ W_2 + b_2 -> (units @ W_2 + b_2).clamp(min=0)
Your kink is behind the second map, and there is none between the two.

The two maps are then one. And the answer can never be negative: it could add
to the stream, but take nothing away.

# kink_twice
- units @ W_2 + b_2 -> (units @ W_2 + b_2).clamp(min=0)
You have a kink behind each of the two maps.

The second one is too many: the answer can never be negative, so that it could
add to the stream, but take nothing away.

# kink_before
- x @ -> x.clamp(min=0) @
- .clamp(min=0) ->
Your kink comes before the first map: it cuts the stream.

All negative numbers of a word are lost before the part has looked at them. The
units are what is cut.

# kink_upside_down (#relu-and-gelu)
- min=0 -> max=0
You keep what is *below* zero, and cut what is above.

max(0, z) is never negative. `clamp(max=0)` says the opposite: that 0 is the
largest number allowed.

# maximum_of_python
- sums.clamp(min=0) -> max(0, sums)
Python's `max` is asked which of two things is larger, 0 or a tensor.

A tensor has many numbers, and each of them is to be compared with 0: that
takes a function of torch.

# gelu_for_relu (#relu-and-gelu)
- sums.clamp(min=0) -> F.gelu(sums)
or
- sums.clamp(min=0) -> F.gelu(sums, approximate="tanh")
Your kink is a GELU, as in BERT.

Many models have it, and it works as well. Asked for is the paper's max(0, z):
weights that were trained with one do not fit the other.

# sigmoid_for_relu (#relu-and-gelu)
- clamp(min=0) -> sigmoid()
Your kink is a sigmoid: all your units lie between 0 and 1.

Asked for is the paper's max(0, z), which has no upper end.

# tanh_for_relu (#relu-and-gelu)
- clamp(min=0) -> tanh()
Your kink is a tanh: all your units lie between -1 and 1.

Asked for is the paper's max(0, z), which has no upper end.

# silu_for_relu (#relu-and-gelu)
- sums.clamp(min=0) -> F.silu(sums)
Your kink is a SiLU, or Swish: z times its sigmoid.

Newer models have it. Asked for is the paper's max(0, z): weights that were
trained with one do not fit the other.

# softmax_for_relu
- clamp(min=0) -> softmax(dim=-1)
You take a softmax over the units: they compete, and sum to one.

That belongs to attention. Here each unit fires for itself, or does not: max(0,
z).

# leaky_relu (#relu-and-gelu)
- sums.clamp(min=0) -> F.leaky_relu(sums)
Your kink lets a hundredth of what is below zero through, as a leaky ReLU does.

Asked for is the paper's max(0, z), which is exactly 0 there.

# unit_fires_or_not
- sums.clamp(min=0) -> (sums > 0).to(x.dtype)
Your units are 1 or 0: they say that they fire, but not how strongly.

max(0, z) keeps z where that is above zero. And a step has no slope, so that
the first map would learn nothing.

# absolute_for_relu
- clamp(min=0) -> abs()
You turn what is below zero into its opposite.

Then a unit fires for the contrary of what it looks for as well. max(0, z) is 0
there.

# first_bias_forgotten
- + b_1 ->
You never add `b_1`.

All your units begin to fire at zero; a bias lets each begin elsewhere.

# second_bias_forgotten
- + b_2 ->
You never add `b_2`, at the end of the second map.

# both_biases_forgotten
- + b_1 ->
- + b_2 ->
You use neither `b_1` nor `b_2`.

Attention has no biases in the paper; the feed-forward part has two.

# first_bias_too_late
- + b_1 ->
- clamp(min=0) -> clamp(min=0) + b_1
You add `b_1` behind the kink.

It is to move the place at which a unit begins to fire. Behind the kink it only
adds the same to every word.

# stream_added (08_add_and_norm#two-places-for-the-norm)
- return -> return x +
You add the stream to your answer.

That has to be done, but it is the layer's business: with it done twice, every
word would count double.

# weights_transposed
- W_1 -> W_1.T
- W_2 -> W_2.T
or
- W_1 -> W_1.T
or
- W_2 -> W_2.T
You multiply by the transposed matrices.

That fails, unless the part is as wide inside as outside. `F.linear` and
`nn.Linear` keep a row for each *output*; the formula, and what you are given
here, has x on the left, and a column for each output.

# words_summed_up (#the-same-at-every-position)
- x @ -> x.mean(dim=1, keepdim=True).expand_as(x) @
All words of a sentence get the same answer: that of their mean.

The part reads one word at a time and sees none of the others.

# stream_normed (08_add_and_norm#two-places-for-the-norm)
- x @ -> F.layer_norm(x, x.shape[-1:]) @
or
- return units @ W_2 + b_2
+ answer = x + units @ W_2 + b_2
+ return F.layer_norm(answer, x.shape[-1:])
You normalise, too: what the part reads, or what comes out.

The norm is the layer's business, and has a gain and a bias of its own.

# another_kink (#relu-and-gelu)
- sums.clamp(min=0) -> F.softplus(sums)
or
- sums.clamp(min=0) -> F.elu(sums)
or
- sums.clamp(min=0) -> F.selu(sums)
or
- sums.clamp(min=0) -> F.mish(sums)
or
- sums.clamp(min=0) -> F.hardswish(sums)
or
- min=0 -> 0, 6
or
- min=0 -> 0, 1
or
- min=0 -> -1, 1
or
- clamp(min=0) -> square()
or
- clamp(min=0) -> clamp(min=0).square()
Your kink is not the paper's: it bends elsewhere, or in another way.

Asked for is max(0, z): nothing below zero, and z itself above, without an
upper end.

# bias_subtracted
- + b_1 -> - b_1
or
- + b_2 -> - b_2
or
- + b_1 -> - b_1
- + b_2 -> - b_2
You subtract a bias.

As a threshold it would have to be subtracted. A bias is added: it can be
negative itself.

# biases_swapped
- + b_1 -> + b_2
- + b_2 -> + b_1
You use the two biases in each other's place.

That fails, unless the part is as wide inside as outside. A bias has a number
for each *output* of its map: `b_1` for each unit.

# bias_before_the_map
- x @ W_1 + b_1 -> (x + b_1) @ W_1
or
- units @ W_2 + b_2 -> (units + b_2) @ W_2
or
- x @ W_1 + b_1 -> (x + b_1) @ W_1
- units @ W_2 + b_2 -> (units + b_2) @ W_2
You add a bias before its map, and not behind it.

That fails, unless the part is as wide inside as outside. A bias has a number
for each *output* of its map.

# weights_first
- x @ W_1 -> W_1 @ x
- units @ W_2 -> W_2 @ units
or
- x @ W_1 -> W_1.T @ x
- units @ W_2 -> W_2.T @ units
You multiply with the matrix on the left.

On paper a column is multiplied so. Here a word is a *row* of x, and its
numbers stand on the last axis: x comes first.

# never_narrowed
- @ W_2 + b_2 ->
You return the units: the second map is missing.

The part gives as many numbers for each word as it was given.

# words_added_together (#the-same-at-every-position)
- units @ W_2 + b_2
+ (units @ W_2 + b_2).mean(dim=1, keepdim=True).expand_as(x)
or
- x @ W_1 -> x.softmax(dim=1) @ W_1
or
- clamp(min=0) -> softmax(dim=1)
Your words have to do with each other: you take a mean or a softmax over them.

The part reads one word at a time and sees none of the others.

# normed_inside
- clamp(min=0) -> clamp(min=0) / W_1.size(1) ** 0.5
or
- sums.clamp(min=0) -> F.layer_norm(sums.clamp(min=0), sums.shape[-1:])
or
- sums.clamp(min=0) -> F.layer_norm(sums, sums.shape[-1:]).clamp(min=0)
You scale or normalise the units.

Attention divides its scores by a root. The feed-forward part has nothing
between its maps but the kink.
"""

EXERCISE = exercise_of(
    feed_forward,
    place=1,
    section="09_feed_forward#the-formula",
    points=1,
    hints=(
        "The formula has three steps: widen, cut, narrow. What happens to a "
        "unit that is below zero? Do you need a loop over the words, or does "
        "a matrix product leave the other axes alone?",
        "`@` works on the last axis of x, for all words of all sentences at "
        "once, and a bias is added to each of them by broadcasting. What is "
        "cut at zero is the result of the first map, bias included.",
    ),
    cases=[
        case(*ONE_WORD),
        case(
            "a negative word, and a negative answer",
            torch.tensor([[[-1.0]]]),
            torch.tensor([[2.0, -3.0]]),
            torch.tensor([0.5, 1.0]),
            torch.tensor([[10.0], [-100.0]]),
            torch.tensor([-1.0]),
        ),
        case(
            "subject and verb disagree",
            torch.tensor([[[0.5, 0.5], [0.5, 0.0]]]),
            torch.tensor([[2.0, -2.0], [-2.0, 2.0]]),
            torch.tensor([-0.5, -0.5]),
            torch.tensor([[1.0, 0.0], [1.0, 0.0]]),
            torch.zeros(2),
        ),
        case("as wide inside as outside", *draw_part(Draw(1), 1, 1, 2, 2)),
        case("as many words as numbers", *draw_part(Draw(2), 1, 3, 3, 4)),
        case("two sentences", *draw_part(Draw(3), 2, 3, 2, 8)),
        case("float64", *(t.double() for t in draw_part(Draw(4), 1, 2, 3, 5))),
    ],
    draw=lambda draw: case("random numbers", *random_part(draw)),
    edits=EDITS,
)
