"""Attention-only models on repeated random tokens (chapter 20).

The smallest model in which two heads of two layers work together. Elhage et
al. 2021, "A Mathematical Framework for Transformer Circuits".
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.layers import LayerNorm
from transformer_course.models.masks import causal_mask
from transformer_course.models.positional_encoding import RotaryPosition


class AttentionOnly(nn.Module):
    """A language model of attention and residual connections: no feed-forward.

    Args:
        vocab_size: number of tokens.
        n_layers: attention layers.
        d_model: width.
        n_heads: heads of each layer; positions are rotary.
    """

    def __init__(
        self,
        vocab_size: int,
        n_layers: int = 2,
        d_model: int = 64,
        n_heads: int = 4,
    ):
        super().__init__()
        rotary = RotaryPosition(d_model // n_heads)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.norms = nn.ModuleList(LayerNorm(d_model) for _ in range(n_layers))
        self.layers = nn.ModuleList(
            MultiHeadAttention(d_model, n_heads, rotary=rotary)
            for _ in range(n_layers)
        )
        self.norm = LayerNorm(d_model)
        self.to_logits = nn.Linear(d_model, vocab_size, bias=False)

    def forward(
        self, ids: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab"]:
        """Logits for the token after each token."""
        x = self.embedding(ids)
        mask = causal_mask(ids.size(1), ids.device)
        for norm, attend in zip(self.norms, self.layers, strict=True):
            x = x + attend(norm(x), mask=mask)
        return self.to_logits(self.norm(x))


def repeated(
    count: int, length: int, vocab_size: int, generator: torch.Generator
) -> Int[Tensor, "count twice_length"]:
    """Random tokens, and then the same ones again.

    Within a half no token stands twice, so that in the second half each
    token's successor is known.

    Args:
        count: of rows.
        length: of a half.
        vocab_size: tokens to draw from.
        generator: of random numbers.

    Raises:
        ConfigError: more places than tokens.
    """
    if length > vocab_size:
        raise ConfigError(
            f"{length} different tokens were asked for, but there are "
            f"{vocab_size}: give a shorter length."
        )
    drawn = torch.rand(count, vocab_size, generator=generator)
    half = drawn.argsort(dim=1)[:, :length]
    return half.repeat(1, 2)


def induction_scores(
    weights: Float[Tensor, "batch heads query key"],
) -> Float[Tensor, " heads"]:
    """Induction score: each head's weight on the token after the match.

    In the second half of :func:`repeated` tokens: one place behind where the
    same token stood before.

    Args:
        weights: of one layer, on such rows.
    """
    half = weights.size(-1) // 2
    line = weights.diagonal(1 - half, dim1=2, dim2=3)  # query - key = half - 1
    return line[..., 1:].mean(dim=(0, 2))


def previous_scores(
    weights: Float[Tensor, "batch heads query key"],
) -> Float[Tensor, " heads"]:
    """The share of each head's weight that lies on the token just before."""
    return weights.diagonal(-1, dim1=2, dim2=3).mean(dim=(0, 2))
