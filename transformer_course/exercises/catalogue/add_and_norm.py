"""Exercises of chapter 08: add and norm."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    Exercise,
    case,
    see,
)

BY_HAND = "08_add_and_norm#layer-norm-by-hand"
DETAILS = "08_add_and_norm#two-details"
BATCH_NORM = "08_add_and_norm#why-not-batch-norm"
PLACES = "08_add_and_norm#two-places-for-the-norm"
WORD = "08_add_and_norm#the-word-itself"
LAST = "08_add_and_norm#one-more-norm-at-the-end"
RMS = "08_add_and_norm#rmsnorm"

Stream = Float[Tensor, "*batch d_model"]

# --- layer_norm --------------------------------------------------------------


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
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return gain * centred / (variance + epsilon).sqrt() + bias
    ### END SOLUTION


def norm_by_torch(x, gain, bias, epsilon=1e-5):
    return F.layer_norm(x, gain.shape, gain, bias, epsilon)


def norm_by_var_mean(x, gain, bias, epsilon=1e-5):
    variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + epsilon) * gain + bias


def norm_word_by_word(x, gain, bias, epsilon=1e-5):
    words = []
    for word in x.reshape(-1, x.size(-1)).unbind():
        mean = word.sum() / len(word)
        variance = ((word - mean) ** 2).sum() / len(word)
        words.append((word - mean) / (variance + epsilon) ** 0.5)
    return torch.stack(words).view(x.shape) * gain + bias


@see(DETAILS)
def norm_unbiased(x, gain, bias, epsilon=1e-5):
    """Your variance divides by d - 1.

    So do `x.var` and `x.std`, unless they are told otherwise. The formula
    divides by d, so that a word of few numbers comes out larger than yours.
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True)
    return gain * centred / (variance + epsilon).sqrt() + bias


@see(DETAILS)
def norm_epsilon_outside(x, gain, bias, epsilon=1e-5):
    """Your epsilon stands outside the root.

    You add it to the deviation, and not to the variance. Where words vary
    little, that is another number; where they do not vary at all, the root's
    slope at 0 is infinite, and a gradient may become NaN.
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    deviation = x.var(dim=-1, keepdim=True, correction=0).sqrt()
    return gain * centred / (deviation + epsilon) + bias


@see(DETAILS)
def norm_annotated(x, gain, bias, epsilon=1e-5):
    """Your deviation divides by d - 1, and your epsilon is outside the root.

    A much copied teaching version has it like this. Weights that were
    trained with it do not fit other programs.
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    return gain * centred / (x.std(-1, keepdim=True) + epsilon) + bias


def norm_without_root(x, gain, bias, epsilon=1e-5):
    """You divide by the variance, and not by its root.

    A vector ten times as long would come out ten times as *short*.
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return gain * centred / (variance + epsilon) + bias


@see(DETAILS)
def norm_without_epsilon(x, gain, bias, epsilon=1e-5):
    """You leave epsilon out.

    A word whose numbers are all the same has no variance, and you divide 0
    by 0.
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return gain * centred / variance.sqrt() + bias


def norm_of_fixed_epsilon(x, gain, bias, epsilon=1e-5):
    """Your epsilon is always 1e-5, whatever the caller asks for."""
    return layer_norm(x, gain, bias)


@see(BATCH_NORM)
def norm_over_all(x, gain, bias, epsilon=1e-5):
    """You take one mean and one variance of the whole batch.

    Then what becomes of a word depends on all others, on the padding and on
    what stands after it. Each word's vector has a mean of its own.
    """
    centred = x - x.mean()
    return gain * centred / (centred.square().mean() + epsilon).sqrt() + bias


def normed_over(axes, x, gain, bias, epsilon):
    centred = x - x.mean(axes, keepdim=True)
    variance = centred.square().mean(axes, keepdim=True)
    return gain * centred / (variance + epsilon).sqrt() + bias


