from torch import nn

from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.layers import FeedForward, LayerNorm


class Right1(nn.Module):
    """Attention with sum and norm, feed-forward with sum and norm."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        x = self.norm_2(x + self.feed_forward(x))
        return x


class Right2(nn.Module):
    """With a helper for sum and norm, and x as its own memory."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        attention_answer = self.self_attention(x, x, mask=mask)
        first = self._add_norm(x, attention_answer, self.norm_1)
        second = self._add_norm(first, self.feed_forward(first), self.norm_2)
        return second

    def _add_norm(self, read, answered, norm):
        total = read + answered
        return norm(total)


class Single1(nn.Module):
    """Norms the answer of a part, then adds the stream."""

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


class Single2(nn.Module):
    """No mask: the encoder may see everything."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        attended = self.norm_1(x + self.self_attention(x))
        return self.norm_2(attended + self.feed_forward(attended))


class Single3(nn.Module):
    """Feed-forward reads the layer's input, in parallel to attention."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        a = self.self_attention(x, mask=mask)
        f = self.feed_forward(x)
        y = self.norm_1(x + a)
        return self.norm_2(y + f)


class Single4(nn.Module):
    """One norm is enough: uses the first one after both parts."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        for part in ("attention", "feed_forward"):
            if part == "attention":
                answer = self.self_attention(x, mask=mask)
            else:
                answer = self.feed_forward(x)
            x = self.norm_1(x + answer)
        return x


class Single5(nn.Module):
    """Turns the mask round, as True hides in PyTorch's own attention."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        hidden = ~mask
        x = self.norm_1(x + self.self_attention(x, mask=hidden))
        return self.norm_2(x + self.feed_forward(x))


class Double1(nn.Module):
    """1. No norm after attention; 2. adds the layer's input at the end."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        h = x + self.self_attention(x, mask=mask)
        return self.norm_2(x + self.feed_forward(h))


class Double2(nn.Module):
    """1. Feed-forward comes first; 2. attention has no sum."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        x = self.norm_2(x + self.feed_forward(x))
        x = self.norm_1(self.self_attention(x, mask=mask))
        return x
