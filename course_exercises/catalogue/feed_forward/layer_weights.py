"""Number of parameters of a layer."""

import torch
from torch import nn

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other
from transformer_course.models.config import ModelConfig
from transformer_course.models.transformer import DecoderLayer, EncoderLayer


def layer_weights(d_model: int, n_heads: int, d_ff: int, decoder: bool) -> int:
    """Count all weights of one layer of the Transformer.

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
    attentions, norms = (2, 3) if decoder else (1, 2)
    attention = 4 * d_model**2
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    return attentions * attention + feed_forward + norms * norm
    ### END SOLUTION


@other
def weights_of_a_real_layer(d_model, n_heads, d_ff, decoder):
    kind = DecoderLayer if decoder else EncoderLayer
    with torch.device("meta"):
        layer = kind(ModelConfig(8, d_model, n_heads, d_ff))
    return sum(weight.numel() for weight in layer.parameters())


@other
def weights_by_shapes(d_model, n_heads, d_ff, decoder):
    head = d_model // n_heads
    attention = [(d_model, head)] * 3 * n_heads + [(d_model, d_model)]
    shapes = attention * (2 if decoder else 1)
    shapes += [(d_model, d_ff), (d_ff, 1), (d_ff, d_model), (d_model, 1)]
    shapes += [(d_model, 2)] * (3 if decoder else 2)
    return sum(rows * columns for rows, columns in shapes)


@other
def weights_by_modules(d_model, n_heads, d_ff, decoder):
    attentions = 1 + decoder
    parts = [nn.Linear(d_model, d_model, bias=False)] * 4 * attentions
    parts += [nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)]
    parts += [nn.LayerNorm(d_model)] * (attentions + 1)
    return sum(w.numel() for part in parts for w in part.parameters())


EDITS = """
# all_but_the_small
- + d_ff + d_model ->
- + norms * norm ->
You count the matrices alone, without biases and norms.

For a width of 512 hardly anything is missing. But the exercise asks for *all*
weights.

# by_the_rule_of_thumb
- attentions * attention + feed_forward + norms * norm
+ (16 if decoder else 12) * d_model**2
You count 12d² weights, and 16d² for the decoder, whatever `d_ff` is.

That holds for the matrices alone, and only where `d_ff` is 4 · `d_model`. Here
it can be anything, and biases and norms count.

# all_but_biases
- + d_ff + d_model ->
You leave out the two biases of the feed-forward part.

In the paper attention has no biases, but the feed-forward part has one for
each of its two maps.

# all_but_norms
- + norms * norm ->
You leave out the norms.

Each learns a gain and a bias for every number of the stream.

# norms_of_half_size (08_add_and_norm#layer-norm-by-hand)
- norm = 2 * d_model -> norm = d_model
You count one vector for each norm.

It has two: a gain and a bias.

# one_norm_for_all
- norms * norm -> norm
You count one norm for the whole layer.

Each sub-layer has a norm of its own.

# third_norm_forgotten
- (2, 3) -> (2, 2)
You count two norms in a decoder layer.

Cross-attention is a third sub-layer, and each sub-layer has a norm.

# attention_with_biases (07_multi_head_attention#counting-the-weights)
- 4 * d_model**2 -> 4 * (d_model**2 + d_model)
You count a bias for each of attention's four matrices.

Many models have them, BERT among them. In the paper there are none.

# output_matrix_forgotten (07_multi_head_attention#counting-the-weights)
- 4 * -> 3 *
You count three matrices for an attention.

Queries, keys and values take three. A fourth, W_O, mixes what the heads
return.

# every_head_full_width (07_multi_head_attention#counting-the-weights)
- 4 * -> n_heads * 4 *
You let all four matrices of attention grow with the number of heads.

The heads divide the width among themselves: each matrix of one head has
d · d/h numbers, and there are h heads. The number of heads cancels out.

# projections_full_width (07_multi_head_attention#counting-the-weights)
- 4 * -> (n_heads * 3 + 1) *
You let the projections of queries, keys and values grow with the number of
heads.

The heads divide the width among themselves: each matrix of one head has
d · d/h numbers, and there are h heads. The number of heads cancels out.

