"""A decoder of today, whole (chapter 22).

Pre-norm with RMSNorm, rotary positions, keys and values shared by groups of
query heads, a feed-forward network with a gate, and a cache that is reserved
ahead: Llama's parts (Touvron et al. 2023). Windows, normalised queries and
keys, gates, keys and values that layers share, and the parts of
``modern_parts`` are switched on by the config. Weights of SmolLM2 fit into
it: see ``checkpoints.smollm2``.
"""

import dataclasses
import functools

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.models.attention import KVCache
from transformer_course.models.layers import HiddenStates, check_ids
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.modern_parts import (
    GatedDelta,
    HyperConnection,
    Indexer,
    Kept,
    LatentAttention,
    MixtureOfExperts,
    attend_with_sinks,
)
from transformer_course.models.positional_encoding import (
    Rotation,
    rotate,
    rotations,
    scaled_rotations,
)
from transformer_course.models.rolling_cache import (
    RollingCache,
    mask_or_causal,
    window_mask,
)
from transformer_course.models.transformer import DecoderCache, DecoderOnly

Stream = Float[Tensor, "batch length *streams d_model"]


class Attention(nn.Module):
    """Causal self-attention whose heads share keys and values in groups.

    Ainslie et al. 2023 (grouped-query attention); chapter 22.

    Args:
        config: settings.
        index: number of the layer, from 0.
    """

    def __init__(self, config: ModernConfig, index: int):
        super().__init__()
        d_model, self.d_head = config.d_model, config.d_head
        shared = config.n_kv_heads * self.d_head
        self.index, self.source = index, config.source_of(index)
        self.window = config.window_of(index)
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        if self.source == index:
            self.to_key = nn.Linear(d_model, shared, bias=False)
            self.to_value = nn.Linear(d_model, shared, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)
        self.to_gate = self.indexer = None
        if config.gated:
            self.to_gate = nn.Linear(d_model, d_model, bias=False)
        if config.index_top:
            self.indexer = Indexer(config)
        self.query_norm = self.key_norm = nn.Identity()
        if config.qk_norm:
            self.query_norm = nn.RMSNorm(self.d_head, config.norm_epsilon)
            self.key_norm = nn.RMSNorm(self.d_head, config.norm_epsilon)
        self.sinks = None
        if config.sinks:
            self.sinks = nn.Parameter(torch.zeros(config.n_heads))

    def forward(
        self,
        x: HiddenStates,
        turns: Rotation,
        cache: KVCache | None = None,
        kept: Kept | None = None,
    ) -> HiddenStates:
        """What each position takes from those that it may see."""
        query = rotate(self.query_norm(self._heads(self.to_query(x))), turns)
        kept = {} if kept is None else kept
        if self.source == self.index:
            kept[self.index] = self._keys_and_values(x, turns, cache)
        key, value = kept[self.source]
        seen = (query.size(2), key.size(2), self.window, x.device)
        mask, causal = mask_or_causal(*seen)
        if self.indexer is not None:
            key, index_key = key[:, :-1], key[:, -1:]
            mask, causal = self.indexer(x, turns, index_key), False
        if self.sinks is None:
            output = F.scaled_dot_product_attention(
                query, key, value, mask, is_causal=causal, enable_gqa=True
            )
        else:
            mask = window_mask(*seen) if self.indexer is None else mask
            output = attend_with_sinks(query, key, value, self.sinks, mask)
        output = output.transpose(1, 2).flatten(2)
        if self.to_gate is not None:  # Qiu et al. 2025
            output = output * self.to_gate(x).sigmoid()
        return self.to_output(output)

    def _keys_and_values(
        self, x: HiddenStates, turns: Rotation, cache: KVCache | None
    ) -> tuple[Tensor, Tensor]:
        """Of all positions so far; the last head of keys is the indexer's."""
        key = rotate(self.key_norm(self._heads(self.to_key(x))), turns)
        value = self._heads(self.to_value(x))
        if self.indexer is not None:
            key = torch.cat([key, self.indexer.key(x, turns)], dim=1)
        return (key, value) if cache is None else cache.extend(key, value)

    def new_cache(self) -> KVCache:
        """An empty cache, which stays empty if the layer has no keys."""
        own = self.source == self.index
        return RollingCache(self.window) if own else KVCache()

    def _heads(
        self, x: HiddenStates
    ) -> Float[Tensor, "batch heads length d_head"]:
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)


