import math


def right_1(d_model, n_heads, d_ff, decoder):
    """Adds up the three kinds of parts."""
    attention = 4 * d_model**2
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    if decoder:
        return 2 * attention + feed_forward + 3 * norm
    return attention + feed_forward + 2 * norm


def right_2(d_model, n_heads, d_ff, decoder):
    """Lists the shapes of all weights, head by head, and counts them."""
    d_k = d_model // n_heads
    one_attention = [(d_model, d_k)] * 3 * n_heads
    one_attention += [(n_heads * d_k, d_model)]
    shapes = list(one_attention)
    shapes += [(d_model, d_ff), (d_ff,), (d_ff, d_model), (d_model,)]
    shapes += [(d_model,)] * 4
    if decoder:
        shapes += one_attention
        shapes += [(d_model,)] * 2
    return sum(math.prod(shape) for shape in shapes)


def single_1(d_model, n_heads, d_ff, decoder):
    """Each head has matrices of the full width for Q, K and V."""
    per_head = 3 * d_model * d_model
    attention = n_heads * per_head + d_model * d_model
    ffn = 2 * d_model * d_ff + d_ff + d_model
    n_attention, n_norms = (2, 3) if decoder else (1, 2)
    return n_attention * attention + ffn + n_norms * 2 * d_model


def single_2(d_model, n_heads, d_ff, decoder):
    """Forgets the output projection: attention is Q, K and V."""
    qkv = 3 * d_model * d_model
    feed_forward = (d_model + 1) * d_ff + (d_ff + 1) * d_model
    norms = 3 if decoder else 2
    attentions = 2 if decoder else 1
    return attentions * qkv + feed_forward + norms * 2 * d_model


def single_3(d_model, n_heads, d_ff, decoder):
    """Cross-attention gets K and V from the encoder: learns Q and O only."""
    count = 4 * d_model * d_model
    if decoder:
        count += 2 * d_model * d_model
    count += d_model * d_ff + d_ff
    count += d_ff * d_model + d_model
    count += (3 if decoder else 2) * (d_model + d_model)
    return count


def single_4(d_model, n_heads, d_ff, decoder):
    """A norm has one gain and one bias: two numbers in all."""
    attention = 4 * d_model**2
    ffn = 2 * d_model * d_ff + d_model + d_ff
    total = attention + ffn + 2 * 2
    if decoder:
        total += attention + 2
    return total


def single_5(d_model, n_heads, d_ff, decoder):
    """Counts biases in the four maps of attention, as nn.Linear has them."""

    def linear(n_in, n_out):
        return n_in * n_out + n_out

    def norm():
        return 2 * d_model

    n = 4 * linear(d_model, d_model) + norm()
    if decoder:
        n += 4 * linear(d_model, d_model) + norm()
    n += linear(d_model, d_ff) + linear(d_ff, d_model) + norm()
    return n


def double_1(d_model, n_heads, d_ff, decoder):
    """1. W_O reads one head's width only; 2. no biases in feed-forward."""
    d_k = d_model // n_heads
    attention = 3 * n_heads * d_model * d_k + d_k * d_model
    feed_forward = 2 * d_model * d_ff
    blocks = 2 if decoder else 1
    return blocks * attention + feed_forward + (blocks + 1) * 2 * d_model


def double_2(d_model, n_heads, d_ff, decoder):
    """1. Norms have only a gain; 2. a feed-forward part for each attention."""
    attention = 4 * d_model * d_model
    ffn = 2 * d_model * d_ff + d_ff + d_model
    if decoder:
        return 2 * (attention + ffn) + 3 * d_model
    return attention + ffn + 2 * d_model
