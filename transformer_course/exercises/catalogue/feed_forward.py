"""Exercises of chapter 09: the feed-forward part."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    Exercise,
    case,
    see,
)
from transformer_course.transformer import DecoderLayer, EncoderLayer

FORMULA = "09_feed_forward#the-formula"
MEAN = "09_feed_forward#what-a-mean-cannot-compute"
SAME = "09_feed_forward#the-same-at-every-position"
CONVOLUTION = "09_feed_forward#a-convolution-of-width-one"
ACTIVATION = "09_feed_forward#relu-and-gelu"
WEIGHTS = "09_feed_forward#how-much-of-the-weights"
HEADS = "07_multi_head_attention#counting"

# --- feed_forward ------------------------------------------------------------


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
    units = (x @ W_1 + b_1).clamp(min=0)
    return units @ W_2 + b_2
    ### END SOLUTION


def feed_forward_by_linear(x, W_1, b_1, W_2, b_2):
    return F.linear(F.relu(F.linear(x, W_1.T, b_1)), W_2.T, b_2)


def feed_forward_word_by_word(x, W_1, b_1, W_2, b_2):
    words = x.reshape(-1, x.size(-1))
    answers = [torch.relu(word @ W_1 + b_1) @ W_2 + b_2 for word in words]
    return torch.stack(answers).view(x.shape)


def feed_forward_as_memory(x, W_1, b_1, W_2, b_2):
    answer = b_2.expand_as(x)
    for key, bias, value in zip(W_1.T, b_1, W_2, strict=True):
        match = torch.einsum("bld,d->bl", x, key) + bias
        answer = (
            answer
            + torch.maximum(match, match.new_zeros(()))[..., None] * value
        )
    return answer


@see(MEAN)
def kink_left_out(x, W_1, b_1, W_2, b_2):
    """There is no kink: two linear maps, one after the other, are one linear
    map.

    The width between them is then good for nothing.
    """
    return (x @ W_1 + b_1) @ W_2 + b_2


def kink_at_the_end(x, W_1, b_1, W_2, b_2):
    """Your kink is behind the second map, and there is none between the two.

    The two maps are then one. And the answer can never be negative: it could
    add to the stream, but take nothing away.
    """
    return ((x @ W_1 + b_1) @ W_2 + b_2).clamp(min=0)


def kink_twice(x, W_1, b_1, W_2, b_2):
    """You have a kink behind each of the two maps.

    The second one is too many: the answer can never be negative, so that it
    could add to the stream, but take nothing away.
    """
    return feed_forward(x, W_1, b_1, W_2, b_2).clamp(min=0)


def kink_before(x, W_1, b_1, W_2, b_2):
    """Your kink comes before the first map: it cuts the stream.

    All negative numbers of a word are lost before the part has looked at
    them. The units are what is cut.
    """
    return (x.clamp(min=0) @ W_1 + b_1) @ W_2 + b_2


@see(ACTIVATION)
def kink_upside_down(x, W_1, b_1, W_2, b_2):
    """You keep what is *below* zero, and cut what is above.

    max(0, z) is never negative. `clamp(max=0)` says the opposite: that 0 is
    the largest number allowed.
    """
    return (x @ W_1 + b_1).clamp(max=0) @ W_2 + b_2


@see(FORMULA)
def maximum_of_python(x, W_1, b_1, W_2, b_2):
    """Python's `max` is asked which of two things is larger, 0 or a tensor.

    A tensor has many numbers, and each of them is to be compared with 0: that
    takes a function of torch.
    """
    return max(0, x @ W_1 + b_1) @ W_2 + b_2


@see(ACTIVATION)
def gelu_for_relu(x, W_1, b_1, W_2, b_2):
    """Your kink is a GELU, as in BERT.

    Many models have it, and it works as well. Asked for is the paper's
    max(0, z): weights that were trained with one do not fit the other.
    """
    return F.gelu(x @ W_1 + b_1) @ W_2 + b_2


@see(ACTIVATION)
def sigmoid_for_relu(x, W_1, b_1, W_2, b_2):
    """Your kink is a sigmoid: all your units lie between 0 and 1.

    Asked for is the paper's max(0, z), which has no upper end.
    """
    return (x @ W_1 + b_1).sigmoid() @ W_2 + b_2


@see(ACTIVATION)
def tanh_for_relu(x, W_1, b_1, W_2, b_2):
    """Your kink is a tanh: all your units lie between -1 and 1.

    Asked for is the paper's max(0, z), which has no upper end.
    """
    return (x @ W_1 + b_1).tanh() @ W_2 + b_2


def first_bias_forgotten(x, W_1, b_1, W_2, b_2):
    """You never add `b_1`.

    All your units begin to fire at zero; a bias lets each begin elsewhere.
    """
    return (x @ W_1).clamp(min=0) @ W_2 + b_2


def second_bias_forgotten(x, W_1, b_1, W_2, b_2):
    """You never add `b_2`, at the end of the second map."""
    return (x @ W_1 + b_1).clamp(min=0) @ W_2


def both_biases_forgotten(x, W_1, b_1, W_2, b_2):
    """You use neither `b_1` nor `b_2`.

    Attention has no biases in the paper; the feed-forward part has two.
    """
    return (x @ W_1).clamp(min=0) @ W_2


def first_bias_too_late(x, W_1, b_1, W_2, b_2):
    """You add `b_1` behind the kink.

    It is to move the place at which a unit begins to fire. Behind the kink
    it only adds the same to every word.
    """
    return ((x @ W_1).clamp(min=0) + b_1) @ W_2 + b_2


@see("08_add_and_norm#two-places-for-the-norm")
def stream_added(x, W_1, b_1, W_2, b_2):
    """You add the stream to your answer.

    That has to be done, but it is the layer's business: with it done twice,
    every word would count double.
    """
    return x + feed_forward(x, W_1, b_1, W_2, b_2)


@see(FORMULA)
def weights_transposed(x, W_1, b_1, W_2, b_2):
    """You multiply by the transposed matrices.

    That fails, unless the part is as wide inside as outside. `F.linear` and
    `nn.Linear` keep a row for each *output*; the formula, and what you are
    given here, has x on the left, and a column for each output.
    """
    return (x @ W_1.T + b_1).clamp(min=0) @ W_2.T + b_2


@see(SAME)
def words_summed_up(x, W_1, b_1, W_2, b_2):
    """All words of a sentence get the same answer: that of their mean.

    The part reads one word at a time and sees none of the others.
    """
    mean = x.mean(dim=1, keepdim=True)
    return feed_forward(mean, W_1, b_1, W_2, b_2).expand_as(x)


def draw_part(draw: Draw) -> Case:
    width, inside = draw.size(2, 4), draw.size(5, 8)
    return case(
        "random numbers",
        draw.normal(draw.size(1, 3), draw.size(2, 5), width),
        draw.normal(width, inside),
        draw.normal(inside),
        draw.normal(inside, width),
        draw.normal(width),
    )


def drawn_part(
    seed: int, batch: int, length: int, width: int, inside: int
) -> list[Tensor]:
    """A stream and the weights of a part."""
    draw = Draw(seed)
    return [
        draw.normal(batch, length, width),
        draw.normal(width, inside),
        draw.normal(inside),
        draw.normal(inside, width),
        draw.normal(width),
    ]


ONE_WORD = (
    "one word, two units: one fires, one does not",
    torch.tensor([[[1.0]]]),
    torch.tensor([[2.0, -3.0]]),
    torch.tensor([0.5, 1.0]),
    torch.tensor([[10.0], [100.0]]),
    torch.tensor([-1.0]),
)
FEED_FORWARD = Exercise(
    solution=feed_forward,
    section=FORMULA,
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
        case("as wide inside as outside", *drawn_part(1, 1, 1, 2, 2)),
        case("as many words as numbers", *drawn_part(2, 1, 3, 3, 4)),
        case("two sentences", *drawn_part(3, 2, 3, 2, 8)),
        case("float64", *(t.double() for t in drawn_part(4, 1, 2, 3, 5))),
    ],
    draw=draw_part,
    others=[
        feed_forward_by_linear,
        feed_forward_word_by_word,
        feed_forward_as_memory,
    ],
    mistakes=[
        kink_left_out,
        kink_at_the_end,
        kink_twice,
        kink_before,
        kink_upside_down,
        maximum_of_python,
        gelu_for_relu,
        sigmoid_for_relu,
        tanh_for_relu,
        first_bias_forgotten,
        second_bias_forgotten,
        both_biases_forgotten,
        first_bias_too_late,
        stream_added,
        weights_transposed,
        words_summed_up,
    ],
)

# --- feed_forward_by_convolution ---------------------------------------------


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
    return F.conv1d(units, kernel_2, b_2).transpose(1, 2)
    ### END SOLUTION


def convolved_as_linear(x, kernel_1, b_1, kernel_2, b_2):
    units = F.linear(x, kernel_1[..., 0], b_1).relu()
    return F.linear(units, kernel_2[..., 0], b_2)


def convolved_by_einsum(x, kernel_1, b_1, kernel_2, b_2):
    units = torch.einsum("bld,fdw->blf", x, kernel_1) + b_1
    return torch.einsum("blf,dfw->bld", units.clamp(min=0), kernel_2) + b_2


def convolved_word_by_word(x, kernel_1, b_1, kernel_2, b_2):
    words = x.reshape(-1, x.size(-1), 1)  # each a sentence of one word
    units = torch.relu(torch.conv1d(words, kernel_1, b_1))
    return torch.conv1d(units, kernel_2, b_2).reshape(x.shape)


def axes_left_alone(x, kernel_1, b_1, kernel_2, b_2):
    """Your convolution takes words for channels.

    It wants the channels on the second axis, where yours has the words. That
    is an error, unless there are as many words as numbers: then there is
    none, and all words are mixed.
    """
    return F.conv1d(F.conv1d(x, kernel_1, b_1).relu(), kernel_2, b_2)


def axes_not_brought_back(x, kernel_1, b_1, kernel_2, b_2):
    """Your result is (batch, channels, length), as the convolution gives it.

    The numbers are right. Whoever reads the stream next expects a word's
    numbers on the last axis.
    """
    units = F.conv1d(x.transpose(1, 2), kernel_1, b_1).relu()
    return F.conv1d(units, kernel_2, b_2)


def axes_back_too_early(x, kernel_1, b_1, kernel_2, b_2):
    """You bring the axes back *between* the two convolutions.

    The second one wants channels on the second axis as well.
    """
    units = F.conv1d(x.transpose(1, 2), kernel_1, b_1).relu()
    return F.conv1d(units.transpose(1, 2), kernel_2, b_2)


@see("07_multi_head_attention#splitting-and-merging")
def axes_by_view(x, kernel_1, b_1, kernel_2, b_2):
    """You exchange axes by `view` or `reshape`, there and back.

    All shapes are right. But the numbers stay in the order in which they lie
    in memory: a channel of yours mixes the numbers of several words.
    """
    batch, length, width = x.shape
    channels = x.reshape(batch, width, length)
    units = F.conv1d(channels, kernel_1, b_1).relu()
    return F.conv1d(units, kernel_2, b_2).reshape(x.shape)


@see("07_multi_head_attention#splitting-and-merging")
def axes_there_by_view(x, kernel_1, b_1, kernel_2, b_2):
    """You bring the axes into order by `view` or `reshape`.

    The shape is right. But the numbers stay in the order in which they lie
    in memory: a channel of yours mixes the numbers of several words. (The
    way back is right.)
    """
    batch, length, width = x.shape
    channels = x.reshape(batch, width, length)
    units = F.conv1d(channels, kernel_1, b_1).relu()
    return F.conv1d(units, kernel_2, b_2).transpose(1, 2)


@see("07_multi_head_attention#splitting-and-merging")
def axes_back_by_view(x, kernel_1, b_1, kernel_2, b_2):
    """You bring the result into order by `view` or `reshape`.

    The shape is right. But the numbers stay in the order in which they lie
    in memory, channel after channel: your first word gets the first channel
    of several words. (The way there is right.)
    """
    units = F.conv1d(x.transpose(1, 2), kernel_1, b_1).relu()
    return F.conv1d(units, kernel_2, b_2).reshape(x.shape)


def sentence_for_channels(x, kernel_1, b_1, kernel_2, b_2):
    """You exchange the sentences with the words, not words with numbers.

    That is an error, unless there are as many sentences as numbers. The
    channels are a word's numbers, which stand on the last axis.
    """
    units = F.conv1d(x.transpose(0, 1), kernel_1, b_1).relu()
    return F.conv1d(units, kernel_2, b_2).transpose(0, 1)


def convolved_with_padding(x, kernel_1, b_1, kernel_2, b_2):
    """Your sentence comes out longer than it went in.

    You pad it by one word at each end. That is right for a window of three;
    a window of one word needs none.
    """
    units = F.conv1d(x.transpose(1, 2), kernel_1, b_1, padding=1).relu()
    return F.conv1d(units, kernel_2, b_2, padding=1).transpose(1, 2)


@see(MEAN)
def convolved_without_kink(x, kernel_1, b_1, kernel_2, b_2):
    """There is no kink between your convolutions.

    Two linear maps, one after the other, are one linear map; and a
    convolution is linear too.
    """
    units = F.conv1d(x.transpose(1, 2), kernel_1, b_1)
    return F.conv1d(units, kernel_2, b_2).transpose(1, 2)


@see(FORMULA)
def convolved_kink_at_the_end(x, kernel_1, b_1, kernel_2, b_2):
    """Your kink is behind the second convolution, in place of the first.

    Then there is none between the two linear maps, and the answer can never
    be negative.
    """
    return convolved_without_kink(x, kernel_1, b_1, kernel_2, b_2).relu()


@see(FORMULA)
def convolved_kink_twice(x, kernel_1, b_1, kernel_2, b_2):
    """You have a kink behind each of the two convolutions.

    The second one is too many: the answer can never be negative.
    """
    return convolved_as_linear(x, kernel_1, b_1, kernel_2, b_2).relu()


@see(ACTIVATION)
def convolved_with_gelu(x, kernel_1, b_1, kernel_2, b_2):
    """Your kink is a GELU, as in BERT.

    Asked for is the *same* part as in the exercise before: the paper's
    max(0, z).
    """
    units = F.gelu(F.conv1d(x.transpose(1, 2), kernel_1, b_1))
    return F.conv1d(units, kernel_2, b_2).transpose(1, 2)


@see(FORMULA)
def convolved_without_biases(x, kernel_1, b_1, kernel_2, b_2):
    """You use neither `b_1` nor `b_2`.

    `F.conv1d` adds a bias only if it is given one.
    """
    units = F.conv1d(x.transpose(1, 2), kernel_1).relu()
    return F.conv1d(units, kernel_2).transpose(1, 2)


def draw_convolution(draw: Draw) -> Case:
    return as_convolution("random numbers", *draw_part(draw).args)


def as_convolution(
    note: str, x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor
) -> Case:
    """The same part, its matrices kept as a convolution keeps them."""
    return case(note, x, W_1.T[..., None], b_1, W_2.T[..., None], b_2)


CONVOLVED = Exercise(
    solution=feed_forward_by_convolution,
    section=CONVOLUTION,
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
        as_convolution("a single word", *drawn_part(5, 1, 1, 2, 4)),
        as_convolution("two words of one number", *drawn_part(6, 1, 2, 1, 4)),
        as_convolution("five words", *drawn_part(7, 1, 5, 2, 3)),
        as_convolution(
            "as many sentences as numbers", *drawn_part(8, 2, 3, 2, 4)
        ),
        as_convolution(
            "float64", *(t.double() for t in drawn_part(9, 2, 2, 3, 5))
        ),
    ],
    draw=draw_convolution,
    others=[convolved_as_linear, convolved_by_einsum, convolved_word_by_word],
    mistakes=[
        axes_left_alone,
        axes_not_brought_back,
        axes_back_too_early,
        axes_by_view,
        axes_there_by_view,
        axes_back_by_view,
        sentence_for_channels,
        convolved_with_padding,
        convolved_without_kink,
        convolved_kink_at_the_end,
        convolved_kink_twice,
        convolved_with_gelu,
        convolved_without_biases,
    ],
)

# --- layer_weights -----------------------------------------------------------


def layer_weights(d_model: int, n_heads: int, d_ff: int, decoder: bool) -> int:
    """Count the weights of one layer of the Transformer, all of them.

    As in the paper: attention has no biases, the feed-forward part has two,
    and each norm has a gain and a bias.

    Args:
        d_model: width of the stream.
        n_heads: number of heads, which share out the width.
        d_ff: width inside the feed-forward part.
        decoder: a layer of the decoder, with cross-attention and a third
            norm; else one of the encoder.

    Returns:
        How many numbers the layer learns.
    """
    ### BEGIN SOLUTION
    attention = 4 * d_model**2
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    if decoder:
        return 2 * attention + feed_forward + 3 * norm
    return attention + feed_forward + 2 * norm
    ### END SOLUTION


def weights_of_a_real_layer(d_model, n_heads, d_ff, decoder):
    kind = DecoderLayer if decoder else EncoderLayer
    with torch.device("meta"):
        layer = kind(d_model, n_heads, d_ff)
    return sum(weight.numel() for weight in layer.parameters())


def weights_by_shapes(d_model, n_heads, d_ff, decoder):
    head = d_model // n_heads
    attention = [(d_model, head)] * 3 * n_heads + [(d_model, d_model)]
    shapes = attention * (2 if decoder else 1)
    shapes += [(d_model, d_ff), (d_ff, 1), (d_ff, d_model), (d_model, 1)]
    shapes += [(d_model, 2)] * (3 if decoder else 2)
    return sum(rows * columns for rows, columns in shapes)


def weights_by_modules(d_model, n_heads, d_ff, decoder):
    attentions = 1 + decoder
    parts = [nn.Linear(d_model, d_model, bias=False)] * 4 * attentions
    parts += [nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)]
    parts += [nn.LayerNorm(d_model)] * (attentions + 1)
    return sum(w.numel() for part in parts for w in part.parameters())


def all_but_the_small(d_model, n_heads, d_ff, decoder):
    """You count the matrices alone: neither biases nor norms.

    For a width of 512 these are 12d² and 16d², and hardly anything is
    missing. But asked for are *all* weights.
    """
    attentions = 2 if decoder else 1
    return attentions * 4 * d_model**2 + 2 * d_model * d_ff


def by_the_rule_of_thumb(d_model, n_heads, d_ff, decoder):
    """You count 12d², and 16d² for the decoder, whatever the sizes are.

    That holds for matrices alone, and for an inside four times as wide. Here
    `d_ff` may be anything, and biases and norms count.
    """
    return (16 if decoder else 12) * d_model**2


def feed_forward_twice(d_model, n_heads, d_ff, decoder):
    """You give a decoder layer two feed-forward parts. (An encoder layer is
    right.)

    Attention stands twice in it, the feed-forward part once.
    """
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole + (2 * d_model * d_ff + d_ff + d_model if decoder else 0)


def encoder_for_decoder(d_model, n_heads, d_ff, decoder):
    """You have the two kinds of layers the wrong way round.

    What you count for the encoder is a decoder layer.
    """
    return layer_weights(d_model, n_heads, d_ff, not decoder)


def all_but_biases(d_model, n_heads, d_ff, decoder):
    """You forget the two biases of the feed-forward part.

    Attention has none in the paper, the feed-forward part has one for each
    of its two maps.
    """
    return layer_weights(d_model, n_heads, d_ff, decoder) - d_ff - d_model


def all_but_norms(d_model, n_heads, d_ff, decoder):
    """You forget the norms.

    Each has something to be learned for every number of the stream.
    """
    norms = 3 if decoder else 2
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole - norms * 2 * d_model


@see("08_add_and_norm#layer-norm-by-hand")
def norms_of_half_size(d_model, n_heads, d_ff, decoder):
    """Your norms have one vector each.

    They have two: a gain and a bias.
    """
    norms = 3 if decoder else 2
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole - norms * d_model


def one_norm_for_all(d_model, n_heads, d_ff, decoder):
    """You count one norm for the whole layer.

    There is one around each sub-layer.
    """
    norms = 3 if decoder else 2
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole - (norms - 1) * 2 * d_model


def third_norm_forgotten(d_model, n_heads, d_ff, decoder):
    """You give a decoder layer two norms. (An encoder layer is right.)

    Cross-attention is a third sub-layer, and each has its norm.
    """
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole - (2 * d_model if decoder else 0)


@see(HEADS)
def attention_with_biases(d_model, n_heads, d_ff, decoder):
    """You count biases on attention's four matrices.

    Many programs have them, BERT among them. In the paper there are none.
    """
    attentions = 2 if decoder else 1
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole + attentions * 4 * d_model


@see(HEADS)
def output_matrix_forgotten(d_model, n_heads, d_ff, decoder):
    """You count three matrices for an attention.

    Query, key and value make three; what the heads say goes through a
    fourth.
    """
    attentions = 2 if decoder else 1
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole - attentions * d_model**2


@see(HEADS)
def every_head_full_width(d_model, n_heads, d_ff, decoder):
    """Your attention grows with the number of heads.

    The heads share out the width: each matrix of one head has d · d/h
    numbers, and there are h of them. The number of heads cancels.
    """
    more = (2 if decoder else 1) * 4 * d_model**2 * (n_heads - 1)
    return layer_weights(d_model, n_heads, d_ff, decoder) + more


@see(HEADS)
def projections_full_width(d_model, n_heads, d_ff, decoder):
    """Your three projections grow with the number of heads.

    The heads share out the width: each matrix of one head has d · d/h
    numbers, and there are h of them. The number of heads cancels.
    """
    more = (2 if decoder else 1) * 3 * d_model**2 * (n_heads - 1)
    return layer_weights(d_model, n_heads, d_ff, decoder) + more


@see(HEADS)
def one_head_counted(d_model, n_heads, d_ff, decoder):
    """You count the projections of one head only.

    Each head has its own three, of d · d/h numbers.
    """
    attentions = 2 if decoder else 1
    others = 3 * d_model * (d_model // n_heads) * (n_heads - 1)
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole - attentions * others


def cross_attention_forgotten(d_model, n_heads, d_ff, decoder):
    """You forget cross-attention. (An encoder layer is right.)

    A decoder layer has attention twice, with matrices of their own.
    """
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole - (4 * d_model**2 if decoder else 0)


def decoder_like_encoder(d_model, n_heads, d_ff, decoder):
    """You count a decoder layer like an encoder layer.

    It has cross-attention, and a third norm.
    """
    return layer_weights(d_model, n_heads, d_ff, False)


@see("09_feed_forward#four-times-as-wide")
def always_four_times(d_model, n_heads, d_ff, decoder):
    """You take the inside to be 4 · d_model wide, whatever `d_ff` is.

    Four was the paper's choice, and no law.
    """
    return layer_weights(d_model, n_heads, 4 * d_model, decoder)


@see(FORMULA)
def second_matrix_forgotten(d_model, n_heads, d_ff, decoder):
    """You count one of the feed-forward part's two matrices.

    One widens, the other narrows.
    """
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole - d_model * d_ff


@see(FORMULA)
def feed_forward_forgotten(d_model, n_heads, d_ff, decoder):
    """You count attention and norms, and no feed-forward part.

    With the paper's sizes that is two thirds of an encoder layer.
    """
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole - 2 * d_model * d_ff - d_ff - d_model


@see(FORMULA)
def biases_of_one_width(d_model, n_heads, d_ff, decoder):
    """Both your biases are d_ff wide.

    A bias has a number for each *output* of its map. The second map leads
    back to d_model.
    """
    whole = layer_weights(d_model, n_heads, d_ff, decoder)
    return whole + d_ff - d_model


@see(FORMULA)
def first_bias_only(d_model, n_heads, d_ff, decoder):
    """You count one of the feed-forward part's two biases, that of d_ff
    numbers.

    The second map has one too.
    """
    return layer_weights(d_model, n_heads, d_ff, decoder) - d_model


def draw_sizes(draw: Draw) -> Case:
    heads = draw.size(2, 8)
    width = heads * draw.size(2, 16)
    decoder = draw.choice([False, True])
    return case("random sizes", width, heads, draw.size(3, 300), decoder)


LAYER_WEIGHTS = Exercise(
    solution=layer_weights,
    section=WEIGHTS,
    points=2,
    hints=(
        "Make a list of all that has weights: attention (how many "
        "matrices?), feed-forward (how many matrices and biases, and how "
        "long?), norms (how many, and what has each?). Does the number of "
        "heads change anything?",
        "Attention: four square matrices. Feed-forward: one matrix there and "
        "one back, and a bias for what comes out of each. A norm has two "
        "vectors. Then count how often each stands in an encoder layer, and "
        "in a decoder layer.",
    ),
    cases=[
        case("an encoder layer of width 2", 2, 1, 3, False),
        case("a decoder layer of width 2", 2, 1, 3, True),
        case("two heads", 2, 2, 3, False),
        case("an inside four times as wide", 4, 2, 16, False),
        case("the paper's encoder layer", 512, 8, 2048, False),
        case("the paper's decoder layer", 512, 8, 2048, True),
        case("an inside narrower than the stream", 12, 3, 5, True),
    ],
    draw=draw_sizes,
    others=[weights_of_a_real_layer, weights_by_shapes, weights_by_modules],
    mistakes=[
        all_but_the_small,
        by_the_rule_of_thumb,
        all_but_biases,
        all_but_norms,
        norms_of_half_size,
        one_norm_for_all,
        third_norm_forgotten,
        attention_with_biases,
        output_matrix_forgotten,
        every_head_full_width,
        projections_full_width,
        one_head_counted,
        cross_attention_forgotten,
        decoder_like_encoder,
        encoder_for_decoder,
        feed_forward_twice,
        always_four_times,
        feed_forward_forgotten,
        second_matrix_forgotten,
        biases_of_one_width,
        first_bias_only,
    ],
)

EXERCISES = [FEED_FORWARD, CONVOLVED, LAYER_WEIGHTS]
"""In the order of the notebook."""
