"""The parts of chapters 02, 08 and 09, until the catalogue has them."""

import math

import torch
from torch import Tensor, nn


class Embedding(nn.Module):
    """A vector for each id, times the root of d_model."""

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        weight = torch.randn(vocab_size, d_model) / math.sqrt(d_model)
        self.weight = nn.Parameter(weight)

    def forward(self, ids: Tensor) -> Tensor:
        """Look the ids up."""
        return self.weight[ids] * math.sqrt(self.weight.size(1))


class LayerNorm(nn.Module):
    """Layer normalisation."""

    def __init__(self, d_model: int):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.epsilon = 1e-5

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each row."""
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        return self.gain * centred / (variance + self.epsilon).sqrt() + (
            self.bias
        )


class AddNorm(nn.Module):
    """The norm of a sum."""

    def __init__(self, d_model: int):
        super().__init__()
        self.norm = LayerNorm(d_model)

    def forward(self, x: Tensor, answer: Tensor) -> Tensor:
        """Add, then normalise."""
        return self.norm(x + answer)


class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.up_proj = nn.Linear(d_model, d_ff)
        self.down_proj = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each row by itself."""
        return self.down_proj(self.up_proj(x).relu())
