from torch import nn

from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.layers import FeedForward, LayerNorm


class Right1(nn.Module):
    """Two lines, norm of the sum."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        return self.norm_2(x + self.feed_forward(x))


class Right2(nn.Module):
    """A helper that adds and norms; x is its own memory."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def add_and_norm(self, norm, stream, answer):
        return norm(stream + answer)

    def forward(self, x, mask):
        read = self.self_attention(x, x, mask=mask)
        middle = self.add_and_norm(self.norm_1, x, read)
        thought = self.feed_forward(middle)
        return self.add_and_norm(self.norm_2, middle, thought)


class Single1(nn.Module):
    """Pre-norm, as in most newer code."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        x = x + self.self_attention(self.norm_1(x), mask=mask)
        x = x + self.feed_forward(self.norm_2(x))
        return x


class Single2(nn.Module):
    """The second sum takes the input of the layer again."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        attended = self.norm_1(x + self.self_attention(x, mask=mask))
        out = self.feed_forward(attended)
        return self.norm_2(x + out)


class Single3(nn.Module):
    """Does not hand the mask on: an encoder may look at all."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        attention = self.self_attention(x)
        x = self.norm_1(x + attention)
        feed = self.feed_forward(x)
        x = self.norm_2(x + feed)
        return x


class Single4(nn.Module):
    """Adds after the norm: x + norm(answer)."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        x = x + self.norm_1(self.self_attention(x, mask=mask))
        x = x + self.norm_2(self.feed_forward(x))
        return x


class Single5(nn.Module):
    """Forgets the sum around the feed-forward part."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        h = self.self_attention(x, mask=mask) + x
        h = self.norm_1(h)
        h = self.feed_forward(h)
        return self.norm_2(h)


class Double1(nn.Module):
    """1. Inverts the mask, True = hide; 2. no first norm."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        x = x + self.self_attention(x, mask=~mask)
        return self.norm_2(x + self.feed_forward(x))


class Double2(nn.Module):
    """1. Feed-forward in front of attention; 2. norm_1 for both."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        x = self.norm_1(x + self.feed_forward(x))
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        return x