@see(BATCH_NORM)
def norm_over_sentence(x, gain, bias, epsilon=1e-5):
    """You take one mean and one variance of each sentence.

    A word's vector would depend on the later words, which no mask prevents.
    The mean is over a word's own numbers, the last axis alone.
    """
    return normed_over((1, 2), x, gain, bias, epsilon)


@see(BATCH_NORM)
def norm_over_words(x, gain, bias, epsilon=1e-5):
    """You normalise each component over the words of its sentence.

    That is down the columns. A word's vector has to get mean 0 and variance
    1 over its *own* numbers, whatever stands beside it.
    """
    return normed_over(1, x, gain, bias, epsilon)


@see(BATCH_NORM)
def norm_over_neighbours(x, gain, bias, epsilon=1e-5):
    """You normalise over the first axis, that of the sentences.

    What becomes of a word then depends on what stands at the same place in
    other sentences, and a batch of one becomes zeros.
    """
    return normed_over(0, x, gain, bias, epsilon)


@see(BATCH_NORM)
def norm_over_batch(x, gain, bias, epsilon=1e-5):
    """You normalise each component over all words of all sentences.

    That is batch norm. In a decoder it looks into the future, and it counts
    the padding as well.
    """
    return normed_over((0, 1), x, gain, bias, epsilon)


def norm_axis_lost(x, gain, bias, epsilon=1e-5):
    """Your means have lost the axis that they were taken over.

    There is one for each word, of shape (batch, length). Broadcasting lines
    axes up from the right: against (batch, length, d_model) the words are
    taken for components. Mostly that is an error; with as many words as
    components it is none, and wrong.
    """
    mean = x.mean(dim=-1)
    variance = x.var(dim=-1, correction=0)
    return gain * (x - mean) / (variance + epsilon).sqrt() + bias


def norm_to_length_one(x, gain, bias, epsilon=1e-5):
    """You divide by the root of the *sum* of squares.

    Every vector gets length 1, so that its numbers are the smaller, the more
    of them there are. Divided by the root of their mean, they have the same
    size for any width.
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    total = centred.square().sum(dim=-1, keepdim=True)
    return gain * centred / (total + epsilon).sqrt() + bias


@see(RMS)
def norm_mean_kept(x, gain, bias, epsilon=1e-5):
    """You divide by the root of the mean square, and never take the mean off.

    That is RMSNorm, which later models have, and a vector keeps its mean.
    Layer norm takes the mean off before it squares.
    """
    size = (x.square().mean(dim=-1, keepdim=True) + epsilon).sqrt()
    return gain * x / size + bias


def norm_mean_not_subtracted(x, gain, bias, epsilon=1e-5):
    """You divide by the right deviation, but the mean is still there.

    What comes out has variance 1 and not mean 0. What is to be divided is
    the distance from the mean.
    """
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return gain * x / (variance + epsilon).sqrt() + bias


def norm_variance_about_zero(x, gain, bias, epsilon=1e-5):
    """You take the mean off, but your variance is the mean of the squares
    *before* that.

    A variance is the mean square of the distances from the mean.
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    squares = x.square().mean(dim=-1, keepdim=True)
    return gain * centred / (squares + epsilon).sqrt() + bias


def norm_centred_only(x, gain, bias, epsilon=1e-5):
    """You take the mean off, and divide by nothing.

    A vector ten times as long stays ten times as long.
    """
    return gain * (x - x.mean(dim=-1, keepdim=True)) + bias


def norm_without_gain(x, gain, bias, epsilon=1e-5):
    """You never multiply by the gain.

    How far each component spreads is learned.
    """
    return layer_norm(x, torch.ones_like(gain), bias, epsilon)


def norm_without_bias(x, gain, bias, epsilon=1e-5):
    """You never add the bias.

    Around which value each component lies is learned.
    """
    return layer_norm(x, gain, torch.zeros_like(bias), epsilon)


