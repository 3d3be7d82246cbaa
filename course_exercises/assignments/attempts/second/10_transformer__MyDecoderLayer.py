from torch import nn

from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.layers import FeedForward, LayerNorm


class Right1(nn.Module):
    """One line for each part."""

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
    """Loops over pairs of a part and its norm."""

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
            (lambda h: self.self_attention(h, h, mask=mask), self.norm_1),
            (
                lambda h: self.cross_attention(h, memory, mask=src_mask),
                self.norm_2,
            ),
            (self.feed_forward, self.norm_3),
        ]
        for part, norm in parts:
            answer = part(x)
            x = norm(answer + x)
        return x


class Single1(nn.Module):
    """Believes the encoder has hidden the padding of memory already."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        attended = self.self_attention(x, mask=mask)
        x = self.norm_1(x + attended)
        crossed = self.cross_attention(x, memory)
        x = self.norm_2(x + crossed)
        return self.norm_3(x + self.feed_forward(x))


class Single2(nn.Module):
    """No sum at cross-attention: what the source says takes over."""

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


class Single3(nn.Module):
    """Norms what each part reads (pre-norm, as in GPT-2)."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        h = self.norm_1(x)
        x = x + self.self_attention(h, mask=mask)
        h = self.norm_2(x)
        x = x + self.cross_attention(h, memory, mask=src_mask)
        h = self.norm_3(x)
        return x + self.feed_forward(h)


class Single4(nn.Module):
    """Looks at the source first, then at the words written."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        source = self.cross_attention(x, memory, mask=src_mask)
        x = self.norm_2(x + source)
        own = self.self_attention(x, mask=mask)
        x = self.norm_1(x + own)
        return self.norm_3(x + self.feed_forward(x))


class Single5(nn.Module):
    """The sum at cross-attention takes the layer's own input."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        residual = x
        q = self.norm_1(residual + self.self_attention(x, mask=mask))
        c = self.cross_attention(q, memory, mask=src_mask)
        c = self.norm_2(residual + c)
        return self.norm_3(c + self.feed_forward(c))


class Double1(nn.Module):
    """1. Cross-attention asks with the layer's input; 2. no last norm."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        y = self.norm_1(x + self.self_attention(x, mask=mask))
        z = self.cross_attention(x, memory, mask=src_mask)
        z = self.norm_2(y + z)
        return z + self.feed_forward(z)


class Double2(nn.Module):
    """1. Self-attention has no mask; 2. no sum at feed-forward."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x))
        x = self.norm_2(x + self.cross_attention(x, memory, mask=src_mask))
        out = self.feed_forward(x)
        return self.norm_3(out)
