"""How many numbers does a layer learn?"""

import torch
from torch import nn

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    other,
)
from transformer_course.transformer import DecoderLayer, EncoderLayer


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
        layer = kind(d_model, n_heads, d_ff)
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
You count the matrices alone: neither biases nor norms.

For a width of 512 these are 12d² and 16d², and hardly anything is missing. But
asked for are *all* weights.

# by_the_rule_of_thumb
- attentions * attention + feed_forward + norms * norm
+ (16 if decoder else 12) * d_model**2
You count 12d², and 16d² for the decoder, whatever the sizes are.

That holds for matrices alone, and for an inside four times as wide. Here
`d_ff` may be anything, and biases and norms count.

# all_but_biases
- + d_ff + d_model ->
You forget the two biases of the feed-forward part.

Attention has none in the paper, the feed-forward part has one for each of its
two maps.

# all_but_norms
- + norms * norm ->
You forget the norms.

Each has something to be learned for every number of the stream.

# norms_of_half_size (08_add_and_norm#layer-norm-by-hand)
- norm = 2 * d_model -> norm = d_model
Your norms have one vector each.

They have two: a gain and a bias.

# one_norm_for_all
- norms * norm -> norm
You count one norm for the whole layer.

There is one around each sub-layer.

# third_norm_forgotten
- (2, 3) -> (2, 2)
You give a decoder layer two norms. (An encoder layer is right.)

Cross-attention is a third sub-layer, and each has its norm.

# attention_with_biases (07_multi_head_attention#counting)
- 4 * d_model**2 -> 4 * (d_model**2 + d_model)
You count biases on attention's four matrices.

Many programs have them, BERT among them. In the paper there are none.

# output_matrix_forgotten (07_multi_head_attention#counting)
- 4 * -> 3 *
You count three matrices for an attention.

Query, key and value make three; what the heads say goes through a fourth.

# every_head_full_width (07_multi_head_attention#counting)
- 4 * -> n_heads * 4 *
Your attention grows with the number of heads.

The heads share out the width: each matrix of one head has d · d/h numbers, and
there are h of them. The number of heads cancels.

# projections_full_width (07_multi_head_attention#counting)
- 4 * -> (n_heads * 3 + 1) *
Your three projections grow with the number of heads.

The heads share out the width: each matrix of one head has d · d/h numbers, and
there are h of them. The number of heads cancels.

