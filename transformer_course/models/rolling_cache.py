"""A cache whose memory is reserved ahead, and bounded by a window."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_course.errors import ConfigError
from transformer_course.models.attention import Keys, KVCache

MIN_ROOM = 64
"""Positions that a cache reserves at first."""


class RollingCache(KVCache):
    """Keys and values of one layer, in memory that is reserved ahead.

    With a window, the newest positions take the room of the oldest (Jiang et
    al. 2023, section 2): position p lies at p modulo the window.

    Args:
        window: positions that are kept; None keeps all.
    """

    def __init__(self, window: int | None = None):
        super().__init__()
        self.window, self.seen = window, 0

    @property
    def length(self) -> int:
        """Number of positions seen so far, kept or not."""
        return self.seen

    def extend(
        self,
        key: Float[Tensor, "batch heads newest d_head"],
        value: Float[Tensor, "batch of_values newest d_value"],
    ) -> tuple[Keys, Float[Tensor, "batch of_values key d_value"]]:
        """Store the newest positions; return all that they may attend to.

        They are in order, unless a single position closes a full window,
        whose keys it sees all.
        """
        before, self.seen = self.seen, self.seen + key.size(2)
        self.key, seen_keys = self._store(self.key, key, before)
        self.value, seen_values = self._store(self.value, value, before)
        return seen_keys, seen_values

    def cut(self, length: int) -> None:
        """Keep the first ``length`` positions.

        Raises:
            ConfigError: a full window has overwritten older ones.
        """
        if self.window is not None and self.seen > self.window:
            raise ConfigError(
                f"the cache cannot be cut back to {length} positions: its "
                f"window of {self.window} has forgotten older ones."
            )
        self.seen = min(self.seen, length)

    def _store(
        self, kept: Tensor | None, new: Tensor, before: int
    ) -> tuple[Tensor, Tensor]:
        """The memory after the newest positions, and what they may see."""
        window, count = self.window, new.size(2)
        if window is None or self.seen <= window:
            kept = self._with_room(kept, new)
            kept[:, :, before : self.seen] = new
            return kept, kept[:, :, : self.seen]
        if count == 1:
            kept[:, :, before % window] = new[:, :, 0]
            return kept, kept
        if before:
            held = kept[:, :, : min(before, window)]
            # the oldest first; a part that is not full turns a whole round
            new = torch.cat([held.roll(-(before % window), 2), new], dim=2)
        return new[:, :, -window:].roll(self.seen % window, 2), new

    def _with_room(self, kept: Tensor | None, new: Tensor) -> Tensor:
        """The memory, doubled if the newest positions do not fit."""
        room = 0 if kept is None else kept.size(2)
        if self.seen <= room:
            return kept
        room = max(self.seen, 2 * room, MIN_ROOM)
        room = room if self.window is None else min(room, self.window)
        larger = new.new_empty(*new.shape[:2], room, new.size(3))
        if kept is not None:
            larger[:, :, : kept.size(2)] = kept
        return larger


def window_mask(
    queries: int, keys: int, window: int | None, device: torch.device
) -> Bool[Tensor, "query key"]:
    """Where the last of ``keys`` positions may look: back, and not too far."""
    position = torch.arange(keys, device=device)
    distance = position[keys - queries :, None] - position
    return (distance >= 0) & (distance < (window or keys))


def mask_or_causal(
    queries: int, keys: int, window: int | None, device: torch.device
) -> tuple[Bool[Tensor, "query key"] | None, bool]:
    """A mask, or None, and whether PyTorch is told ``is_causal`` instead.

    A mask only where one is needed: kernels that never store the scores take
    none.
    """
    if queries == 1:
        return None, False
    if queries == keys <= (window or keys):
        return None, True
    return window_mask(queries, keys, window, device), False
