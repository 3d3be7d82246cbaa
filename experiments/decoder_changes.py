"""A decoder in which each change since 2017 is a switch (chapter 22).

With all of them off it is the package's ``LanguageModel`` in pre-norm, without
feed-forward biases. It serves the comparison of the changes one by one; the
decoder of today, without switches, is ``transformer_course.models.modern``.
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.checks import Positive, Probability, Size
from transformer_course.models.config import LanguageModelConfig
from transformer_course.models.layers import (
    HiddenStates,
    LayerNorm,
    TokenEmbedding,
)
from transformer_course.models.positional_encoding import (
    RotaryPosition,
    position_module,
)

Norm = Literal["layer", "rms"]
SwitchedActivation = Literal["relu", "gelu", "silu", "squared_relu"]
SwitchedPosition = Literal["sinusoidal", "learned", "rotary", "alibi", "none"]


@dataclass(frozen=True)
class SwitchedConfig(LanguageModelConfig):
    """A decoder-only Transformer with what has changed since 2017.

    Every default is today's choice. ``PLAIN`` switches all of them off:
    what is left is the language model of 2017, in pre-norm. The projections
    have no bias.
    """

    norm_first: bool = True
    """Pre-norm; there is no other."""
    dropout: Probability = 0.0
    """Share of the sub-layers' outputs and embedding sums dropped."""
    norm: Norm = "rms"
    """RMSNorm in place of LayerNorm."""
    activation: SwitchedActivation = "squared_relu"
    """Non-linearity of the feed-forward network."""
    gated: bool = False
    """A gate in the feed-forward network; with silu, it is SwiGLU."""
    position: SwitchedPosition = "rotary"
    """Kind of positional encoding."""
    n_kv_heads: Size | None = None
    """Heads of keys and values, shared by groups of query heads; as many as
    there are queries when None."""
    qk_norm: bool = True
    """Normalise queries and keys before their product."""
    value_residual: bool = True
    """Mix the first layer's values into those of the others."""
    window: Size | None = None
    """Tokens that most layers see; each fourth and the last see all."""
    soft_cap: Positive | None = 15.0
    """Logits stay between minus and plus this."""
    zero_start: bool = True
    """Initialise each sub-layer's output projection with zeros."""


PLAIN = {
    "norm": "layer",
    "activation": "relu",
    "position": "sinusoidal",
    "qk_norm": False,
    "value_residual": False,
    "soft_cap": None,
    "zero_start": False,
}
"""Settings with which a SwitchedConfig is the decoder of 2017."""


LONG_EVERY = 4
"""Every so many layers, one has no window."""
Heads = Float[Tensor, "batch heads length d_head"]
Bias = Float[Tensor, "one_or_heads query key"]
"""Bias added to the scores, for all heads or for each."""


def squared_relu(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """max(0, x)² (So et al. 2021, section 4)."""
    return F.relu(x).square()


ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "squared_relu": squared_relu,
}