def norm_only(x, gain, bias, epsilon=1e-5):
    """You normalise, and use neither the gain nor the bias.

    What is learned is how far each component spreads, and around which
    value.
    """
    return layer_norm(
        x, torch.ones_like(gain), torch.zeros_like(bias), epsilon
    )


def norm_bias_first(x, gain, bias, epsilon=1e-5):
    """You add the bias before you multiply by the gain.

    The gain then scales the bias too. It comes last.
    """
    ones = torch.ones_like(gain)
    return gain * layer_norm(x, ones, bias, epsilon)


def draw_words(draw: Draw) -> Case:
    width = draw.size(2, 6)
    x = draw.normal(draw.size(2, 3), draw.size(2, 4), width)
    return case(
        "random words",
        x + draw.normal(1),
        draw.normal(width),
        draw.normal(width),
        draw.choice([1e-5, 0.1]),
    )


def plain(width: int) -> tuple[Tensor, Tensor]:
    """The gain and the bias before training."""
    return torch.ones(width), torch.zeros(width)


LAYER_NORM = Exercise(
    solution=layer_norm,
    section=BY_HAND,
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
    others=[norm_by_torch, norm_by_var_mean, norm_word_by_word],
    mistakes=[
        norm_unbiased,
        norm_epsilon_outside,
        norm_annotated,
        norm_without_root,
        norm_without_epsilon,
        norm_of_fixed_epsilon,
        norm_over_all,
        norm_over_sentence,
        norm_over_words,
        norm_over_neighbours,
        norm_over_batch,
        norm_axis_lost,
        norm_to_length_one,
        norm_mean_kept,
        norm_mean_not_subtracted,
        norm_variance_about_zero,
        norm_centred_only,
        norm_without_gain,
        norm_without_bias,
        norm_only,
        norm_bias_first,
    ],
)

# --- what stands in for norms and sub-layers ---------------------------------


def layer_normed(x: Stream) -> Stream:
    """Layer norm, without weights."""
    return F.layer_norm(x, x.shape[-1:])


def halved(x: Stream) -> Stream:
    """No norm at all, but easy to follow."""
    return x / 2


def plus_one(x: Stream) -> Stream:
    """Not a norm either; it shows how often it is called."""
    return x + 1


def times_ten(x: Stream) -> Stream:
    """A sub-layer that reads no other word."""
    return 10 * x


def rolled(x: Stream) -> Stream:
    """A sub-layer that gives each number the one before it."""
    return x.roll(1, -1)


def squared(x: Stream) -> Stream:
    """A sub-layer that is not linear."""
    return x.square()


# --- add_and_norm ------------------------------------------------------------


def add_and_norm(
    x: Float[Tensor, "*batch d_model"],
    sublayer: Callable[[Tensor], Tensor],
    norm: Callable[[Tensor], Tensor],
    norm_first: bool,
) -> Float[Tensor, "*batch d_model"]:
    """Put a sum and a norm around a sub-layer, in one of the two ways.

    There is nothing else, no dropout either.

    Args:
        x: the stream, with any axes ahead of its width.
        sublayer: attention, say, or a feed-forward part; call it with a
            tensor, and it gives one of the same shape.
        norm: a layer norm, called likewise.
        norm_first: pre-norm if True, post-norm if False.

    Returns:
        The stream as it goes on, of the shape of ``x``.
    """
    ### BEGIN SOLUTION
    if norm_first:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))
    ### END SOLUTION


def added_by_steps(x, sublayer, norm, norm_first):
    read = norm(x) if norm_first else x
    out = torch.stack([x, sublayer(read)]).sum(dim=0)
    return out if norm_first else norm(out)


def added_by_composing(x, sublayer, norm, norm_first):
    def same(y):
        return y

    before, after = (norm, same) if norm_first else (same, norm)
    return after(torch.add(sublayer(before(x)), x))


@see(PLACES)
def always_post_norm(x, sublayer, norm, norm_first):
    """Your norm is behind the sum, always: post-norm.

    That is the paper's way, and right when `norm_first` is False. When it is
    True, only what the sub-layer *reads* is to be normalised.
    """
    return norm(x + sublayer(x))


