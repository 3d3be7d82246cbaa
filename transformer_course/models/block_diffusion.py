"""Text by masked diffusion, whole or block by block (chapter 22).

The layers are a language model's. A mask decides what they read: all words,
or those of the own block and of the blocks before it.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_course.models.transformer import DecoderCache, LanguageModel

MASK = 1
"""The id in place of a word that is not known yet."""
Rows = Int[Tensor, "rows length"]


def block_mask(length: int, size: int) -> Bool[Tensor, "query key"]:
    """A position sees its own block, and the blocks before it."""
    block = torch.arange(length) // size
    return block[:, None] >= block


def diffusion_loss(
    model: LanguageModel, ids: Rows, size: int
) -> Float[Tensor, ""]:
    """Nats of a row at most: those of each block, behind the blocks before.

    Of each row any number of words is masked. Their mean stands for the whole
    block, which is the weight 1 / t of Sahoo et al. 2024 and of Nie et al.
    2025, section 2.1. Arriola et al. 2025 do all blocks in one pass.
    """
    total = torch.zeros((), device=ids.device)
    for end in range(size, ids.size(1) + 1, size):
        masks = torch.randint(1, size + 1, (len(ids), 1))
        masked = torch.rand(len(ids), size).argsort(dim=1) < masks
        masked = F.pad(masked, (end - size, 0)).to(ids.device)
        seen, rows = block_mask(end, size).to(ids.device), ids[:, :end]
        logits = model.decode(rows.masked_fill(masked, MASK), mask=seen)
        nats = F.cross_entropy(logits.mT, rows, reduction="none")
        weight = size / masks.to(ids.device)
        total = total + (weight * masked * nats).sum(dim=1).mean()
    return total


@torch.no_grad()
def unmask(
    model: LanguageModel,
    ids: Rows,
    steps: int,
    cache: DecoderCache | None = None,
    certain: bool = True,
) -> Iterator[Rows]:
    """Draw the masked words in steps, the most certain first.

    A step draws all of them, and keeps those that had the highest probability
    (Nie et al. 2025, section 2.4); without ``certain`` it keeps any.

    Yields:
        The rows after each step.
    """
    past = 0 if cache is None else cache.length
    seen = torch.ones(1, 1, dtype=torch.bool, device=ids.device)
    for left in range(steps, 0, -1):
        logits = model.decode(ids, cache, seen)
        if cache is not None:
            cache.cut(past)
        logits[..., MASK] = -torch.inf
        p = logits.softmax(dim=-1)
        drawn = torch.multinomial(p.flatten(0, 1), 1).view_as(ids)
        sure = p.gather(-1, drawn[..., None])[..., 0]
        sure = sure if certain else torch.rand_like(sure)
        masked = ids == MASK
        rank = sure.masked_fill(~masked, -1).argsort(dim=1, descending=True)
        few = (masked.sum(dim=1, keepdim=True) / left).ceil()
        ids = torch.where(masked & (rank.argsort(dim=1) < few), drawn, ids)
        yield ids


@torch.no_grad()
def write_blocks(
    model: LanguageModel, empty: Rows, size: int, steps: int, end: int
) -> Rows:
    """Fill masked rows block by block, until all have the id ``end``.

    Keys and values of a block that is filled are kept: no later word is seen
    by them, so they stay as they are.
    """
    cache, done = model.new_cache(), []
    seen = torch.ones(1, 1, dtype=torch.bool, device=empty.device)
    for block in empty.split(size, dim=1):
        *_, block = unmask(model, block, steps, cache)
        done.append(block)
        if (torch.cat(done, dim=1) == end).any(dim=1).all():
            break
        model.decode(block, cache, seen)
    return torch.cat(done, dim=1)