class GatedFeedForward(nn.Module):
    """SwiGLU: (silu(x G) ⊙ x W) V, without biases (Shazeer 2020).

    Args:
        d_model: width of input and output.
        d_ff: width inside; with three matrices, two thirds of what two have.
    """

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(
        self, x: Float[Tensor, "... d_model"]
    ) -> Float[Tensor, "... d_model"]:
        """Each position, by itself."""
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class ModernLayer(nn.Module):
    """Attention, then feed-forward, each behind a norm of its own.

    Args:
        config: settings.
        index: number of the layer, from 0.
    """

    def __init__(self, config: ModernConfig, index: int):
        super().__init__()
        kind = LatentAttention if config.latent else Attention
        if config.linear and not config.is_global(index):
            kind = GatedDelta
        part = functools.partial(GatedFeedForward, config.d_model)
        self.norm_1 = nn.RMSNorm(config.d_model, config.norm_epsilon)
        self.attention = kind(config, index)
        self.norm_2 = nn.RMSNorm(config.d_model, config.norm_epsilon)
        if config.n_experts is None:
            self.feed_forward = part(config.d_ff)
        else:
            self.feed_forward = MixtureOfExperts(config, part)
        self.dropout = nn.Dropout(config.dropout)
        self.hyper_1 = self.hyper_2 = None
        if config.streams > 1:
            self.hyper_1 = HyperConnection(config)
            self.hyper_2 = HyperConnection(config)

    def forward(
        self,
        x: Stream,
        turns: Rotation,
        cache: KVCache | None = None,
        kept: Kept | None = None,
    ) -> Stream:
        """Add both to the stream, or to the streams."""

        def attend(y: HiddenStates) -> HiddenStates:
            y = self.attention(self.norm_1(y), turns, cache, kept)
            return self.dropout(y)

        def feed(y: HiddenStates) -> HiddenStates:
            return self.dropout(self.feed_forward(self.norm_2(y)))

        if self.hyper_1 is None:
            x = x + attend(x)
            return x + feed(x)
        return self.hyper_2(self.hyper_1(x, attend), feed)


class AheadLayer(nn.Module):
    """From the state for one token to that for the token after it.

    Multi-token prediction (DeepSeek-AI 2024, section 2.2): one more layer
    reads what the model would predict from, beside the token that came.

    Args:
        config: settings.
    """

    def __init__(self, config: ModernConfig):
        super().__init__()
        d_model, epsilon = config.d_model, config.norm_epsilon
        self.state_norm = nn.RMSNorm(d_model, epsilon)
        self.token_norm = nn.RMSNorm(d_model, epsilon)
        self.join = nn.Linear(2 * d_model, d_model, bias=False)
        self.layer = ModernLayer(dataclasses.replace(config, streams=1), 0)

    def forward(
        self, state: HiddenStates, token: HiddenStates, turns: Rotation
    ) -> HiddenStates:
        """One state further."""
        both = [self.state_norm(state), self.token_norm(token)]
        return self.layer(self.join(torch.cat(both, dim=-1)), turns)


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
            ModernLayer(config, i) for i in range(config.n_layers)
        )
        self.norm = nn.RMSNorm(config.d_model, config.norm_epsilon)
        self.ahead = nn.ModuleList(
            AheadLayer(config) for _ in range(config.n_ahead)
        )
        self.to_logits = nn.Linear(
            config.d_model, config.vocab_size, bias=False
        )
        for name, weight in self.named_parameters():
            if weight.dim() == 2:  # what adds to the stream begins smaller
                last = name.endswith(("to_output.weight", "down_proj.weight"))
                shrink = (2 * config.n_layers) ** 0.5 if last else 1.0
                nn.init.normal_(weight, std=0.02 / shrink)
        if config.tied:
            self.to_logits.weight = self.embedding.weight

    def decode(
        self,
        ids: Int[Tensor, "rows length"],
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "rows _ vocab"]:
        """Logits from ids, as in :meth:`~.DecoderOnly.decode`.

        ids are padded on the right; no mask hides padding, because nothing
        before it can see it.
        """
        return self.to_logits(self.norm(self.stream(ids, cache)))

    def stream(
        self,
        ids: Int[Tensor, "rows length"],
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "rows length d_model"]:
        """The residual stream above the last layer, before its norm."""
        past = 0 if cache is None else cache.length
        check_ids(ids, self.config.vocab_size)
        positions = torch.arange(past, past + ids.size(1), device=ids.device)
        turns = self._turns(positions)
        x, kept = self.embedding(ids), {}
        if self.config.streams > 1:
            x = x[:, :, None].repeat(1, 1, self.config.streams, 1)
        for i, layer in enumerate(self.layers):
            x = layer(x, turns, cache and cache.layers[i].own, kept)
        return x if x.dim() == 3 else x.mean(dim=2)

    def decode_ahead(
        self, ids: Int[Tensor, "rows length"]
    ) -> list[Float[Tensor, "rows _ vocab"]]:
        """Logits for the token after each, for the second one, and so on."""
        x = self.stream(ids)
        found = [self.to_logits(self.norm(x))]
        for layer in self.ahead:
            ids = ids[:, 1:]
            turns = self._turns(torch.arange(ids.size(1), device=ids.device))
            x = layer(x[:, :-1], self.embedding(ids), turns)
            found.append(self.to_logits(self.norm(x)))
        return found

    def new_cache(self) -> DecoderCache:
        """An empty cache for :meth:`decode`."""
        cache = super().new_cache()
        for kept, layer in zip(cache.layers, self.layers, strict=True):
            kept.own = layer.attention.new_cache()
        return cache

    def _turns(self, positions: Int[Tensor, " length"]) -> Rotation:
        """Of each position, by the config."""
        config = self.config
        width = config.d_rotary if config.latent else config.d_head
        if config.rope_scaling == "none":
            return rotations(
                positions, width, config.rope_base, config.rope_share
            )
        return scaled_rotations(
            positions,
            width,
            config.rope_base,
            config.rope_scaling,
            config.rope_factor,
            trained=config.max_length / config.rope_factor,
        )
