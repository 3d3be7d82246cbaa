"""Solutions, cases and mistakes: what is asked, and how it goes wrong.

A folder is a chapter's subject, a file in it is an exercise, and its name for
that is ``EXERCISE``. ``contents`` lists them.
"""

import torch
from torch import Tensor


def numbered(*shape: int) -> Tensor:
    """A tensor of 0, 1, 2, … whose entries can be followed."""
    return torch.arange(float(torch.Size(shape).numel())).view(shape)