class SwitchedFeedForward(nn.Module):
    """act(x W) V, or with a gate (act(x W) ⊙ x U) V; no biases.

    The gate is Shazeer 2020's; with silu it is SwiGLU. It has three matrices,
    so for equal weights ``d_ff`` is two thirds of what it was.

    Args:
        d_model: width of input and output.
        d_ff: width inside.
        activation: a name of ``ACTIVATIONS``.
        gated: whether there is a gate.
    """

    def __init__(
        self, d_model: int, d_ff: int, activation: str, gated: bool = False
    ):
        super().__init__()
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.gate_proj = (
            nn.Linear(d_model, d_ff, bias=False) if gated else None
        )
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.activation = ACTIVATIONS[activation]

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Each position, by itself."""
        inner = self.activation(self.up_proj(x))  # (..., d_ff)
        if self.gate_proj is not None:
            inner = inner * self.gate_proj(x)
        return self.down_proj(inner)


class MixtureOfExperts(nn.Module):
    """Several feed-forward parts, one of which each token is sent to.

    The router's most probable expert answers, times its probability (the
    Switch Transformer, Fedus et al. 2022, section 2). After each call
    ``balance`` holds the loss of its equation 4, which is 1 where the experts
    are used alike, and ``load`` each expert's share of the tokens, padding
    among them.

    Args:
        d_model: width of input and output.
        d_ff: width inside each expert.
        n_experts: how many.
    """

    def __init__(self, d_model: int, d_ff: int, n_experts: int):
        super().__init__()
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(
            SwitchedFeedForward(d_model, d_ff, "relu")
            for _ in range(n_experts)
        )
        self.balance: Tensor | None = None
        self.load: Tensor | None = None

    def forward(self, x: HiddenStates) -> HiddenStates:
        """Each token, through the expert that the router chose for it."""
        rows = x.flatten(0, -2)  # (tokens, d_model)
        chances = self.router(rows).float().softmax(dim=-1)
        chance, chosen = chances.max(dim=-1)
        output = torch.zeros_like(rows)
        for i, expert in enumerate(self.experts):
            mine = (chosen == i).nonzero().squeeze(-1)
            answer = expert(rows[mine]) * chance[mine, None]
            output = output.index_add(0, mine, answer.to(output.dtype))
        experts = chances.size(-1)
        self.load = F.one_hot(chosen, experts).float().mean(dim=0)
        self.balance = experts * (self.load * chances.mean(dim=0)).sum()
        return output.view(x.shape)


def balance_of(model: nn.Module) -> Tensor:
    """The experts' balance loss after a forward pass, summed over layers."""
    parts = (m for m in model.modules() if isinstance(m, MixtureOfExperts))
    return sum((part.balance for part in parts), torch.zeros(()))


def alibi_slopes(n_heads: int) -> Float[Tensor, " heads"]:
    """ALiBi's slope of each head: 2^(-8/n), 2^(-16/n), ..., 2^(-8).

    Press et al. 2022, section 3, whose numbers of heads are powers of two.
    """
    return 2.0 ** (-8.0 * torch.arange(1, n_heads + 1) / n_heads)


def attention_bias(
    queries: int,
    keys: int,
    window: int | None = None,
    slopes: Float[Tensor, " heads"] | None = None,
) -> Bias:
    """Bias added to the scores: -∞ where attention is not allowed.

    Args:
        queries: number of query positions, the last ones.
        keys: number of positions so far.
        window: number of visible positions, the query's own included.
        slopes: ALiBi's; the score falls by a slope for each step of distance.
    """
    place = torch.arange(keys)
    distance = place[keys - queries :, None] - place  # (query, key)
    hidden = distance < 0
    if window is not None:
        hidden = hidden | (distance >= window)
    bias = torch.zeros(1, queries, keys)
    if slopes is not None:
        bias = -slopes[:, None, None] * distance
    return bias.masked_fill(hidden, -torch.inf)


class SwitchedAttention(nn.Module):
    """Causal self-attention with the changes of a SwitchedConfig.

    Args:
        config: settings.
        first: whether it is the first layer's, whose values others borrow.
    """

    def __init__(self, config: SwitchedConfig, first: bool):
        super().__init__()
        d_model, self.n_heads = config.d_model, config.n_heads
        self.groups = config.n_kv_heads or self.n_heads
        self.qk_norm = config.qk_norm
        self.d_head = d_model // self.n_heads
        shared = self.groups * self.d_head
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, shared, bias=False)
        self.to_value = nn.Linear(d_model, shared, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)
        turned = config.position == "rotary"
        self.rotary = RotaryPosition(self.d_head) if turned else None
        borrows = config.value_residual and not first
        self.own_share = nn.Parameter(torch.tensor(0.5)) if borrows else None

    def forward(
        self,
        x: HiddenStates,
        bias: Bias,
        first_values: Heads | None = None,
    ) -> tuple[HiddenStates, Heads]:
        """Attend; return the output and the layer's own values.

        Args:
            x: all positions.
            bias: from :func:`attention_bias`.
            first_values: the first layer's, of these positions.

        Returns:
            The update of the stream, and this layer's own values.
        """
        query = self._split(self.to_query(x), self.n_heads)
        key = self._split(self.to_key(x), self.groups)
        values = value = self._split(self.to_value(x), self.groups)
        if self.rotary is not None:
            query, key = self.rotary(query), self.rotary(key)
        if self.qk_norm:
            query = F.rms_norm(query, query.shape[-1:])
            key = F.rms_norm(key, key.shape[-1:])
        if self.own_share is not None:
            share = self.own_share
            value = share * value + (1 - share) * first_values
        each = self.n_heads // self.groups  # queries of a head of keys
        output = F.scaled_dot_product_attention(
            query,
            key.repeat_interleave(each, dim=1),
            value.repeat_interleave(each, dim=1).to(query.dtype),
            attn_mask=bias.to(query.dtype),
        )
        output = self.to_output(output.transpose(1, 2).flatten(2))
        return output, values

    def _split(self, x: HiddenStates, heads: int) -> Heads:
        return x.unflatten(-1, (heads, self.d_head)).transpose(1, 2)


