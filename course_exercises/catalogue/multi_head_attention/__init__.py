"""Chapter 07: multi-head attention."""

import torch
from torch import Tensor

SPLITTING = "07_multi_head_attention#splitting-and-merging"
FORMULA = "07_multi_head_attention#the-formula-and-its-sizes"


def numbered(*shape: int) -> Tensor:
    """Numbers from 0 on, to be followed through reshaping."""
    return torch.arange(float(torch.Size(shape).numel())).view(shape)
