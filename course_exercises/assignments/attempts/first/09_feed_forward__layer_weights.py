def right_1(d_model, n_heads, d_ff, decoder):
    """Adds up attention, feed-forward and norms."""
    attention = 4 * d_model * d_model
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    if decoder:
        return 2 * attention + feed_forward + 3 * norm
    return attention + feed_forward + 2 * norm


def right_2(d_model, n_heads, d_ff, decoder):
    """Lists the shapes of all weights, in each head, and multiplies them."""
    d_k = d_model // n_heads
    shapes = []
    for _ in range(2 if decoder else 1):
        for _ in range(n_heads):
            shapes += [(d_model, d_k)] * 3
        shapes.append((n_heads * d_k, d_model))
    shapes += [(d_model, d_ff), (1, d_ff), (d_ff, d_model), (1, d_model)]
    shapes += [(2, d_model)] * (3 if decoder else 2)
    return sum(rows * columns for rows, columns in shapes)


def single_1(d_model, n_heads, d_ff, decoder):
    """Believes that each head has matrices of the whole width."""
    attention = 3 * n_heads * d_model**2 + d_model**2
    ffn = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    if decoder:
        return 2 * attention + ffn + 3 * norm
    return attention + ffn + 2 * norm


def single_2(d_model, n_heads, d_ff, decoder):
    """Forgets the output projection of attention."""
    n_attention = 1 + int(decoder)
    n_norms = 2 + int(decoder)
    total = n_attention * 3 * d_model**2
    total += d_model * d_ff + d_ff
    total += d_ff * d_model + d_model
    total += n_norms * 2 * d_model
    return total


def single_3(d_model, n_heads, d_ff, decoder):
    """Gives attention biases, as nn.MultiheadAttention has them."""

    def linear(n_in, n_out):
        return n_in * n_out + n_out

    attention = 4 * linear(d_model, d_model)
    ff = linear(d_model, d_ff) + linear(d_ff, d_model)
    norm = d_model + d_model
    total = attention + norm + ff + norm
    if decoder:
        total += attention + norm
    return total


def single_4(d_model, n_heads, d_ff, decoder):
    """Takes both biases of the feed-forward part to be d_ff wide."""
    attn = 4 * d_model * d_model
    ff = 2 * (d_model * d_ff + d_ff)
    ln = 2 * d_model
    return attn + ff + 2 * ln + (attn + ln if decoder else 0)


def single_5(d_model, n_heads, d_ff, decoder):
    """Thinks that cross-attention needs only a new W_Q and W_O."""
    attention = 4 * d_model**2
    cross = 2 * d_model**2
    ff = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    weights = attention + ff + 2 * norm
    if decoder:
        weights += cross + norm
    return weights


def double_1(d_model, n_heads, d_ff, decoder):
    """1. No biases in the feed-forward part; 2. a norm has a gain only."""
    n = 2 if decoder else 1
    return 4 * n * d_model**2 + 2 * d_model * d_ff + (n + 1) * d_model


def double_2(d_model, n_heads, d_ff, decoder):
    """1. Counts one head alone for Q, K, V; 2. two norms in the decoder."""
    d_k = d_model // n_heads
    attention = 3 * d_model * d_k + d_model * d_model
    ff = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norms = 2 * (2 * d_model)
    return attention * (2 if decoder else 1) + ff + norms
