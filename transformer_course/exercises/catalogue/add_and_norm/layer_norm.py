"""Mean 0 and variance 1 for each word."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    other,
)


def layer_norm(
    x: Float[Tensor, "batch length d_model"],
    gain: Float[Tensor, " d_model"],
    bias: Float[Tensor, " d_model"],
    epsilon: float = 1e-5,
) -> Float[Tensor, "batch length d_model"]:
    """Bring each word's vector to mean 0 and variance 1, then scale it.

    The variance divides by ``d_model``, as in the formula; ``epsilon`` is
    added to it under the root. Write it from means and roots, without a
    ready-made norm.

    Args:
        x: a batch of sentences: a vector for each word.
        gain: what each component is multiplied by in the end.
        bias: what is then added to it.
        epsilon: keeps a word without variance from being divided by 0.
    """
    ### BEGIN SOLUTION
    mean = torch.mean(x, dim=-1, keepdim=True)
    variance = torch.mean((x - mean).square(), dim=-1, keepdim=True)
    normed = (x - mean) / (variance + epsilon).sqrt()
    return gain * normed + bias
    ### END SOLUTION


@other
def norm_by_torch(x, gain, bias, epsilon=1e-5):
    return F.layer_norm(x, gain.shape, gain, bias, epsilon)


@other
def norm_by_var_mean(x, gain, bias, epsilon=1e-5):
    variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + epsilon) * gain + bias


@other
def norm_word_by_word(x, gain, bias, epsilon=1e-5):
    words = []
    for word in x.reshape(-1, x.size(-1)).unbind():
        mean = word.sum() / len(word)
        variance = ((word - mean) ** 2).sum() / len(word)
        words.append((word - mean) / (variance + epsilon) ** 0.5)
    return torch.stack(words).view(x.shape) * gain + bias


EDITS = """
# norm_unbiased (#two-details)
- torch.mean((x - mean).square( -> torch.var((x
Your variance divides by d - 1.

So do `x.var` and `x.std`, unless they are told otherwise. The formula divides
by d, so that a word of few numbers comes out larger than yours.

# norm_epsilon_outside (#two-details)
- (variance + epsilon).sqrt() -> (variance.sqrt() + epsilon)
Your epsilon stands outside the root.

You add it to the deviation, and not to the variance. Where words vary little,
that is another number; where they do not vary at all, the root's slope at 0
is infinite, and a gradient may become NaN.

# norm_annotated (#two-details)
- torch.mean((x - mean).square( -> torch.var((x
- (variance + epsilon).sqrt() -> (variance.sqrt() + epsilon)
Your deviation divides by d - 1, and your epsilon is outside the root.

A much copied teaching version has it like this. Weights that were trained
with it do not fit other programs.

# norm_without_root
- .sqrt() ->
You divide by the variance, and not by its root.

A vector ten times as long would come out ten times as *short*.

# norm_without_epsilon (#two-details)
- (variance + epsilon) -> variance
You leave epsilon out.

A word whose numbers are all the same has no variance, and you divide 0 by 0.

# norm_of_fixed_epsilon
- epsilon -> 1e-5
Your epsilon is always 1e-5, whatever the caller asks for.

# norm_over_all (#why-not-batch-norm)
- (x, dim=-1 -> (x, dim=(0, 1, 2)
- ), dim=-1 -> ), dim=(0, 1, 2)
You take one mean and one variance of the whole batch.

Then what becomes of a word depends on all others, on the padding and on what
stands after it. Each word's vector has a mean of its own.

# norm_over_sentence (#why-not-batch-norm)
- (x, dim=-1 -> (x, dim=(1, 2)
- ), dim=-1 -> ), dim=(1, 2)
You take one mean and one variance of each sentence.

A word's vector would depend on the later words, which no mask prevents. The
mean is over a word's own numbers, the last axis alone.

# norm_over_words (#why-not-batch-norm)
- (x, dim=-1 -> (x, dim=1
- ), dim=-1 -> ), dim=1
You normalise each component over the words of its sentence.

That is down the columns. A word's vector has to get mean 0 and variance 1
over its *own* numbers, whatever stands beside it.

# norm_over_neighbours (#why-not-batch-norm)
- (x, dim=-1 -> (x, dim=0
- ), dim=-1 -> ), dim=0
You normalise over the first axis, that of the sentences.

What becomes of a word then depends on what stands at the same place in other
sentences, and a batch of one becomes zeros.

# norm_over_batch (#why-not-batch-norm)
- (x, dim=-1 -> (x, dim=(0, 1)
- ), dim=-1 -> ), dim=(0, 1)
You normalise each component over all words of all sentences.

That is batch norm. In a decoder it looks into the future, and it counts the
padding as well.

# norm_axis_lost
- (x, dim=-1, keepdim=True) -> (x, dim=-1)
or
- ), dim=-1, keepdim=True -> ), dim=-1
or
- (x, dim=-1, keepdim=True) -> (x, dim=-1)
- ), dim=-1, keepdim=True -> ), dim=-1
or
- (x, dim=-1, keepdim=True) -> (x, dim=-1)
- torch.mean((x - mean).square(), dim=-1, keepdim=True)
+ torch.var(x, dim=-1, correction=0)
Your means have lost the axis that they were taken over.

There is one for each word, of shape (batch, length). Broadcasting lines axes
up from the right: against (batch, length, d_model) the words are taken for
components. Mostly that is an error; with as many words as components it is
none, and wrong.

# norm_to_length_one
- torch.mean((x -> torch.sum((x
You divide by the root of the *sum* of squares.

Every vector gets length 1, so that its numbers are the smaller, the more of
them there are. Divided by the root of their mean, they have the same size for
any width.

# norm_mean_kept (#rmsnorm)
- (x - mean).square -> x.square
- (x - mean) / -> x /
You divide by the root of the mean square, and never take the mean off.

That is RMSNorm, which later models have, and a vector keeps its mean. Layer
norm takes the mean off before it squares.

# norm_mean_not_subtracted
- (x - mean) / -> x /
You divide by the right deviation, but the mean is still there.

What comes out has variance 1 and not mean 0. What is to be divided is the
distance from the mean.

# norm_variance_about_zero
- (x - mean).square -> x.square
You take the mean off, but your variance is the mean of the squares *before*
that.

A variance is the mean square of the distances from the mean.

# norm_centred_only
- / (variance + epsilon).sqrt() ->
You take the mean off, and divide by nothing.

A vector ten times as long stays ten times as long.

# norm_without_gain
- gain * ->
You never multiply by the gain.

How far each component spreads is learned.

# norm_without_bias
- + bias ->
You never add the bias.

Around which value each component lies is learned.

# norm_only
- gain * ->
- + bias ->
You normalise, and use neither the gain nor the bias.

What is learned is how far each component spreads, and around which value.

# norm_bias_first
- gain * normed + bias -> gain * (normed + bias)
You add the bias before you multiply by the gain.

The gain then scales the bias too. It comes last.

# norm_brackets_forgotten
- (x - mean) / -> x - mean /
or
- (x - mean) / (variance + epsilon).sqrt()
+ gain * mean / (variance + epsilon).sqrt()
- gain * normed + bias -> x - normed + bias
You divide the mean alone, and then take it off.

A division comes before a difference, unless there are brackets. It is the
distance from the mean that is divided.

# norm_by_absolute_distance
- torch.mean((x - mean).square() -> torch.mean((x - mean).abs()
- (variance + epsilon).sqrt() -> (variance + epsilon)
You divide by the mean *absolute* distance from the mean.

It is near the standard deviation, but another number: that is the root of the
mean square, and large distances count for more.

# norm_epsilon_as_floor (#two-details)
- (variance + epsilon) -> variance.clamp(min=epsilon)
You use epsilon only where the variance is smaller.

That keeps 0 from being divided by too. But asked for is the sum of both,
always: where the variance is small, it gives something else.

# norm_by_range
- (x - mean) / (variance + epsilon).sqrt()
+ (x - x.amin(-1, True)) / (x.amax(-1, True) - x.amin(-1, True) + epsilon)
You stretch each word's numbers to the range from 0 to 1.

That is called normalising too. Here it means mean 0 and variance 1.

# norm_gain_and_bias_swapped
- gain * normed + bias -> bias * normed + gain
You multiply by the bias, and add the gain. It is the other way about.

# norm_epsilon_added_last (#two-details)
- (variance + epsilon).sqrt() -> variance.sqrt() + epsilon
You add epsilon to the quotient, and not to the variance.

It shifts all numbers by a little, and 0 is still divided by 0.
"""


def draw_words(draw: Draw) -> Case:
    width = draw.size(2, 6)
    x = draw.normal(draw.size(2, 3), draw.size(2, 4), width) + draw.normal(1)
    gain, bias = draw.normal(width), draw.normal(width)
    return case("random words", x, gain, bias, draw.choice([1e-5, 0.1]))


def plain(width: int) -> tuple[Tensor, Tensor]:
    """The gain and the bias before training."""
    return torch.ones(width), torch.zeros(width)


EXERCISE = exercise_of(
    layer_norm,
    place=1,
    section="08_add_and_norm#layer-norm-by-hand",
    points=2,
    hints=(
        "Three lines: take the mean off, find the variance, divide. Over "
        "which axis is the mean of *one word's* numbers? And what must a "
        "mean's shape be, so that it can be taken off each number?",
        "Use `mean` with `keepdim=True` over the last axis, twice: once for "
        "the numbers, once for the squares of what is left. That second mean "
        "is the variance that is wanted. Epsilon joins it before the root is "
        "taken.",
    ),
    cases=[
        case(
            "one word: cats", torch.tensor([[[1.0, 1.0, 5.0, 5.0]]]), *plain(4)
        ),
        case(
            "a gain and a bias",
            torch.tensor([[[2.0, 4.0]]]),
            torch.tensor([10.0, 20.0]),
            torch.tensor([1.0, 2.0]),
        ),
        case("a word without variance", torch.full((1, 1, 3), 7.0), *plain(3)),
        case("hardly any variance", torch.tensor([[[0.01, 0.03]]]), *plain(2)),
        case("another epsilon", torch.tensor([[[1.0, 3.0]]]), *plain(2), 3.0),
        case(
            "two words, one ten times the other",
            torch.tensor([[[0.0, 1.0, 5.0], [0.0, 10.0, 50.0]]]),
            *plain(3),
        ),
        case(
            "as many words as components",
            torch.tensor([[[1.0, 3.0], [2.0, 8.0]]]),
            *plain(2),
        ),
        case("a batch of one", Draw(1).normal(1, 3, 4) + 1, *plain(4)),
        case("two sentences", Draw(2).normal(2, 2, 3) * 2, *plain(3)),
        case(
            "float64",
            Draw(3).normal(1, 2, 4).double(),
            Draw(4).normal(4).double(),
            Draw(5).normal(4).double(),
        ),
    ],
    draw=draw_words,
    edits=EDITS,
)
