"""Put a model into eval mode and restore its previous mode."""

import contextlib
import functools
from collections.abc import Callable, Iterator

import torch
from torch import nn


@contextlib.contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Context manager: eval mode inside, the previous mode afterwards."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def for_inference(function: Callable) -> Callable:
    """Decorator: no gradients, and the first argument, a model, in eval mode.

    A model in training mode would drop numbers at random.
    """

    @torch.inference_mode()
    @functools.wraps(function)
    def call(model: nn.Module, *args, **kwargs):
        with eval_mode(model):
            return function(model, *args, **kwargs)

    return call
