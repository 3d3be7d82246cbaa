"""Models whose weights come from a file: shapes, without first weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class _NoInit(TorchFunctionMode):
    """Leaves tensors as they are where torch.nn.init would fill them.

    On the meta device each such call does nothing either, but the first one
    imports PyTorch's compiler, which takes over a second.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if getattr(func, "__module__", None) == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


@contextmanager
def init_empty_weights() -> Iterator[None]:
    """Models built here have parameters of the right shapes, without memory.

    To be filled by ``load_state_dict(weights, assign=True)``.
    """
    with _NoInit(), torch.device("meta"):
        yield
