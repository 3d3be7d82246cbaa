"""Random inputs that are the same on every machine."""

import random
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


class Draw:
    """Draw sizes, tensors, token ids and masks, from a seed."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self._generator = torch.Generator().manual_seed(seed)

    def size(self, low: int, high: int) -> int:
        """An int from ``low`` to ``high``, both included."""
        return self._random.randint(low, high)

    def choice(self, options: Sequence[Any]) -> Any:
        """One of the options."""
        return self._random.choice(options)

    def normal(self, *shape: int) -> Tensor:
        """A tensor drawn from the standard normal distribution."""
        return torch.randn(shape, generator=self._generator)

    def ids(
        self, rows: int, length: int, pad_id: int = 0, vocab_size: int = 20
    ) -> Tensor:
        """Sentences of 1 to ``length`` tokens, padded on the right.

        No token of a sentence is ``pad_id``.
        """
        ids = torch.randint(
            vocab_size - 1, (rows, length), generator=self._generator
        )
        ids += ids >= pad_id  # every number but pad_id
        for row in ids:
            row[self.size(1, length) :] = pad_id
        return ids

    def mask(self, *shape: int, share: float = 0.6) -> Tensor:
        """A mask that is True with probability ``share``."""
        return torch.rand(shape, generator=self._generator) < share