@see(PLACES)
def always_pre_norm(x, sublayer, norm, norm_first):
    """Your norm is before the sub-layer, always: pre-norm.

    That is right when `norm_first` is True. It is often printed with the
    words "as in the paper", but the paper normalises the *sum*.
    """
    return x + sublayer(norm(x))


@see(PLACES)
def places_swapped(x, sublayer, norm, norm_first):
    """You have pre-norm and post-norm the wrong way round.

    Both formulas are there. The name says where the norm stands, seen from
    the sub-layer: *pre* is before it.
    """
    return add_and_norm(x, sublayer, norm, not norm_first)


@see(PLACES)
def normed_word_kept(x, sublayer, norm, norm_first):
    """In pre-norm you add the sub-layer's answer to the *normalised* word.

    Then nothing passes by the norm any more. Pre-norm leaves the stream as
    it is; only what the sub-layer reads is normalised.
    """
    if norm_first:
        x = norm(x)
        return x + sublayer(x)
    return norm(x + sublayer(x))


@see(WORD)
def word_forgotten(x, sublayer, norm, norm_first):
    """You never add what was there before: there is no residual connection.

    What comes out is the sub-layer's answer alone, and the word itself is
    lost.
    """
    if norm_first:
        return sublayer(norm(x))
    return norm(sublayer(x))


@see(WORD)
def word_forgotten_in_pre_norm(x, sublayer, norm, norm_first):
    """In pre-norm you never add what was there before.

    What comes out is the sub-layer's answer alone. In post-norm the residual
    connection is there.
    """
    if norm_first:
        return sublayer(norm(x))
    return norm(x + sublayer(x))


@see(WORD)
def word_forgotten_in_post_norm(x, sublayer, norm, norm_first):
    """In post-norm you never add what was there before.

    What comes out is the sub-layer's answer alone, normalised. In pre-norm
    the residual connection is there.
    """
    if norm_first:
        return x + sublayer(norm(x))
    return norm(sublayer(x))


@see(PLACES)
def normed_twice(x, sublayer, norm, norm_first):
    """You normalise twice, before the sub-layer and behind the sum.

    Pre-norm has the one and post-norm the other.
    """
    return norm(x + sublayer(norm(x)))


@see(PLACES)
def pre_norm_and_once_more(x, sublayer, norm, norm_first):
    """In pre-norm you normalise the sum as well.

    That is one norm too many: the stream is to go straight on. The one more
    norm that pre-norm needs stands at the end of the whole stack.
    """
    return norm(x + sublayer(norm(x) if norm_first else x))


@see(PLACES)
def answer_normed(x, sublayer, norm, norm_first):
    """In post-norm you normalise the sub-layer's answer before it is added.

    The sum itself is then never normalised, and grows from layer to layer.
    Post-norm normalises the sum. (Pre-norm is right.)
    """
    if norm_first:
        return x + sublayer(norm(x))
    return x + norm(sublayer(x))


@see(PLACES)
def answer_normed_in_pre_norm(x, sublayer, norm, norm_first):
    """In pre-norm you normalise what the sub-layer *answers*.

    It is what it *reads* that is to be normalised.
    """
    if norm_first:
        return x + norm(sublayer(x))
    return norm(x + sublayer(x))


@see("08_add_and_norm#through-many-layers")
def norm_left_out(x, sublayer, norm, norm_first):
    """You only add: nothing is ever normalised.

    Through many layers the stream would grow without end.
    """
    return x + sublayer(x)


@see("08_add_and_norm#through-many-layers")
def norm_left_out_of_post_norm(x, sublayer, norm, norm_first):
    """In post-norm you only add: nothing is normalised.

    Pre-norm is right. Post-norm normalises the sum.
    """
    if norm_first:
        return x + sublayer(norm(x))
    return x + sublayer(x)


