"""Chapter 10: layers and stacks of the Transformer."""

import torch
from torch import Tensor

SIZES = (4, 2, 8)
"""d_model, heads and d_ff of the layers that are tried."""


def real_keys(lengths: list[int], longest: int) -> Tensor:
    """A padding mask for sentences of these lengths."""
    real = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return real[:, None, None]
