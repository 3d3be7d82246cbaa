"""What happens inside a model, written down while it happens (chapter 10)."""

from typing import Any

import torch
from torch import nn

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