@see("08_add_and_norm#through-many-layers")
def norm_left_out_of_pre_norm(x, sublayer, norm, norm_first):
    """In pre-norm you only add: nothing is normalised.

    Post-norm is right. Pre-norm normalises what the sub-layer reads.
    """
    if norm_first:
        return x + sublayer(x)
    return norm(x + sublayer(x))


def draw_sublayer(draw: Draw) -> Case:
    x = draw.normal(draw.size(1, 3), draw.size(1, 4), draw.size(3, 6))
    sublayer = draw.choice([times_ten, rolled, squared])
    norm = draw.choice([layer_normed, halved, plus_one])
    first = draw.choice([True, False])
    return case("random numbers", x, sublayer, norm, first)


THREE = torch.tensor([3.0])
CATS = torch.tensor([1.0, 1.0, 5.0, 5.0])
ADD_AND_NORM = Exercise(
    solution=add_and_norm,
    section=PLACES,
    points=1,
    hints=(
        "Draw both: a line from x upwards, the sub-layer beside it, a plus "
        "where they meet. Where on this picture does the norm stand in each "
        "of the two ways?",
        "Both ways call each of the two functions once, and add once, and "
        "what is added is x as it came in. They differ in what the sub-layer "
        "is given, and in whether the sum is returned as it is.",
    ),
    cases=[
        case("post-norm", THREE, times_ten, halved, False),
        case("pre-norm", THREE, times_ten, halved, True),
        case("post-norm of a square", THREE, squared, plus_one, False),
        case("pre-norm of a square", THREE, squared, plus_one, True),
        case("cats in post-norm", CATS, rolled, layer_normed, False),
        case("cats in pre-norm", CATS, rolled, layer_normed, True),
        case(
            "a batch of one in post-norm",
            Draw(1).normal(1, 2, 4),
            squared,
            layer_normed,
            False,
        ),
        case(
            "two sentences in pre-norm, float64",
            Draw(2).normal(2, 3, 4).double(),
            squared,
            layer_normed,
            True,
        ),
    ],
    draw=draw_sublayer,
    others=[added_by_steps, added_by_composing],
    mistakes=[
        always_post_norm,
        always_pre_norm,
        places_swapped,
        normed_word_kept,
        word_forgotten,
        word_forgotten_in_pre_norm,
        word_forgotten_in_post_norm,
        normed_twice,
        pre_norm_and_once_more,
        answer_normed,
        answer_normed_in_pre_norm,
        norm_left_out,
        norm_left_out_of_post_norm,
        norm_left_out_of_pre_norm,
    ],
)

# --- pre_norm_stack ----------------------------------------------------------


def pre_norm_stack(
    x: Float[Tensor, "*batch d_model"],
    sublayers: Sequence[Callable[[Tensor], Tensor]],
    norms: Sequence[Callable[[Tensor], Tensor]],
    last_norm: Callable[[Tensor], Tensor],
) -> Float[Tensor, "*batch d_model"]:
    """Lead a stream through a whole pre-norm stack.

    Around each sub-layer there are a norm and a sum, as in ``add_and_norm``
    when ``norm_first`` is True.

    Args:
        x: the stream as it enters.
        sublayers: attention, feed-forward, attention and so on, from the
            bottom to the top.
        norms: one for each sub-layer, in the same order.
        last_norm: the one more norm that pre-norm needs, once in a stack.

    Returns:
        What leaves the stack.
    """
    ### BEGIN SOLUTION
    for sublayer, norm in zip(sublayers, norms, strict=True):
        x = x + sublayer(norm(x))
    return last_norm(x)
    ### END SOLUTION


def stack_by_index(x, sublayers, norms, last_norm):
    stream = x.clone()
    for i in range(len(sublayers)):
        read = norms[i](stream)
        stream = stream + sublayers[i](read)
    return last_norm(stream)


def stack_by_recursion(x, sublayers, norms, last_norm):
    if not sublayers:
        return last_norm(x)
    x = add_and_norm(x, sublayers[0], norms[0], norm_first=True)
    return stack_by_recursion(x, sublayers[1:], norms[1:], last_norm)