class SwitchedLayer(nn.Module):
    """Attention and feed-forward, both in pre-norm.

    Args:
        config: settings.
        first: whether it is the first layer.
    """

    def __init__(self, config: SwitchedConfig, first: bool):
        super().__init__()
        self.norm_1, self.norm_2 = _norm(config), _norm(config)
        self.attention = SwitchedAttention(config, first)
        self.feed_forward = SwitchedFeedForward(
            config.d_model, config.d_ff, config.activation, config.gated
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: HiddenStates,
        bias: Bias,
        first_values: Heads | None = None,
    ) -> tuple[HiddenStates, Heads]:
        """One step of the stream, and this layer's own values."""
        y, values = self.attention(self.norm_1(x), bias, first_values)
        x = x + self.dropout(y)
        x = x + self.dropout(self.feed_forward(self.norm_2(x)))
        return x, values


class SwitchedDecoder(nn.Module):
    """A decoder of today.

    Args:
        config: settings.
    """

    def __init__(self, config: SwitchedConfig):
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(
            config.vocab_size, config.d_model, config.pad_id
        )
        added = "none" if config.position == "alibi" else config.position
        self.position = position_module(
            added, config.max_length, config.d_model
        )
        self.layers = nn.ModuleList(
            SwitchedLayer(config, first=i == 0) for i in range(config.n_layers)
        )
        self.norm = _norm(config)
        self.dropout = nn.Dropout(config.dropout)
        self.to_logits = nn.Linear(
            config.d_model, config.vocab_size, bias=False
        )
        self._init_weights()
        if config.tied:
            self.to_logits.weight = self.embedding.weight

    def _init_weights(self) -> None:
        """Glorot's uniform weights; zeros in the last map of each branch."""
        for name, module in self.named_modules():
            if not isinstance(module, nn.Linear):
                continue
            nn.init.xavier_uniform_(module.weight)
            last = name.endswith(("to_output", "down_proj"))
            if last and self.config.zero_start:
                nn.init.zeros_(module.weight)

    def forward(
        self, ids: Int[Tensor, "rows length"]
    ) -> Float[Tensor, "rows length vocab"]:
        """Logits for the token after each token of ``ids``.

        ids are padded on the right; no mask hides padding, as what precedes
        it does not see it.
        """
        length, slopes, first = ids.size(1), None, None
        if self.config.position == "alibi":
            slopes = alibi_slopes(self.config.n_heads)
        far, near = (
            attention_bias(length, length, window, slopes)
            for window in (None, self.config.window)
        )
        x = self.dropout(self.position(self.embedding(ids)))
        for i, layer in enumerate(self.layers):
            x, values = layer(x, far if self._sees_all(i) else near, first)
            first = values if first is None else first
        logits = self.to_logits(self.norm(x))
        cap = self.config.soft_cap
        return logits if cap is None else cap * (logits / cap).tanh()

    def _sees_all(self, layer: int) -> bool:
        """True for a layer without window; the last layer has none."""
        last = layer == self.config.n_layers - 1
        return last or layer % LONG_EVERY == LONG_EVERY - 1


def _norm(config: SwitchedConfig) -> nn.Module:
    if config.norm == "layer":
        return LayerNorm(config.d_model)
    return nn.RMSNorm(config.d_model, eps=1e-6)