# one_head_counted (07_multi_head_attention#counting-the-weights)
- 4 * d_model**2 -> 3 * d_model * (d_model // n_heads) + d_model**2
You count the projections of one head only.

Each head has three of its own, of d · d/h numbers.

# attention_divided_by_heads (07_multi_head_attention#counting-the-weights)
- 4 * d_model**2 -> 4 * d_model**2 // n_heads
You divide attention's weights by the number of heads.

The matrices of a head have d · d/h numbers. But there are h heads, and W_O has
the full width: the number of heads cancels out.

# cross_attention_forgotten
- (2, 3) -> (1, 3)
You leave out cross-attention.

A decoder layer has two attentions, each with four matrices of its own.

# cross_attention_half
- attentions * attention -> (attention + attention // 2 * decoder)
You count two matrices for cross-attention.

It is a whole attention, with four of its own: W_Q, W_K, W_V and W_O. Keys and
values come from the source, but they are projected with matrices of this
layer.

# decoder_like_encoder
- (2, 3) -> (1, 2)
You count a decoder layer like an encoder layer.

It has cross-attention, and a third norm.

# encoder_for_decoder
- if decoder -> if not decoder
You swap the two kinds of layer.

Your encoder layer has cross-attention and a third norm; these belong to the
decoder.

# feed_forward_twice
- + feed_forward -> + attentions * feed_forward
You count two feed-forward parts in a decoder layer.

It has two attentions, but only one feed-forward part.

# always_four_times (#why-four-times-as-wide)
- attention = 4
+ d_ff = 4 * d_model
+ attention = 4
You take 4 · `d_model` for the inner width, whatever `d_ff` is.

Four is the paper's choice, but no law.

# feed_forward_forgotten (#the-formula)
- + feed_forward ->
You leave out the feed-forward part.

With the paper's sizes that is two thirds of an encoder layer.

# second_matrix_forgotten (#the-formula)
- 2 * d_model * d_ff -> d_model * d_ff
You count only one of the feed-forward part's two matrices.

One widens, the other narrows.

# biases_of_one_width (#the-formula)
- + d_ff + d_model -> + 2 * d_ff
You count `d_ff` numbers for both biases.

A bias has a number for each *output* of its map. The second map leads back to
`d_model` numbers.

# biases_of_the_stream (#the-formula)
- + d_ff + d_model -> + 2 * d_model
You count `d_model` numbers for both biases.

A bias has a number for each *output* of its map. The first map leads to `d_ff`
units.

# first_bias_only (#the-formula)
- + d_ff + d_model -> + d_ff
You count only the first of the feed-forward part's two biases.

The second map has one too, of `d_model` numbers.

# second_bias_only (#the-formula)
- + d_ff + d_model -> + d_model
You count only the second of the feed-forward part's two biases.

The first map has one too, with a number for each of the `d_ff` units.

# norm_at_the_end
- norms * norm -> (norms + 1) * norm
You count one norm too many.

A layer has one for each sub-layer. A stack of pre-norm layers ends with one
more, but that belongs to the stack, and the paper's stack has none.

# three_attention_biases (07_multi_head_attention#counting-the-weights)
- 4 * d_model**2 -> 4 * d_model**2 + 3 * d_model
You count biases for queries, keys and values.

Many models have them. In the paper there are none.

# one_attention_bias (07_multi_head_attention#counting-the-weights)
- 4 * d_model**2 -> 4 * d_model**2 + d_model
You count a bias for the output of each attention.

In the paper there is none.

# cross_attention_of_three
- attentions * attention -> (attentions * attention - decoder * d_model**2)
You count three matrices for cross-attention.

It is a whole attention, with four of its own: W_Q, W_K, W_V and W_O.

# encoder_like_decoder
- else (1, 2) -> else (2, 3)
You count an encoder layer like a decoder layer.

It has no cross-attention, and two norms.

# third_attention
- (2, 3) -> (3, 3)
or
- (2, 3) -> (3, 4)
You count three attentions in a decoder layer.

It has two: masked self-attention, which is one part, and cross-attention.

# whole_stack_counted
- return attentions * attention + feed_forward + norms * norm
+ return 6 * (attentions * attention + feed_forward + norms * norm)
You count six layers.

That is the paper's whole stack. The exercise asks for one layer of it.

# one_norm_too_few
- norms * norm -> (norms - 1) * norm
You count one norm too few.

*Each* sub-layer has a norm, the feed-forward part too.

# norms_of_two_numbers (08_add_and_norm#layer-norm-by-hand)
- norm = 2 * d_model -> norm = 2
You count two numbers for each norm.

It has two *vectors*: a gain and a bias for every number of the stream.

# norms_with_a_matrix (08_add_and_norm#layer-norm-by-hand)
- norm = 2 * d_model -> norm = d_model**2
or
- norm = 2 * d_model -> norm = 2 * d_model**2
or
- norm = 2 * d_model -> norm = d_model**2 + d_model
You count a matrix for each norm.

The gain has one factor for each number of the stream: it is a vector, and so
is the bias.

# three_matrices_inside (#the-formula)
- 2 * d_model * d_ff -> 3 * d_model * d_ff
You count three matrices for the feed-forward part.

Newer models have a third, for a gate. The paper's part has two: one widens,
the other narrows.

# feed_forward_for_each_head
- + feed_forward -> + n_heads * feed_forward
You count a feed-forward part for each head.

Only attention has heads. There is one feed-forward part, which reads what all
heads have returned together.

# one_feed_forward_bias (#the-formula)
- + d_ff + d_model -> + 1
or
- + d_ff + d_model -> + 2
You count biases of a single number.

A bias has a number for each output of its map.
"""


def draw_sizes(draw: Draw) -> Case:
    heads = draw.size(2, 8)
    width = heads * draw.size(2, 16)
    decoder = draw.choice([False, True])
    return case("random sizes", width, heads, draw.size(3, 300), decoder)


EXERCISE = exercise_of(
    layer_weights,
    section="09_feed_forward#its-share-of-the-weights",
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
        case("an encoder layer of two heads", 2, 2, 3, False),
        case("a decoder layer of two heads", 2, 2, 3, True),
        case("a decoder layer of width 2", 2, 1, 3, True),
        case("an inside four times as wide", 4, 2, 16, False),
        case("the paper's encoder layer", 512, 8, 2048, False),
        case("the paper's decoder layer", 512, 8, 2048, True),
        case("an inside narrower than the stream", 12, 3, 5, True),
    ],
    draw=draw_sizes,
)
