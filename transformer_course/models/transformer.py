"""The Transformer: layers, stacks, and complete models (chapter 10).

An encoder layer is self-attention and feed-forward, a decoder layer has
cross-attention between them; each sub-layer sits in an AddNorm. A language
model is a decoder alone. No model knows losses, optimisers or text.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.models.attention import KVCache, MultiHeadAttention
from transformer_course.models.config import (
    LanguageModelConfig,
    ModelConfig,
    StackConfig,
)
from transformer_course.models.layers import (
    AddNorm,
    FeedForward,
    HiddenStates,
    LayerNorm,
    TokenEmbedding,
)
from transformer_course.models.masks import causal_mask, padding_mask
from transformer_course.models.positional_encoding import (
    RotaryPosition,
    position_module,
)

Mask = Bool[Tensor, "..."] | None


class LayerCache:
    """Keys and values of one decoder layer: self- and cross-attention."""

    def __init__(self) -> None:
        self.own = KVCache()
        self.memory = KVCache()


class DecoderCache:
    """Keys and values of all decoder layers, kept between two tokens."""

    def __init__(self, n_layers: int):
        self.layers = [LayerCache() for _ in range(n_layers)]

    @property
    def length(self) -> int:
        """Number of target tokens held."""
        return self.layers[0].own.length

    def select(
        self,
        rows: Int[Tensor, " rows"],
        sources: Int[Tensor, " sources"] | None = None,
    ) -> None:
        """Keep these hypotheses, and these source sentences if named."""
        for layer in self.layers:
            layer.own.select(rows)
            if sources is not None:
                layer.memory.select(sources)

    def cut(self, length: int) -> None:
        """Keep the first ``length`` target tokens."""
        for layer in self.layers:
            layer.own.cut(length)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (Vaswani et al. 2017, 3.1)."""

    def __init__(self, config: StackConfig):
        super().__init__()
        self.self_attention = _self_attention(config)
        self.feed_forward = _feed_forward(config)
        self.add_norm_1 = _add_norm(config)
        self.add_norm_2 = _add_norm(config)

    def forward(self, x: HiddenStates, mask: Mask = None) -> HiddenStates:
        """Add attention and feed-forward to the stream."""
        x = self.add_norm_1(x, lambda y: self.self_attention(y, mask=mask))
        return self.add_norm_2(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention, feed-forward.

    Vaswani et al. 2017, section 3.1.

    Args:
        config: settings of the stack.
        cross: whether there is a memory to attend to; a language model has
            none.
    """

    def __init__(self, config: ModelConfig, cross: bool = True):
        super().__init__()
        self.self_attention = _self_attention(config)
        self.add_norm_1 = _add_norm(config)
        if cross:
            self.cross_attention = MultiHeadAttention(
                config.d_model, config.n_heads, bias=config.bias
            )
            self.add_norm_2 = _add_norm(config)
        self.feed_forward = _feed_forward(config)
        self.add_norm_3 = _add_norm(config)

    def forward(
        self,
        x: HiddenStates,
        memory: Float[Tensor, "sources source d_model"] | None = None,
        mask: Mask = None,
        memory_mask: Mask = None,
        cache: LayerCache | None = None,
    ) -> HiddenStates:
        """Add both attentions and feed-forward to the stream."""
        cache = cache or LayerCache()
        x = self.add_norm_1(
            x,
            lambda y: self.self_attention(y, mask=mask, cache=cache.own),
        )
        if memory is not None:
            x = self.add_norm_2(
                x,
                lambda y: self.cross_attention(
                    y, memory, mask=memory_mask, cache=cache.memory
                ),
            )
        return self.add_norm_3(x, self.feed_forward)


class Encoder(nn.Module):
    """A stack of encoder layers; pre-norm ends with a norm of its own.

    It takes vectors, not ids, so that words and image patches both fit.
    """

    def __init__(self, config: StackConfig):
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(config) for _ in range(config.n_layers)
        )
        self.norm = _final_norm(config)

    def forward(self, x: HiddenStates, mask: Mask = None) -> HiddenStates:
        """``x`` through every layer."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of decoder layers; pre-norm ends with a norm of its own.

    Args:
        config: settings.
        cross: whether its layers attend to a memory.
    """

    def __init__(self, config: ModelConfig, cross: bool = True):
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(config, cross) for _ in range(config.n_layers)
        )
        self.norm = _final_norm(config)

    def forward(
        self,
        x: HiddenStates,
        memory: Float[Tensor, "sources source d_model"] | None = None,
        mask: Mask = None,
        memory_mask: Mask = None,
        cache: DecoderCache | None = None,
    ) -> HiddenStates:
        """``x`` through every layer."""
        cache = cache or DecoderCache(len(self.layers))
        for layer, remembered in zip(self.layers, cache.layers, strict=True):
            x = layer(x, memory, mask, memory_mask, remembered)
        return self.norm(x)


class Transformer(nn.Module):
    """The encoder–decoder, from ids to logits.

    Vaswani et al. 2017, section 3 and figure 1; chapter 10. With ``tied``,
    one matrix embeds source and target and makes the logits (section 3.4).

    Args:
        config: settings.
    """

    logits_are_linear = True
    """They are ``to_logits`` of the last states: see ``chunked_loss``."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.tgt_embedding = _embedding(config)
        self.tgt_position = _position(config)
        self.decoder = Decoder(config)
        self.src_embedding = (
            self.tgt_embedding if config.tied else _embedding(config)
        )
        self.src_position = _position(config)
        self.encoder = Encoder(config)
        self.dropout = nn.Dropout(config.dropout)
        self.to_logits = _to_logits(config)
        self.init_weights()
        if config.tied:
            self.to_logits.weight = self.tgt_embedding.weight

    def init_weights(self) -> None:
        """Initialise the linear maps, once all parts exist.

        A subclass replaces parts before it, or changes weights after it.
        """
        _init_linear(self)

    def forward(
        self,
        src: Int[Tensor, "batch source"],
        tgt_in: Int[Tensor, "rows target"],
    ) -> Float[Tensor, "rows target vocab"]:
        """Logits for the token after each token of ``tgt_in``.

        Args:
            src: source ids, padded.
            tgt_in: target ids that begin with bos, padded.

        Raises:
            ConfigError: an id outside the vocabulary.
        """
        src_mask = padding_mask(src, self.config.pad_id)
        return self.decode(tgt_in, self.encode(src), src_mask)

    def encode(
        self, src: Int[Tensor, "batch source"]
    ) -> Float[Tensor, "batch source d_model"]:
        """The memory: one vector for each source token."""
        x = self.src_position(self.src_embedding(src))
        mask = padding_mask(src, self.config.pad_id)
        return self.encoder(self.dropout(x), mask)

    def decode(
        self,
        tgt_in: Int[Tensor, "rows target"],
        memory: Float[Tensor, "sources source d_model"] | None = None,
        src_mask: Mask = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "rows _ vocab"]:
        """Logits from target ids and the memory.

        Args:
            tgt_in: target ids; with a cache only those not yet in it, and no
                padding in front of a token to come, which would attend to it.
            memory: from :meth:`encode`; successive rows of ``tgt_in`` may
                share one row of it.
            src_mask: ``padding_mask(src)``.
            cache: from :meth:`new_cache`; extended in place.

        Raises:
            ConfigError: no memory.
        """
        if memory is None:
            raise ConfigError(
                "no source was given, but this model is an encoder–decoder: "
                "call encode(src) and pass its memory."
            )
        past = 0 if cache is None else cache.length
        x = self.tgt_position(self.tgt_embedding(tgt_in), past)
        mask = _target_mask(tgt_in, past, self.config.pad_id)
        x = self.decoder(self.dropout(x), memory, mask, src_mask, cache)
        return self.to_logits(x)

    def new_cache(self) -> DecoderCache:
        """An empty cache for :meth:`decode`."""
        return DecoderCache(self.config.n_layers)


class DecoderOnly(nn.Module):
    """Base class of language models: logits from the text alone."""

    def forward(
        self, ids: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab"]:
        """Logits for the token after each token of ``ids``.

        Args:
            ids: texts that begin with bos, padded on the right.

        Raises:
            ConfigError: an id outside the vocabulary.
        """
        return self.decode(ids)

    def encode(self, src: Int[Tensor, "batch source"]) -> None:
        """Refuse a source: raise a ConfigError."""
        raise ConfigError(
            "a source was given, but a language model reads none: it goes on "
            "with a text, so give the text as a prefix (generate MODEL "
            "'text', not translate)."
        )

    def decode(
        self,
        ids: Int[Tensor, "rows length"],
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "rows _ vocab"]:
        """Logits from ids.

        Args:
            ids: with a cache only those not yet in it, and no padding in
                front of a token to come, which would attend to it.
            cache: from :meth:`new_cache`; extended in place.
        """
        raise NotImplementedError

    def new_cache(self) -> DecoderCache:
        """An empty cache for :meth:`decode`."""
        return DecoderCache(self.config.n_layers)


class LanguageModel(DecoderOnly):
    """The decoder alone, which continues a text (chapters 10 and 13).

    Liu et al. 2018, section 4.2.3; Radford et al. 2018. With ``tied``, one
    matrix embeds the tokens and makes the logits.

    Args:
        config: settings.
    """

    logits_are_linear = True
    """They are ``to_logits`` of the last states: see ``chunked_loss``."""

    def __init__(self, config: LanguageModelConfig):
        super().__init__()
        self.config = config
        self.embedding = _embedding(config)
        self.position = _position(config)
        self.decoder = Decoder(config, cross=False)
        self.dropout = nn.Dropout(config.dropout)
        self.to_logits = _to_logits(config)
        _init_linear(self)
        if config.tied:
            self.to_logits.weight = self.embedding.weight

    def decode(
        self,
        ids: Int[Tensor, "rows length"],
        cache: DecoderCache | None = None,
        mask: Mask = None,
    ) -> Float[Tensor, "rows _ vocab"]:
        """Logits from ids, as in :meth:`DecoderOnly.decode`.

        With a mask in place of the causal one, the same layers are an
        encoder's (:mod:`~.models.block_diffusion`).
        """
        past = 0 if cache is None else cache.length
        x = self.position(self.embedding(ids), past)
        if mask is None:
            mask = _target_mask(ids, past, self.config.pad_id)
        x = self.decoder(self.dropout(x), mask=mask, cache=cache)
        return self.to_logits(x)


def _target_mask(ids: Tensor, past: int, pad_id: int) -> Mask:
    """Causal, and no padding; ``past`` tokens in a cache may all be seen."""
    mask = causal_mask(ids.size(1), ids.device)
    if past:
        return nn.functional.pad(mask, (past, 0), value=True)
    return mask & padding_mask(ids, pad_id)


def _self_attention(config: StackConfig) -> MultiHeadAttention:
    d_model, n_heads = config.d_model, config.n_heads
    rotary = config.position == "rotary"
    rotary = RotaryPosition(d_model // n_heads) if rotary else None
    return MultiHeadAttention(
        d_model, n_heads, bias=config.bias, rotary=rotary
    )


def _feed_forward(config: StackConfig) -> FeedForward:
    return FeedForward(
        config.d_model, config.d_ff, activation=config.activation
    )


def _add_norm(config: StackConfig) -> AddNorm:
    return AddNorm(config.d_model, config.dropout, config.norm_first)


def _final_norm(config: StackConfig) -> nn.Module:
    return LayerNorm(config.d_model) if config.norm_first else nn.Identity()


def _embedding(config: ModelConfig) -> TokenEmbedding:
    return TokenEmbedding(config.vocab_size, config.d_model, config.pad_id)


def _position(config: ModelConfig) -> nn.Module:
    return position_module(config.position, config.max_length, config.d_model)


def _to_logits(config: ModelConfig) -> nn.Linear:
    return nn.Linear(config.d_model, config.vocab_size, bias=False)


def _init_linear(model: nn.Module) -> None:
    """Give each linear map Glorot's uniform weights and zero biases."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
