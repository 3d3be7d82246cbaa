"""Layer normalisation."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


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
# norm_unbiased (#two-details-of-layer-norm)
- torch.mean((x - mean).square( -> torch.var((x
Your variance divides by d - 1.

`x.var` and `x.std` do so by default. The formula divides by d, so with few
components the right result is larger than yours.

# norm_epsilon_outside (#two-details-of-layer-norm)
- (variance + epsilon).sqrt() -> (variance.sqrt() + epsilon)
Your epsilon stands outside the root.

You add it to the deviation, and not to the variance. Where a word varies
little, that gives another number; where it does not vary at all, the slope of
the root is infinite, and the gradient may become NaN.

# norm_annotated (#two-details-of-layer-norm)
- torch.mean((x - mean).square( -> torch.var((x
- (variance + epsilon).sqrt() -> (variance.sqrt() + epsilon)
Your deviation divides by d - 1, and your epsilon is outside the root.

A much copied teaching version does the same. Weights that were trained with it
do not fit other programs.

# norm_without_root
- .sqrt() ->
You divide by the variance, and not by its root.

Then a vector ten times as long comes out a tenth as long.

# norm_without_epsilon (#two-details-of-layer-norm)
- (variance + epsilon) -> variance
You leave epsilon out.

A word whose numbers are all the same has no variance, and you divide 0 by 0.

# norm_of_fixed_epsilon
- epsilon -> 1e-5
Your epsilon is always 1e-5, whatever `epsilon` says.

Models differ in it: with another epsilon, trained weights give other results.

# norm_over_all (#why-not-batch-norm)
- (x, dim=-1 -> (x, dim=(0, 1, 2)
- ), dim=-1 -> ), dim=(0, 1, 2)
You take one mean and one variance of the whole batch.

Then a word's result depends on all other words, on the padding and on what
comes later. Each word has a mean and a variance of its own.

# norm_over_sentence (#why-not-batch-norm)
- (x, dim=-1 -> (x, dim=(1, 2)
- ), dim=-1 -> ), dim=(1, 2)
You take one mean and one variance of each sentence.

Then a word's result depends on later words, and no mask prevents that. Take
both over a word's own numbers: the last axis alone.

# norm_over_words (#why-not-batch-norm)
- (x, dim=-1 -> (x, dim=1
- ), dim=-1 -> ), dim=1
You normalise each component over the words of its sentence.

A word's vector has to get mean 0 and variance 1 over its *own* numbers,
whatever stands beside it.

# norm_over_neighbours (#why-not-batch-norm)
- (x, dim=-1 -> (x, dim=0
- ), dim=-1 -> ), dim=0
You normalise over the first axis, that of the sentences.

The result for a word then depends on the words at the same position in other
sentences, and a batch of one becomes zeros.

# norm_over_batch (#why-not-batch-norm)
- (x, dim=-1 -> (x, dim=(0, 1)
- ), dim=-1 -> ), dim=(0, 1)
You normalise each component over all words of all sentences.

That is batch norm. In a decoder it looks into the future, and it includes the
padding.

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

There is one number for each word, in the shape (batch, length). Broadcasting
aligns axes from the right: against (batch, length, d_model) it takes words for
components. Mostly that is an error; with as many words as components the
result is wrong.

# norm_to_length_one
- torch.mean((x -> torch.sum((x
You divide by the root of the *sum* of squares.

So every vector gets length 1, and its numbers get smaller the more of them
there are. Divide by the root of the *mean* of squares: then their size does
not depend on the width.

# norm_mean_kept (#rmsnorm)
- (x - mean).square -> x.square
- (x - mean) / -> x /
You divide by the root of the mean square, and never subtract the mean.

That is RMSNorm, used in later models; it does not subtract the mean. Layer
norm does so first, before anything is squared or divided.

# norm_mean_not_subtracted
- (x - mean) / -> x /
You divide the numbers themselves, and not their distances from the mean.

Then the mean is not 0: subtract it before you divide.

# norm_variance_about_zero
- (x - mean).square -> x.square
Your variance is the mean of the squares of the numbers themselves.

A variance is the mean of the squared distances from the mean.

# norm_centred_only
- / (variance + epsilon).sqrt() ->
You do not divide by the deviation.

So a vector ten times as long stays ten times as long. The variance has to
become 1.

# norm_without_gain
- gain * ->
You never multiply by the gain.

The model learns how far each component spreads: that is what the gain is for.

# norm_without_bias
- + bias ->
You never add the bias.

The model learns around which value each component lies: that is what the bias
is for.

# norm_only
- gain * ->
- + bias ->
You use neither the gain nor the bias.

With these two the model learns how far each component spreads, and around
which value.

# norm_bias_first
- gain * normed + bias -> gain * (normed + bias)
You add the bias before you multiply by the gain.

Then the gain scales the bias too. Multiply first, and add the bias last.

# norm_gain_first
- mean = torch.mean -> x = gain * x; mean = torch.mean
- gain * normed -> normed
You multiply by the gain *before* you normalise.

The norm then undoes a part of it. Multiply by the gain what has been
normalised.

# norm_gain_plus_one
- gain * normed -> (1 + gain) * normed
You multiply by 1 + gain.

Some models keep a gain that begins at 0, and add 1 to it. Here the gain begins
at 1, and is used as it is.

# norm_brackets_forgotten
- (x - mean) / -> x - mean /
or
- (x - mean) / (variance + epsilon).sqrt()
+ gain * mean / (variance + epsilon).sqrt()
- gain * normed + bias -> x - normed + bias
You divide the mean alone, and then subtract it.

Without brackets, Python divides before it subtracts. Divide the distance from
the mean.

# norm_by_absolute_distance
- torch.mean((x - mean).square() -> torch.mean((x - mean).abs()
- (variance + epsilon).sqrt() -> (variance + epsilon)
You divide by the mean *absolute* distance from the mean.

The standard deviation is another number, the root of the mean *squared*
distance: large distances count for more in it.

# norm_epsilon_as_floor (#two-details-of-layer-norm)
- (variance + epsilon) -> variance.clamp(min=epsilon)
You use epsilon only where the variance is smaller.

That avoids a division by 0 as well. But the formula always adds epsilon to the
variance, and where that is small the result differs.

# norm_by_range
- (x - mean) / (variance + epsilon).sqrt()
+ (x - x.amin(-1, True)) / (x.amax(-1, True) - x.amin(-1, True) + epsilon)
You bring each word's numbers to a fixed range, by its smallest and its largest
one.

That is also called normalising. A layer norm makes the mean 0 and the variance
1.

# norm_gain_and_bias_swapped
- gain * normed + bias -> bias * normed + gain
You multiply by the bias, and add the gain.

It has to be the other way round.

# norm_epsilon_added_last (#two-details-of-layer-norm)
- (variance + epsilon).sqrt() -> variance.sqrt() + epsilon
You add epsilon to the quotient, and not to the variance.

That shifts all numbers by a little, and 0 is still divided by 0.

# norm_statistics_detached
- normed =
+ mean, variance = mean.detach(), variance.detach()
+ normed =
or
- normed =
+ variance = variance.detach()
+ normed =
or
- normed =
+ mean = mean.detach()
+ normed =
No gradient goes through your mean, or your variance.

Both depend on the word, and the gradient has to know it. Is there a `detach`,
a `.data` or a `no_grad`?
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
)
