"""Config of a decoder of today (chapter 22)."""

from dataclasses import dataclass
from typing import Annotated

from transformer_course.checks import (
    Count,
    Positive,
    Probability,
    Size,
    between,
    require,
)
from transformer_course.models.config import (
    AnyModelConfig,
    Layers,
    RopeScaling,
    require_divisible,
)


@dataclass(frozen=True)
class ModernConfig(AnyModelConfig):
    """A decoder-only Transformer as open models of today are built.

    The defaults are a small one for the course's texts.

    Raises:
        ConfigError: ``n_heads`` does not divide ``d_model``, ``n_kv_heads``
            does not divide ``n_heads``, what is turned has an odd width,
            ``n_active`` is more than ``n_experts``, or parts are asked for
            that do not go together.
    """

    vocab_size: Size = 8000
    """Number of pieces, the special ones included."""
    d_model: Size = 256
    """Width of the residual stream."""
    n_heads: Size = 8
    """Heads of queries; each is d_model / n_heads wide."""
    n_kv_heads: Size = 2
    """Heads of keys and values, each shared by a group of query heads."""
    d_ff: Size = 688
    """Width inside the feed-forward network, which has three matrices."""
    n_layers: Layers = 4
    """Layers."""
    max_length: Size = 512
    """Tokens of a text, in training and in use: longer ones are cut off."""
    pad_id: Count = 0
    """The id of padding."""
    dropout: Probability = 0.0
    """Share of each sub-layer's output dropped in training."""
    rope_base: Positive = 10_000.0
    """Base of the rotary positions; longer texts want a larger one."""
    rope_share: Annotated[float, between(0, 1)] = 1.0
    """Share of the pairs that are turned, the fastest; the others carry no
    position."""
    rope_scaling: RopeScaling = "none"
    """How positions are scaled for texts longer than in training."""
    rope_factor: Annotated[float, between(1, 1000)] = 1.0
    """With a scaling: max_length, in lengths of the training."""
    norm_epsilon: Positive = 1e-5
    """Added to the mean square in each norm."""
    window: Size | None = None
    """Tokens that a layer sees, its own included; None has no limit."""
    global_every: Size = 6
    """With a window: one layer in this many sees all tokens."""
    qk_norm: bool = False
    """Normalise queries and keys, with a gain, before they are turned."""
    gated: bool = False
    """A gate on what each head puts out, from the layer's input."""
    kv_layers: Size | None = None
    """Layers that have keys and values; those above use the last ones of
    their kind, with a window or without. None: all have."""
    index_top: Size | None = None
    """Positions that an indexer picks for each query; None attends to all.
    Its weights learn by ``modern_parts.index_loss`` alone."""
    streams: Size = 1
    """Residual streams, joined by hyper-connections; 1 is the plain sum."""
    constrained: bool = True
    """With several streams: no mixture of them enlarges the stream."""
    sinks: bool = False
    """A learned score per head in each softmax, which no position answers."""
    latent: Size | None = None
    """Numbers from which a position's keys and values are made, and which
    alone are cached; with None, keys and values themselves are."""
    d_rotary: Size = 16
    """With a latent: width of the part of queries and keys that is turned."""
    linear: bool = False
    """Linear attention (the gated delta rule) in all layers but each
    ``global_every``-th."""
    n_experts: Size | None = None
    """Experts in each layer, beside one that all tokens share; None has one
    feed-forward network."""
    n_active: Size = 2
    """Experts that each token is sent to."""
    d_expert: Size = 128
    """Width inside an expert."""
    n_ahead: Count = 0
    """Tokens after the next one that are predicted as well; the layers for
    it learn by the logits of ``decode_ahead`` alone."""
    tied: bool = True
    """One matrix embeds the tokens and makes the logits."""

    def __post_init__(self):
        super().__post_init__()
        require_divisible(self.d_model, self.n_heads)
        require(
            self.n_heads % self.n_kv_heads == 0,
            f"n_kv_heads is {self.n_kv_heads}, but {self.n_heads} heads "
            "cannot share so many evenly: choose a number that divides them.",
        )
        require(
            self.latent is None or not (self.qk_norm or self.sinks),
            "latent attention has neither qk_norm nor sinks here: set them to "
            "False, or latent to None.",
        )
        require(
            not (self.latent or self.linear)
            or not (self.gated or self.kv_layers or self.index_top),
            "gated, kv_layers and index_top are for ordinary attention here: "
            "leave them out, or latent and linear.",
        )
        require(
            self.index_top is None or not (self.kv_layers or self.window),
            "an indexer picks from a layer's own keys, without a window: "
            "leave out index_top, or kv_layers and window.",
        )
        require(
            self.kv_layers is None
            or self.kv_layers >= min(self.global_every, self.n_layers)
            or not self.window,
            f"kv_layers is {self.kv_layers}, but the first layer without a "
            f"window is layer {self.global_every}: choose at least as many.",
        )
        require(
            self.rope_scaling == "none" or self.rope_share == 1,
            f"rope_share is {self.rope_share} and rope_scaling "
            f"{self.rope_scaling}: set one of them.",
        )
        require(
            not (self.linear and self.window),
            f"linear is True and window is {self.window}, but the same "
            "layers would have both: set one of them.",
        )

    @property
    def d_head(self) -> int:
        """Width of a head."""
        return self.d_model // self.n_heads

    def is_global(self, layer: int) -> bool:
        """Whether a layer sees all tokens; every ``global_every``-th does."""
        return (layer + 1) % self.global_every == 0

    def source_of(self, layer: int) -> int:
        """The layer whose keys and values a layer uses: often its own."""
        own = min(layer + 1, self.kv_layers or self.n_layers)
        kind = self.window_of(layer)
        return max(i for i in range(own) if self.window_of(i) == kind)

    def window_of(self, layer: int) -> int | None:
        """The window of a layer; every ``global_every``-th has none."""
        return None if self.is_global(layer) else self.window
