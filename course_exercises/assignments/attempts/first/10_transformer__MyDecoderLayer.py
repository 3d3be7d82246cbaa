from torch import nn

from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.layers import FeedForward, LayerNorm


class Right1(nn.Module):
    """Three lines, norm of the sum."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        x = self.norm_2(x + self.cross_attention(x, memory, mask=src_mask))
        return self.norm_3(x + self.feed_forward(x))


class Right2(nn.Module):
    """A loop over the parts, each with its norm."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        parts = [
            (lambda s: self.self_attention(s, s, mask=mask), self.norm_1),
            (
                lambda s: self.cross_attention(s, memory, mask=src_mask),
                self.norm_2,
            ),
            (self.feed_forward, self.norm_3),
        ]
        stream = x
        for part, norm in parts:
            stream = norm(stream + part(stream))
        return stream


class Single1(nn.Module):
    """Cross-attention without the mask of the source."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        x = self.norm_2(x + self.cross_attention(x, memory))
        x = self.norm_3(x + self.feed_forward(x))
        return x


class Single2(nn.Module):
    """Cross-attention asks with the x that came into the layer."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        own = self.norm_1(x + self.self_attention(x, mask=mask))
        other = self.cross_attention(x, memory, mask=src_mask)
        both = self.norm_2(own + other)
        return self.norm_3(both + self.feed_forward(both))


class Single3(nn.Module):
    """No sum around cross-attention: it brings something new."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        x = self.norm_2(self.cross_attention(x, memory, mask=src_mask))
        x = self.norm_3(x + self.feed_forward(x))
        return x


class Single4(nn.Module):
    """Cross-attention first, self-attention second."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        read = self.cross_attention(x, memory, mask=src_mask)
        x = self.norm_1(x + read)
        read = self.self_attention(x, mask=mask)
        x = self.norm_2(x + read)
        return self.norm_3(x + self.feed_forward(x))


class Single5(nn.Module):
    """Calls the same attention, with the same weights, twice."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        attend = self.self_attention
        a = attend(x, x, mask=mask)
        x = self.norm_1(a + x)
        b = attend(x, memory, mask=src_mask)
        x = self.norm_2(b + x)
        c = self.feed_forward(x)
        return self.norm_3(c + x)


class Double1(nn.Module):
    """1. Pre-norm; 2. self-attention without a mask."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        normed = self.norm_1(x)
        x = x + self.self_attention(normed)
        normed = self.norm_2(x)
        x = x + self.cross_attention(normed, memory, mask=src_mask)
        normed = self.norm_3(x)
        return x + self.feed_forward(normed)


class Double2(nn.Module):
    """1. Norms the memory as well; 2. last sum takes the first x."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        h = self.norm_1(x + self.self_attention(x, mask=mask))
        memory = self.norm_2(memory)
        h = self.norm_2(h + self.cross_attention(h, memory, mask=src_mask))
        return self.norm_3(x + self.feed_forward(h))
