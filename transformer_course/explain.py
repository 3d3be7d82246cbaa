"""What happens inside a model, written down while it happens (chapter 10)."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.masks import padding_mask
from transformer_course.transformer import Transformer

Record = dict[str, Any]


def record(model: nn.Module, *inputs: Any) -> tuple[Record, Record]:
    """What each part of a model is given, and what it gives, in one call.

    PyTorch calls a *hook* whenever a part has done its work, and shows it
    what went in and what came out. Gradients are off; training or evaluation
    mode stays as it is. Chapter 10.

    Args:
        model: any module.
        inputs: what to call it with.

    Returns:
        Two dictionaries by the names of ``model.named_modules()``: each
        part's inputs (those given by position, as a tuple), and its output.
        The whole model's name is "". A part that is called more than once
        has its last call here.
    """
    given: Record = {}
    gave: Record = {}

    def hook_for(name):
        def keep(part, inputs, output):
            given[name], gave[name] = inputs, output

        return keep

    hooks = [
        part.register_forward_hook(hook_for(name))
        for name, part in model.named_modules()
    ]
    try:
        with torch.no_grad():
            model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return given, gave


def cross_attention(
    model: Transformer,
    src: Int[Tensor, "batch source"],
    tgt_in: Int[Tensor, "batch target"],
) -> Float[Tensor, "batch layer head target source"]:
    """How much each step of writing looks at each source token, everywhere.

    Row t is the step that reads ``tgt_in[t]`` and predicts the token after
    it. Chapter 15.

    Args:
        model: with an encoder; training or evaluation mode stays as it is.
        src: source ids.
        tgt_in: target ids, from bos on.
    """
    given, _ = record(model, src, tgt_in)
    mask = padding_mask(src, model.config.pad_id)
    found = []
    for i, layer in enumerate(model.decoder.layers):
        query, memory = given[f"decoder.layers.{i}.cross_attention"]
        with torch.no_grad():
            _, weights = layer.cross_attention(
                query, memory, mask=mask, return_weights=True
            )
        found.append(weights)
    return torch.stack(found, dim=1)
