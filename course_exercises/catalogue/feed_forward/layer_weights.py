"""Number of parameters of a layer."""

import torch
from torch import nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other
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


def draw_sizes(draw: Draw) -> Case:
    heads = draw.size(2, 8)
    width = heads * draw.size(2, 16)
    decoder = draw.choice([False, True])
    return case("random sizes", width, heads, draw.size(3, 300), decoder)


EXERCISE = exercise_of(
    layer_weights,
    section="09_feed_forward#its-share-of-the-weights",
    points=2,
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
