"""Attention masks. True means "may attend".

**True means "may attend"**, as in ``F.scaled_dot_product_attention``. Masks
broadcast against scores of shape ``(batch, heads, query, key)`` and are joined
with ``&``. Chapter 06 derives them.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def padding_mask(
    ids: Int[Tensor, "batch key"], pad_id: int = 0
) -> Bool[Tensor, "batch 1 1 key"]:
    """True at every real token, False at padding.

    The same row serves every head and every query, hence the two axes of
    size 1.
    """
    return (ids != pad_id)[:, None, None, :]


def causal_mask(
    length: int, device: torch.device | None = None
) -> Bool[Tensor, "1 1 query key"]:
    """True where the key is not later than the query.

    Row ``i`` says what token ``i`` may look at: tokens ``0`` to ``i``
    (Vaswani et al. 2017, section 3.2.3, third use of attention).
    """
    ones = torch.ones(length, length, dtype=torch.bool, device=device)
    return ones.tril()[None, None]


def open_empty_rows(
    mask: Bool[Tensor, "*mask"],
) -> tuple[Bool[Tensor, "*mask"], Bool[Tensor, "*reachable"]]:
    """Make a mask safe for softmax, and say which rows were empty.

    A softmax over a row that may attend nowhere is 0/0. This package defines
    such a row's output as zeros: the row is opened here, so that the softmax
    is finite and so is its gradient, and its result is then set to zero.

    Returns:
        The mask with its empty rows opened, and True for each row that may
        attend somewhere.
    """
    reachable = mask.any(dim=-1, keepdim=True)
    return mask | ~reachable, reachable
