"""Activation patching by head and by position (chapter 20).

Two batches differ in one word. A model reads one of them, and one thing in it
is replaced by what it was in the other: a score says how much that matters.
"""

from collections.abc import Callable, Collection, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.interpretation.hooks import (
    Head,
    head_outputs,
    patch_heads,
)
from transformer_course.models.masks import padding_mask
from transformer_course.models.transformer import Transformer

Score = Callable[[Float[Tensor, "batch target vocab"]], float]
"""From logits to a number."""


@torch.no_grad()
def patch_positions(
    model: nn.Module,
    inputs: Sequence[Tensor],
    others: Sequence[Tensor],
    score: Score,
    heads: Collection[Head] | None = None,
) -> dict[Head, Float[Tensor, " query"]]:
    """Patch each head at each position, one at a time.

    Args:
        model: with attention layers, in evaluation mode.
        inputs: what it reads.
        others: of the same shapes; what is patched in was computed for them.
        score: of the logits.
        heads: all of the model's when None.

    Returns:
        For each head the score at each of its query positions.
    """
    own, other = head_outputs(model, *inputs), head_outputs(model, *others)
    found = {}
    for head in own if heads is None else heads:
        output, scores = own[head], []
        for position in range(output.size(1)):
            mixed = output.clone()
            mixed[:, position] = other[head][:, position]
            with patch_heads(model, {head: mixed}):
                scores.append(score(model(*inputs)))
        found[head] = torch.tensor(scores)
    return found


@torch.no_grad()
def patch_memory(
    model: Transformer,
    inputs: tuple[Tensor, Tensor],
    others: tuple[Tensor, Tensor],
    score: Score,
) -> Float[Tensor, " source"]:
    """Patch the encoder's output at each source position, one at a time.

    Args:
        model: in evaluation mode.
        inputs: source and target ids.
        others: of the same shapes; only their source is read.
        score: of the logits.
    """
    src, tgt_in = inputs
    own, other = model.encode(src), model.encode(others[0])
    mask = padding_mask(src, model.config.pad_id)
    scores = []
    for position in range(src.size(1)):
        mixed = own.clone()
        mixed[:, position] = other[:, position]
        scores.append(score(model.decode(tgt_in, mixed, mask)))
    return torch.tensor(scores)
