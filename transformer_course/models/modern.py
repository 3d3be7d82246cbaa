"""A decoder of today, whole (chapter 22).

Pre-norm with RMSNorm, rotary positions, keys and values shared by groups of
query heads, a feed-forward network with a gate, and a cache that is reserved
ahead: Llama's parts (Touvron et al. 2023). Windows and normalised queries and
keys are switched on by the config. Weights of SmolLM2 fit into it: see
``training.smollm2``.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.models.attention import Keys, KVCache, Values
from transformer_course.models.layers import Stream, check_ids
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.transformer import DecoderCache, DecoderOnly

MIN_ROOM = 64
"""Positions that a cache reserves at first."""
Rotation = tuple[Float[Tensor, "length half"], Float[Tensor, "length half"]]
"""Cosines and sines of the angles of each position."""


def rotations(
    positions: Int[Tensor, " length"], d_head: int, base: float
) -> Rotation:
    """Cosine and sine of position p times base^(-2i / d_head).

    Su et al. 2021, section 3.2.2; there the base is 10,000.
    """
    powers = torch.arange(0, d_head, 2, device=positions.device) / d_head
    angles = positions[:, None] * base**-powers
    return angles.cos(), angles.sin()


def rotate(
    x: Float[Tensor, "batch heads length d_head"], by: Rotation
) -> Float[Tensor, "batch heads length d_head"]:
    """Turn each pair of neighbouring numbers by its position's angle."""
    (cos, sin), even, odd = by, x[..., 0::2], x[..., 1::2]
    turned = [even * cos - odd * sin, even * sin + odd * cos]
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)


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
        value: Float[Tensor, "batch heads newest d_value"],
    ) -> tuple[Keys, Values]:
        """Store the newest positions; return all that they may attend to.

        They are in order, unless a single position closes a full window,
        whose keys it sees all.
        """
        before, self.seen = self.seen, self.seen + key.size(2)
        self.key, seen_keys = self._store(self.key, key, before)
        self.value, seen_values = self._store(self.value, value, before)
        return seen_keys, seen_values

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
            held = min(before, window)
            first = before % window if before > window else 0
            new = torch.cat([kept[:, :, :held].roll(-first, 2), new], dim=2)
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


class Attention(nn.Module):
    """Causal self-attention whose heads share keys and values in groups.

    Ainslie et al. 2023 (grouped-query attention); chapter 22.

    Args:
        config: settings.
        window: positions that each query sees; None has no limit.
    """

    def __init__(self, config: ModernConfig, window: int | None):
        super().__init__()
        d_model, self.d_head = config.d_model, config.d_head
        shared = config.n_kv_heads * self.d_head
        self.window = window
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, shared, bias=False)
        self.to_value = nn.Linear(d_model, shared, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)
        self.query_norm = self.key_norm = nn.Identity()
        if config.qk_norm:
            self.query_norm = nn.RMSNorm(self.d_head, config.norm_epsilon)
            self.key_norm = nn.RMSNorm(self.d_head, config.norm_epsilon)

    def forward(
        self, x: Stream, turns: Rotation, cache: KVCache | None = None
    ) -> Stream:
        """What each position takes from those that it may see."""
        query = rotate(self.query_norm(self._heads(self.to_query(x))), turns)
        key = rotate(self.key_norm(self._heads(self.to_key(x))), turns)
        value = self._heads(self.to_value(x))
        if cache is not None:
            key, value = cache.extend(key, value)
        queries, keys = query.size(2), key.size(2)
        mask, causal = None, queries > 1
        if causal and (keys > queries or (self.window or keys) < keys):
            mask = window_mask(queries, keys, self.window, x.device)
            causal = False
        output = F.scaled_dot_product_attention(
            query, key, value, mask, is_causal=causal, enable_gqa=True
        )
        return self.to_output(output.transpose(1, 2).flatten(2))

    def _heads(self, x: Stream) -> Float[Tensor, "batch heads length d_head"]:
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)


class GatedFeedForward(nn.Module):
    """SwiGLU: (silu(x G) ⊙ x W) V, without biases (Shazeer 2020).

    Args:
        d_model: width of input and output.
        d_ff: width inside; with three matrices, two thirds of what two have.
    """

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.widen = nn.Linear(d_model, d_ff, bias=False)
        self.narrow = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Stream) -> Stream:
        """Each position, by itself."""
        return self.narrow(F.silu(self.gate(x)) * self.widen(x))


class ModernLayer(nn.Module):
    """Attention, then feed-forward, each behind a norm of its own.

    Args:
        config: settings.
        window: positions that each query sees; None has no limit.
    """

    def __init__(self, config: ModernConfig, window: int | None):
        super().__init__()
        self.norm_1 = nn.RMSNorm(config.d_model, config.norm_epsilon)
        self.attention = Attention(config, window)
        self.norm_2 = nn.RMSNorm(config.d_model, config.norm_epsilon)
        self.feed_forward = GatedFeedForward(config.d_model, config.d_ff)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Stream, turns: Rotation, cache: KVCache | None = None
    ) -> Stream:
        """Add both to the stream."""
        y = self.attention(self.norm_1(x), turns, cache)
        x = x + self.dropout(y)
        return x + self.dropout(self.feed_forward(self.norm_2(x)))


class ModernLanguageModel(DecoderOnly):
    """A decoder of today, which continues a text.

    Args:
        config: settings.
    """

    logits_are_linear = True

    def __init__(self, config: ModernConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.layers = nn.ModuleList(
            ModernLayer(config, config.window_of(i))
            for i in range(config.n_layers)
        )
        self.norm = nn.RMSNorm(config.d_model, config.norm_epsilon)
        self.to_logits = nn.Linear(
            config.d_model, config.vocab_size, bias=False
        )
        for name, weight in self.named_parameters():
            if weight.dim() == 2:  # what adds to the stream begins smaller
                last = name.endswith(("to_output.weight", "narrow.weight"))
                shrink = (2 * config.n_layers) ** 0.5 if last else 1.0
                nn.init.normal_(weight, std=0.02 / shrink)
        if config.tied:
            self.to_logits.weight = self.embedding.weight

    def decode(
        self,
        ids: Int[Tensor, "rows length"],
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "rows length vocab"]:
        """Logits from ids, as in :meth:`~.DecoderOnly.decode`.

        ids are padded on the right; no mask hides padding, because nothing
        before it can see it.
        """
        config, past = self.config, 0 if cache is None else cache.length
        check_ids(ids, config.vocab_size)
        positions = torch.arange(past, past + ids.size(1), device=ids.device)
        turns = rotations(positions, config.d_head, config.rope_base)
        x = self.embedding(ids)
        for i, layer in enumerate(self.layers):
            x = layer(x, turns, cache and cache.layers[i].own)
        return self.to_logits(self.norm(x))

    def new_cache(self) -> DecoderCache:
        """An empty cache for :meth:`decode`."""
        cache = super().new_cache()
        for i, layer in enumerate(cache.layers):
            layer.own = RollingCache(self.config.window_of(i))
        return cache
