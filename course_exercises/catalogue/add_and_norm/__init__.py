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
    """No norm at all, but easy to follow."""
    return x / 2


def plus_one(x: Stream) -> Stream:
    """Not a norm either; it shows how often it is called."""
    return x + 1


def times_ten(x: Stream) -> Stream:
    """A sub-layer that reads no other word."""
    return 10 * x


def rolled(x: Stream) -> Stream:
    """A sub-layer that gives each number the one before it."""
    return x.roll(1, -1)


def squared(x: Stream) -> Stream:
    """A sub-layer that is not linear."""
    return x.square()
