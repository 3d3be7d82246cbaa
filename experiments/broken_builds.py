"""Chapter 10's Transformer, and what is wrong with a copy of it.

The four classes are those that the chapter builds by hand, to the letter; the
chapter checks that. A mistake is one edit of their text.
"""

import inspect

from torch import nn

from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.layers import (
    AddNorm,
    FeedForward,
    TokenEmbedding,
)
from transformer_course.models.masks import causal_mask, padding_mask
from transformer_course.models.positional_encoding import sinusoidal_encoding


class MyEncoderLayer(nn.Module):
    def __init__(self, d, h, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d, h)
        self.feed_forward = FeedForward(d, d_ff)
        self.add_norm_1, self.add_norm_2 = AddNorm(d), AddNorm(d)

    def forward(self, x, mask):
        x = self.add_norm_1(x, lambda y: self.self_attention(y, mask=mask))
        return self.add_norm_2(x, self.feed_forward)


class MyDecoderLayer(nn.Module):
    def __init__(self, d, h, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d, h)
        self.cross_attention = MultiHeadAttention(d, h)
        self.feed_forward = FeedForward(d, d_ff)
        self.add_norm_1, self.add_norm_2 = AddNorm(d), AddNorm(d)
        self.add_norm_3 = AddNorm(d)

    def forward(self, x, memory, mask, src_mask):
        x = self.add_norm_1(x, lambda y: self.self_attention(y, mask=mask))
        x = self.add_norm_2(
            x, lambda y: self.cross_attention(y, memory, mask=src_mask)
        )
        return self.add_norm_3(x, self.feed_forward)


class MyStack(nn.Module):
    def __init__(self, kind, N, *sizes):
        super().__init__()
        self.layers = nn.ModuleList(kind(*sizes) for _ in range(N))

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return x


class MyTransformer(nn.Module):
    def __init__(self, vocab, d, h, d_ff, N):
        super().__init__()
        self.d = d
        self.embed = TokenEmbedding(vocab, d)
        self.encoder = MyStack(MyEncoderLayer, N, d, h, d_ff)
        self.decoder = MyStack(MyDecoderLayer, N, d, h, d_ff)

    def start(self, ids):
        return self.embed(ids) + sinusoidal_encoding(ids.size(1), self.d)

    def encode(self, src):
        src_mask = padding_mask(src)
        return self.encoder(self.start(src), src_mask)

    def decode(self, tgt, memory, src_mask):
        mask = causal_mask(tgt.size(1)) & padding_mask(tgt)
        x = self.decoder(self.start(tgt), memory, mask, src_mask)
        return x @ self.embed.weight.T

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), padding_mask(src))


BUILT = (MyEncoderLayer, MyDecoderLayer, MyStack, MyTransformer)
TEXT = "\n\n".join(map(inspect.getsource, BUILT))
"""The text of the four classes."""
STACK = "nn.ModuleList(kind(*sizes) for _ in range(N))"
LOOP = "x = layer(x, *others)\n        return x"
CROSS = "(y, memory, mask=src_mask)"
HEADS = "cross_attention = MultiHeadAttention(d, h)"
FEED = "return self.add_norm_2(x, self.feed_forward)"
TABLE = "self.embed = TokenEmbedding(vocab, d)"
MISTAKES = {
    "no causal mask": ("causal_mask(tgt.size(1)) & ", ""),
    "causal mask inverted": ("= causal_mask(", "= ~causal_mask("),
    "target's padding not hidden": (" & padding_mask(tgt)", ""),
    "encoder sees padding": ("(src), src_mask", "(src), None"),
    "decoder sees the source's padding": (CROSS, "(y, memory)"),
    "cross-attention to the target": (CROSS, "(y)"),
    "query and memory swapped": (CROSS, "(memory, y)"),
    "cross-attention with one head": (HEADS, HEADS.replace("h)", "1)")),
    "one layer, N times": (STACK, "nn.ModuleList([kind(*sizes)] * N)"),
    "layers in a plain list": (STACK, "[kind(*sizes) for _ in range(N)]"),
    "every layer reads the first x": (
        LOOP,
        "y = layer(x, *others)\n        return y",
    ),
    "rows of the batch mixed": (LOOP, LOOP + " + x.mean(0)"),
    "one residual forgotten": (
        FEED,
        "return self.add_norm_2.norm(self.feed_forward(x))",
    ),
    "pre-norm, no last norm": ("AddNorm(d)", "AddNorm(d, 0.0, True)"),
    "no positions": (" + sinusoidal_encoding(ids.size(1), self.d)", ""),
    "embedding from N(0, 1)": (
        TABLE,
        TABLE + "; nn.init.normal_(self.embed.weight)",
    ),
    "softmax at the end": (
        "return x @ self.embed.weight.T",
        "return (x @ self.embed.weight.T).softmax(dim=-1)",
    ),
}
"""By name: what stands in the text, and what is put in its place."""


def broken(name: str) -> type[nn.Module]:
    """The Transformer with one of the mistakes."""
    old, new = MISTAKES[name]
    made = dict(globals())
    exec(TEXT.replace(old, new), made)
    return made["MyTransformer"]