# one_head_counted (07_multi_head_attention#counting)
- 4 * d_model**2 -> 3 * d_model * (d_model // n_heads) + d_model**2
You count the projections of one head only.

Each head has its own three, of d · d/h numbers.

# attention_divided_by_heads (07_multi_head_attention#counting)
- 4 * d_model**2 -> 4 * d_model**2 // n_heads
You divide attention by the number of heads.

A head has matrices of d · d/h numbers. But there are h heads, and the fourth
matrix is whole: the number of heads cancels.

# cross_attention_forgotten
- (2, 3) -> (1, 3)
You forget cross-attention. (An encoder layer is right.)

A decoder layer has attention twice, with matrices of their own.

# cross_attention_half
- attentions * attention -> (attention + attention // 2 * decoder)
You count two matrices for cross-attention. (An encoder layer is right.)

Only keys and values come from the source, but queries and the output have
matrices of their own there too: it is a whole attention.

# decoder_like_encoder
- (2, 3) -> (1, 2)
You count a decoder layer like an encoder layer.

It has cross-attention, and a third norm.

# encoder_for_decoder
- if decoder -> if not decoder
You have the two kinds of layers the wrong way round.

What you count for the encoder is a decoder layer.

# feed_forward_twice
- + feed_forward -> + attentions * feed_forward
You give a decoder layer two feed-forward parts. (An encoder layer is right.)

Attention stands twice in it, the feed-forward part once.

# always_four_times (#four-times-as-wide)
- attention = 4
+ d_ff = 4 * d_model
+ attention = 4
You take the inside to be 4 · d_model wide, whatever `d_ff` is.

Four was the paper's choice, and no law.

# feed_forward_forgotten (#the-formula)
- + feed_forward ->
You count attention and norms, and no feed-forward part.

With the paper's sizes that is two thirds of an encoder layer.

# second_matrix_forgotten (#the-formula)
- 2 * d_model * d_ff -> d_model * d_ff
You count one of the feed-forward part's two matrices.

One widens, the other narrows.

# biases_of_one_width (#the-formula)
- + d_ff + d_model -> + 2 * d_ff
Both your biases are d_ff wide.

A bias has a number for each *output* of its map. The second map leads back to
d_model.

# biases_of_the_stream (#the-formula)
- + d_ff + d_model -> + 2 * d_model
Both your biases are d_model wide.

A bias has a number for each *output* of its map. The first map leads to d_ff
units.

# first_bias_only (#the-formula)
- + d_ff + d_model -> + d_ff
You count one of the feed-forward part's two biases, that of d_ff numbers.

The second map has one too.

# second_bias_only (#the-formula)
- + d_ff + d_model -> + d_model
You count one of the feed-forward part's two biases, that of d_model numbers.

The first map has one too, with a number for each unit.

# norm_at_the_end
- norms * norm -> (norms + 1) * norm
You count one norm too many.

The one at the end of a stack of pre-norm layers belongs to the stack, and the
paper's has none. Around each sub-layer there is one.

# three_attention_biases (07_multi_head_attention#counting)
- 4 * d_model**2 -> 4 * d_model**2 + 3 * d_model
You count biases on queries, keys and values.

Many programs have them. In the paper there are none.

# one_attention_bias (07_multi_head_attention#counting)
- 4 * d_model**2 -> 4 * d_model**2 + d_model
You count a bias for each attention, on its output.

In the paper there is none.

# cross_attention_of_three
- attentions * attention -> (attentions * attention - decoder * d_model**2)
You count three matrices for cross-attention. (An encoder layer is right.)

Keys and values come from the source, queries from the target, and the output
has a matrix too: it is a whole attention.

# encoder_like_decoder
- else (1, 2) -> else (2, 3)
You count an encoder layer like a decoder layer.

It has no cross-attention, and two norms.

# third_attention
- (2, 3) -> (3, 3)
or
- (2, 3) -> (3, 4)
You give a decoder layer three attentions. (An encoder layer is right.)

It has two: masked self-attention, which is one part, and cross-attention.

# whole_stack_counted
- return attentions * attention + feed_forward + norms * norm
+ return 6 * (attentions * attention + feed_forward + norms * norm)
You count six layers.

That is the paper's stack. Asked for is one layer of it.

# one_norm_too_few
- norms * norm -> (norms - 1) * norm
You count one norm too few.

There is one around *each* sub-layer: the feed-forward part has its own.

# norms_of_two_numbers (08_add_and_norm#layer-norm-by-hand)
- norm = 2 * d_model -> norm = 2
Your norms have two numbers each.

They have two *vectors*: a gain and a bias for every number of the stream.

# norms_with_a_matrix (08_add_and_norm#layer-norm-by-hand)
- norm = 2 * d_model -> norm = d_model**2
or
- norm = 2 * d_model -> norm = 2 * d_model**2
or
- norm = 2 * d_model -> norm = d_model**2 + d_model
Your norms have matrices.

A gain multiplies each number of the stream by one of its own: it is a vector,
and so is the bias.

# three_matrices_inside (#the-formula)
- 2 * d_model * d_ff -> 3 * d_model * d_ff
You count three matrices for the feed-forward part.

Newer models have a third, a gate. The paper's part has two: one widens, the
other narrows.

# feed_forward_for_each_head
- + feed_forward -> + n_heads * feed_forward
You count a feed-forward part for each head.

The heads belong to attention alone. Feed-forward reads what they have said
together.

# one_feed_forward_bias (#the-formula)
- + d_ff + d_model -> + 1
or
- + d_ff + d_model -> + 2
Your biases are single numbers.

A bias has a number for each output of its map.
"""


def draw_sizes(draw: Draw) -> Case:
    heads = draw.size(2, 8)
    width = heads * draw.size(2, 16)
    decoder = draw.choice([False, True])
    return case("random sizes", width, heads, draw.size(3, 300), decoder)


EXERCISE = exercise_of(
    layer_weights,
    place=3,
    section="09_feed_forward#how-much-of-the-weights",
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
    edits=EDITS,
)
