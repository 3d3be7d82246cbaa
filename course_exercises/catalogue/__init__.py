"""The exercises: solutions, cases and mistakes that people make.

A folder holds the exercises of a chapter, each in a file of its own under the
name ``EXERCISE``; its hints and mistakes stand beside it, in
``NAME.mistakes.md``. ``contents`` lists the exercises.
"""

import torch
from torch import Tensor


def numbered(*shape: int) -> Tensor:
    """A tensor of 0, 1, 2, …, to see where each entry goes."""
    return torch.arange(float(torch.Size(shape).numel())).view(shape)