def stack_by_parts(x, sublayers, norms, last_norm):
    parts = [x]
    for sublayer, norm in zip(sublayers, norms, strict=True):
        parts.append(sublayer(norm(sum(parts[1:], start=parts[0]))))
    return last_norm(torch.stack(parts).sum(dim=0))


def last_norm_forgotten(x, sublayers, norms, last_norm):
    """You forget the last norm.

    In pre-norm nothing ever normalises the stream itself: it is a sum of all
    that was added, and grows with each sub-layer. Whoever reads it next gets
    numbers of any size.
    """
    return pre_norm_stack(x, sublayers, norms, lambda y: y)


def last_norm_in_every_layer(x, sublayers, norms, last_norm):
    """You apply the last norm behind every sub-layer.

    Then the stream never goes straight through, and it is no longer pre-norm.
    Once is enough, at the end.
    """
    for sublayer, norm in zip(sublayers, norms, strict=True):
        x = last_norm(x + sublayer(norm(x)))
    return x


def last_norm_first(x, sublayers, norms, last_norm):
    """You apply the last norm first, to what enters the stack.

    There it is of little use: each sub-layer has a norm before it. What is
    left without one is the stream at the end.
    """
    return pre_norm_stack(last_norm(x), sublayers, norms, lambda y: y)


@see(PLACES)
def stack_in_post_norm(x, sublayers, norms, last_norm):
    """Your stack is post-norm: you normalise the sums.

    In pre-norm only what a sub-layer reads is normalised.
    """
    for sublayer, norm in zip(sublayers, norms, strict=True):
        x = norm(x + sublayer(x))
    return last_norm(x)


@see(WORD)
def stack_without_sums(x, sublayers, norms, last_norm):
    """You never add what was there before: each sub-layer's answer replaces
    the stream.

    Nothing of the word itself is left after the first of them.
    """
    for sublayer, norm in zip(sublayers, norms, strict=True):
        x = sublayer(norm(x))
    return last_norm(x)


@see(PLACES)
def stack_keeps_the_normed(x, sublayers, norms, last_norm):
    """You add each answer to the *normalised* stream.

    The stream is to go straight on, and only what a sub-layer reads is
    normalised.
    """
    for sublayer, norm in zip(sublayers, norms, strict=True):
        x = norm(x)
        x = x + sublayer(x)
    return last_norm(x)


@see(PLACES)
def stack_norms_answers(x, sublayers, norms, last_norm):
    """You normalise what each sub-layer *answers*.

    It is what it *reads* that is to be normalised.
    """
    for sublayer, norm in zip(sublayers, norms, strict=True):
        x = x + norm(sublayer(x))
    return last_norm(x)


@see(WORD)
def stack_without_norms(x, sublayers, norms, last_norm):
    """Your sub-layers read the stream as it is: `norms` is never used.

    Only the last norm is there.
    """
    for sublayer in sublayers:
        x = x + sublayer(x)
    return last_norm(x)


def stack_of_one_layer(x, sublayers, norms, last_norm):
    """You apply the first sub-layer again and again.

    There are as many steps as there should be, but the other sub-layers are
    never asked.
    """
    for norm in norms:
        x = x + sublayers[0](norm(x))
    return last_norm(x)


def stack_of_one_norm(x, sublayers, norms, last_norm):
    """You use the first norm for every sub-layer.

    Each has a norm of its own, with its own gain and bias.
    """
    for sublayer in sublayers:
        x = x + sublayer(norms[0](x))
    return last_norm(x)


def stack_stops_early(x, sublayers, norms, last_norm):
    """You return after the first sub-layer.

    Does the `return` stand inside the loop?
    """
    return pre_norm_stack(x, sublayers[:1], norms[:1], last_norm)


