"""Position-wise feed-forward network."""

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
from course_exercises.engine.exercise import case, exercise_of, other


def feed_forward(
    x: Float[Tensor, "batch length d_model"],
    W_1: Float[Tensor, "d_model d_ff"],
    b_1: Float[Tensor, " d_ff"],
    W_2: Float[Tensor, "d_ff d_model"],
    b_2: Float[Tensor, " d_model"],
) -> Float[Tensor, "batch length d_model"]:
    """Send each word through two linear maps with a ReLU between.

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
There is no ReLU between your two maps.

Two linear maps, one after the other, are one linear map: the width between
them is then useless.

# kink_at_the_end
- .clamp(min=0) ->
- units @ W_2 + b_2 -> (units @ W_2 + b_2).clamp(min=0)
Your ReLU comes after the second map, and there is none between the two.

Without it the two maps are one linear map. And the answer can never be
negative: it could add to the stream, but take nothing away.

# kink_twice
- units @ W_2 + b_2 -> (units @ W_2 + b_2).clamp(min=0)
You apply an activation after each of the two maps.

The second one is too many: with it the answer can never be negative. It could
add to the stream, but take nothing away.

# kink_before
- x @ -> x.clamp(min=0) @
- .clamp(min=0) ->
Your ReLU comes before the first map: it cuts off the stream's numbers.

All negative numbers of a word are lost before the first map sees them. It is
the hidden units that are cut off at 0.

# kink_upside_down (#relu-and-gelu)
- min=0 -> max=0
You keep what is *below* zero, and cut off what is above.

max(0, z) is never negative. `clamp(max=0)` does the opposite: it makes 0 the
largest number allowed.

# maximum_of_python
- sums.clamp(min=0) -> max(0, sums)
You call Python's `max` with 0 and a tensor.

It asks once which of the two is larger. But each number of the tensor has to
be compared with 0: use a function of torch.

# gelu_for_relu (#relu-and-gelu)
- sums.clamp(min=0) -> F.gelu(sums)
or
- sums.clamp(min=0) -> F.gelu(sums, approximate="tanh")
Your activation is a GELU, as in BERT.

Many models use it, and it works as well. But the exercise asks for the paper's
ReLU: weights that were trained with one do not fit the other.

# sigmoid_for_relu (#relu-and-gelu)
- clamp(min=0) -> sigmoid()
Your activation is a sigmoid: all your units lie between 0 and 1.

The exercise asks for the paper's ReLU, max(0, z), which has no upper limit.

# tanh_for_relu (#relu-and-gelu)
- clamp(min=0) -> tanh()
Your activation is a tanh: all your units lie between -1 and 1.

The exercise asks for the paper's ReLU, max(0, z), which is never negative and
has no upper limit.

# silu_for_relu (#relu-and-gelu)
- sums.clamp(min=0) -> F.silu(sums)
Your activation is a SiLU, or Swish: z times its sigmoid.

Newer models use it. But the exercise asks for the paper's ReLU: weights that
were trained with one do not fit the other.

# softmax_for_relu
- clamp(min=0) -> softmax(dim=-1)
You take a softmax over the units, so they compete and sum to 1.

That belongs to attention. Here each unit fires, or does not fire, whatever the
others do: max(0, z).

# leaky_relu (#relu-and-gelu)
- sums.clamp(min=0) -> F.leaky_relu(sums)
or
- sums.clamp(min=0) -> F.leaky_relu(sums, 0.1)
or
- sums.clamp(min=0) -> F.leaky_relu(sums, 0.2)
Your activation is a leaky ReLU: below zero it lets a part of z through.

The exercise asks for the paper's ReLU, max(0, z), which is exactly 0 there.

# unit_fires_or_not
- sums.clamp(min=0) -> (sums > 0).to(x.dtype)
Your units are 1 or 0: they say that they fire, but not how strongly.

max(0, z) keeps z where z is above zero. And a step has no slope, so the first
map would learn nothing.

# absolute_for_relu
- clamp(min=0) -> abs()
You take absolute values: negative sums become positive.

A unit then also fires for the opposite of what it looks for. max(0, z) is 0
there.

# first_bias_forgotten
- + b_1 ->
You never add `b_1`, the bias of the first map.

It lets each unit have a threshold of its own. Without it all of them begin to
fire at zero.

# second_bias_forgotten
- + b_2 ->
You never add `b_2`, the bias of the second map.

Each of the two maps has a bias. `b_2` is added to every word's answer.

# both_biases_forgotten
- + b_1 ->
- + b_2 ->
You use neither `b_1` nor `b_2`.

Attention has no biases in the paper; the feed-forward part has two.

# first_bias_too_late
- + b_1 ->
- clamp(min=0) -> clamp(min=0) + b_1
You add `b_1` after the activation.

It should move the point at which a unit begins to fire. After the activation
it only adds the same to every word.

# stream_added (08_add_and_norm#post-norm-and-pre-norm)
- return -> return x +
You add the stream to your answer.

That has to be done, but by the layer around this part. Done twice, it would
add every word twice.

# weights_transposed
- W_1 -> W_1.T
- W_2 -> W_2.T
or
- W_1 -> W_1.T
or
- W_2 -> W_2.T
You multiply by a transposed matrix.

That fails, unless the part is as wide inside as outside. `nn.Linear` keeps a
row for each *output*. The matrices here follow the formula: x stands on the
left, and each output has a column.

# words_summed_up (#the-same-at-every-position)
- x @ -> x.mean(dim=1, keepdim=True).expand_as(x) @
You give all words of a sentence the same answer: that of their mean.

The part reads one word at a time and sees none of the others.

# stream_normed (08_add_and_norm#post-norm-and-pre-norm)
- x @ -> F.layer_norm(x, x.shape[-1:]) @
or
- return units @ W_2 + b_2
+ answer = x + units @ W_2 + b_2
+ return F.layer_norm(answer, x.shape[-1:])
or
- return units @ W_2 + b_2
+ return F.layer_norm(units @ W_2 + b_2, x.shape[-1:])
You also normalise: what the part reads, or what comes out.

The norm is the task of the layer around this part. It has a gain and a bias
of its own.

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
Your activation is not the paper's ReLU.

The exercise asks for max(0, z): 0 below zero, and z itself above, without an
upper limit.

# bias_subtracted
- + b_1 -> - b_1
or
- + b_2 -> - b_2
or
- + b_1 -> - b_1
- + b_2 -> - b_2
You subtract a bias.

A threshold would have to be subtracted. A bias is added: it can be negative
itself.

# biases_swapped
- + b_1 -> + b_2
- + b_2 -> + b_1
You swap the two biases.

That fails, unless the part is as wide inside as outside. A bias has a number
for each *output* of its map: `b_1` has one for each unit.

# bias_before_the_map
- x @ W_1 + b_1 -> (x + b_1) @ W_1
or
- units @ W_2 + b_2 -> (units + b_2) @ W_2
or
- x @ W_1 + b_1 -> (x + b_1) @ W_1
- units @ W_2 + b_2 -> (units + b_2) @ W_2
You add a bias before its map, not after it.

That fails, unless the part is as wide inside as outside. A bias has a number
for each *output* of its map.

# weights_first
- x @ W_1 -> W_1 @ x
- units @ W_2 -> W_2 @ units
or
- x @ W_1 -> W_1.T @ x
- units @ W_2 -> W_2.T @ units
You multiply with the matrix on the left.

On paper that is how a column is multiplied. Here a word is a *row* of x, with
its numbers on the last axis: x comes first.

# never_narrowed
- @ W_2 + b_2 ->
You return the units: the second map is missing.

The part returns as many numbers for each word as it was given.

# words_added_together (#the-same-at-every-position)
- units @ W_2 + b_2
+ (units @ W_2 + b_2).mean(dim=1, keepdim=True).expand_as(x)
or
- x @ W_1 -> x.softmax(dim=1) @ W_1
or
- clamp(min=0) -> softmax(dim=1)
Your words influence each other: you take a mean or a softmax over them.

The part reads one word at a time and sees none of the others.

# normed_inside
- clamp(min=0) -> clamp(min=0) / W_1.size(1) ** 0.5
or
- sums.clamp(min=0) -> F.layer_norm(sums.clamp(min=0), sums.shape[-1:])
or
- sums.clamp(min=0) -> F.layer_norm(sums, sums.shape[-1:]).clamp(min=0)
You scale or normalise the units.

Attention divides its scores by a root. The feed-forward part has only a ReLU
between its maps.
"""

EXERCISE = exercise_of(
    feed_forward,
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
)
