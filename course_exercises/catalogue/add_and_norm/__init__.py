"""Chapter 08: add and norm."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

Stream = Float[Tensor, "*batch d_model"]

THREE = torch.tensor([3.0])
CATS = torch.tensor([1.0, 1.0, 5.0, 5.0])


def layer_normed(x: Stream) -> Stream:
    """Layer norm, without weights."""
    return F.layer_norm(x, x.shape[-1:])


def halved(x: Stream) -> Stream:
    """Stands for a norm: half of each number."""
    return x / 2


def plus_one(x: Stream) -> Stream:
    """Stands for a norm, and shows how often it is called."""
    return x + 1


def times_ten(x: Stream) -> Stream:
    """A sub-layer that treats each position alone."""
    return 10 * x


def rolled(x: Stream) -> Stream:
    """A sub-layer that shifts the features by one."""
    return x.roll(1, -1)


def squared(x: Stream) -> Stream:
    """A sub-layer that is not linear."""
    return x.square()