def stack_reads_the_first(x, sublayers, norms, last_norm):
    """Each of your sub-layers reads what entered the *stack*.

    It is to read what the one below it has left: the stream so far, with all
    that was added to it.
    """
    out = x
    for sublayer, norm in zip(sublayers, norms, strict=True):
        out = out + sublayer(norm(x))
    return last_norm(out)


@see(WORD)
def stack_adds_the_first(x, sublayers, norms, last_norm):
    """You add what entered the *stack* to each answer.

    Each sub-layer then throws away what those below it have added. It is the
    stream so far that is kept.
    """
    out = x
    for sublayer, norm in zip(sublayers, norms, strict=True):
        out = x + sublayer(norm(out))
    return last_norm(out)


@see(WORD)
def stack_adds_once(x, sublayers, norms, last_norm):
    """You add what entered the stack once, at its end.

    Between the sub-layers nothing is kept. The sum goes around *each* of
    them.
    """
    out = x
    for sublayer, norm in zip(sublayers, norms, strict=True):
        out = sublayer(norm(out))
    return last_norm(x + out)


def stack_forgets_the_others(x, sublayers, norms, last_norm):
    """Only your last sub-layer counts.

    What each of them adds is added to the stream as it *entered*, and the
    next one replaces it. The stream itself has to move on from step to step.
    """
    return pre_norm_stack(x, sublayers[-1:], norms[-1:], last_norm)


def stack_upside_down(x, sublayers, norms, last_norm):
    """You begin with the last sub-layer: the stack stands on its head."""
    return pre_norm_stack(x, sublayers[::-1], norms[::-1], last_norm)


def draw_stack(draw: Draw) -> Case:
    x = draw.normal(draw.size(1, 3), draw.size(1, 4), draw.size(3, 6))
    depth = draw.size(2, 4)
    sublayers = [draw.choice([rolled, squared]) for _ in range(depth)]
    norms = [draw.choice([layer_normed, halved]) for _ in range(depth)]
    return case("a random stack", x, sublayers, norms, layer_normed)


PRE_NORM_STACK = Exercise(
    solution=pre_norm_stack,
    section=LAST,
    points=2,
    hints=(
        "One sub-layer in pre-norm is a sum that you have written already. "
        "What does the next sub-layer read? And what has never been "
        "normalised when the loop is over?",
        "Walk through `zip(sublayers, norms)` with one name for the stream, "
        "which each step replaces by a sum. Behind the loop, not in it, comes "
        "the last norm.",
    ),
    cases=[
        case("one sub-layer", THREE, [times_ten], [halved], plus_one),
        case(
            "two sub-layers",
            THREE,
            [times_ten, squared],
            [halved, halved],
            plus_one,
        ),
        case(
            "two norms",
            THREE,
            [times_ten, times_ten],
            [halved, plus_one],
            halved,
        ),
        case(
            "cats", CATS, [rolled, squared], [layer_normed] * 2, layer_normed
        ),
        case(
            "three sub-layers, a batch of one",
            Draw(1).normal(1, 2, 3),
            [squared, rolled, times_ten],
            [layer_normed, halved, layer_normed],
            layer_normed,
        ),
        case(
            "two sentences, float64",
            Draw(2).normal(2, 3, 4).double(),
            [rolled, squared],
            [layer_normed, plus_one],
            layer_normed,
        ),
    ],
    draw=draw_stack,
    others=[stack_by_index, stack_by_recursion, stack_by_parts],
    mistakes=[
        last_norm_forgotten,
        last_norm_in_every_layer,
        last_norm_first,
        stack_in_post_norm,
        stack_without_sums,
        stack_keeps_the_normed,
        stack_norms_answers,
        stack_without_norms,
        stack_of_one_layer,
        stack_of_one_norm,
        stack_stops_early,
        stack_reads_the_first,
        stack_adds_the_first,
        stack_adds_once,
        stack_forgets_the_others,
        stack_upside_down,
    ],
)

EXERCISES = [LAYER_NORM, ADD_AND_NORM, PRE_NORM_STACK]
"""In the order of the notebook."""
