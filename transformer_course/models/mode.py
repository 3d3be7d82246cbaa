"""Evaluation mode: dropout off while a model is used, and only then."""

import contextlib
from collections.abc import Iterator

from torch import nn


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode, and back as it was, come what may."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
