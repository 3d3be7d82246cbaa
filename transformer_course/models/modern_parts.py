"""Parts that many decoders of today have, put in by the config (chapter 22).

Attention sinks, an indexer, latent attention, linear attention by the gated
delta rule, a mixture of experts, and hyper-connections.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.models.attention import KVCache
from transformer_course.models.layers import HiddenStates
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.positional_encoding import Rotation, rotate
from transformer_course.models.rolling_cache import (
    RollingCache,
    mask_or_causal,
    window_mask,
)

CHUNK = 64
"""Positions that linear attention reads at once."""
SINKHORN_ROUNDS = 20
"""Rounds in which rows and columns are made to sum to one."""
BIAS_STEP = 1e-3
"""How far the bias of an expert moves at a step."""
Heads = Float[Tensor, "batch heads length d_head"]
IndexKeys = Float[Tensor, "batch 1 key d_head"]
"""An indexer's keys of all positions so far."""
Streams = Float[Tensor, "batch length streams d_model"]
Kept = dict[int, tuple[Tensor, Tensor]]
"""Keys and values of a step, by layer, for the layers that share them."""
State = Float[Tensor, "batch heads d_key d_value"]
"""What linear attention remembers of all positions so far."""


def attend_with_sinks(
    query: Heads,
    key: Float[Tensor, "batch groups keys d_head"],
    value: Float[Tensor, "batch groups keys d_head"],
    sinks: Float[Tensor, " heads"],
    mask: Bool[Tensor, "*rows length keys"],
) -> Heads:
    """Attention whose softmax has one more score, which brings no value.

    As in gpt-oss (OpenAI 2025): a head that finds nothing need not attend to
    anything. One more number in each query carries the head's sink, and one
    more key answers that number alone.
    """
    scale = query.size(-1) ** -0.5
    sink = (sinks / scale)[:, None, None].expand_as(query[..., :1])
    query = torch.cat([query, sink.to(query)], dim=-1)
    key, value = F.pad(key, (0, 1, 0, 1)), F.pad(value, (0, 0, 0, 1))
    key[..., -1, -1] = 1
    mask = F.pad(mask, (0, 1), value=True)
    return F.scaled_dot_product_attention(
        query, key, value, mask, scale=scale, enable_gqa=True
    )


class Indexer(nn.Module):
    """Picks the positions that each query attends to.

    The lightning indexer of DeepSeek Sparse Attention (DeepSeek-AI 2025,
    section 2.1): its few heads share one key a position, and the weights of
    the heads come from the query's position.

    Args:
        config: settings; ``index_top`` is a number.
    """

    def __init__(self, config: ModernConfig):
        super().__init__()
        self.top, self.d_head = config.index_top, config.d_head
        self.to_query = nn.Linear(config.d_model, config.d_model, bias=False)
        self.to_key = nn.Linear(config.d_model, self.d_head, bias=False)
        self.to_weight = nn.Linear(config.d_model, config.n_heads, bias=False)

    def key(self, x: HiddenStates, turns: Rotation) -> Heads:
        """The one head of keys, which is cached."""
        return rotate(self.to_key(x)[:, None], turns)

    def scores(
        self, x: HiddenStates, turns: Rotation, key: IndexKeys
    ) -> Float[Tensor, "batch query key"]:
        """How much each position is worth to each query."""
        query = self.to_query(x).unflatten(-1, (-1, self.d_head))
        query = rotate(query.transpose(1, 2), turns)
        fits = F.relu(query @ key.mT * self.d_head**-0.5)
        return torch.einsum("bqh,bhqk->bqk", self.to_weight(x), fits)

    def forward(
        self, x: HiddenStates, turns: Rotation, key: IndexKeys
    ) -> Bool[Tensor, "batch 1 query key"]:
        """True at the best positions up to each query's own."""
        scores = self.scores(x, turns, key)
        seen = window_mask(*scores.shape[1:], None, x.device)
        scores = scores.masked_fill(~seen, -torch.inf)
        # many scores are 0; of equal ones the first, with a cache or without
        order = scores.argsort(dim=-1, descending=True, stable=True)
        picked = torch.zeros_like(scores, dtype=torch.bool)
        picked = picked.scatter(-1, order[..., : self.top], True)
        return (picked & seen)[:, None]


def index_loss(
    scores: Float[Tensor, "batch query key"],
    weights: Float[Tensor, "batch heads query key"],
) -> Float[Tensor, ""]:
    """KL divergence from an indexer's softmax to attention's mean weights.

    DeepSeek-AI 2025, section 2.1.1: the indexer learns from attention to all
    positions, whose own weights this loss does not move.
    """
    seen = window_mask(*scores.shape[1:], None, scores.device)
    wanted = weights.detach().mean(dim=1)
    log_found = scores.masked_fill(~seen, -torch.inf).log_softmax(dim=-1)
    log_found = log_found.masked_fill(~seen, 0)
    apart = torch.xlogy(wanted, wanted) - wanted * log_found
    return apart.sum(dim=-1).mean()


class LatentAttention(nn.Module):
    """Attention that caches one vector a position, for all heads.

    DeepSeek-AI 2024: a position's keys and values are linear
    maps of its latent vector, so the map to keys can be applied to the query
    instead, and the map to values after the mean. Turned numbers would stand
    between the two, so the rotary part is kept apart, one for all heads.

    Args:
        config: settings; ``latent`` is a number.
        index: number of the layer, from 0.
    """

    def __init__(self, config: ModernConfig, index: int):
        super().__init__()
        heads, d_head = config.n_heads, config.d_head
        self.window = config.window_of(index)
        self.sizes = d_head, config.d_rotary
        self.split = (config.latent, config.d_rotary)
        self.to_query = nn.Linear(
            config.d_model, heads * sum(self.sizes), bias=False
        )
        self.to_latent = nn.Linear(config.d_model, sum(self.split), bias=False)
        self.latent_norm = nn.RMSNorm(config.latent, config.norm_epsilon)
        self.to_key = nn.Linear(config.latent, heads * d_head, bias=False)
        self.to_value = nn.Linear(config.latent, heads * d_head, bias=False)
        self.to_output = nn.Linear(heads * d_head, config.d_model, bias=False)

    def forward(
        self,
        x: HiddenStates,
        turns: Rotation,
        cache: KVCache | None = None,
        _kept: Kept | None = None,
    ) -> HiddenStates:
        """What each position takes from those that it may see."""
        d_head = self.sizes[0]
        query = self.to_query(x).unflatten(-1, (-1, sum(self.sizes)))
        content, turned = query.transpose(1, 2).split(self.sizes, dim=-1)
        latent, shared = self.to_latent(x)[:, None].split(self.split, dim=-1)
        latent, shared = self.latent_norm(latent), rotate(shared, turns)
        if cache is not None:
            latent, shared = cache.extend(latent, shared)
        to_key = self.to_key.weight.unflatten(0, (-1, d_head))
        to_value = self.to_value.weight.unflatten(0, (-1, d_head))
        mask, causal = mask_or_causal(
            x.size(1), latent.size(2), self.window, x.device
        )
        mixed = F.scaled_dot_product_attention(
            torch.cat([content @ to_key, rotate(turned, turns)], dim=-1),
            torch.cat([latent, shared], dim=-1),
            latent,
            mask,
            is_causal=causal,
            scale=sum(self.sizes) ** -0.5,
            enable_gqa=True,
        )
        output = mixed @ to_value.mT
        return self.to_output(output.transpose(1, 2).flatten(2))

    def new_cache(self) -> RollingCache:
        """An empty cache; it holds latent vectors and their rotary part."""
        return RollingCache(self.window)


def gated_delta(
    query: Float[Tensor, "batch heads length d_key"],
    key: Float[Tensor, "batch heads length d_key"],
    value: Float[Tensor, "batch heads length d_value"],
    strength: Float[Tensor, "batch heads length"],
    log_decay: Float[Tensor, "batch heads length"],
    state: State,
) -> tuple[Float[Tensor, "batch heads length d_value"], State]:
    """Linear attention by the gated delta rule, chunk by chunk.

    Yang et al. 2025. At each position the state decays, what the
    key recalls is replaced by the value, in part if ``strength`` is below 1,
    and the query reads. Each chunk begins with the state that the one before
    it left, so the work grows with the length, and not with its square.

    Returns:
        What each query reads, and the state after the last position.
    """
    given = query, key, value, strength, log_decay
    outputs = []
    for chunk in zip(*(x.split(CHUNK, dim=2) for x in given), strict=True):
        output, state = delta_of_chunk(*chunk, state)
        outputs.append(output)
    return torch.cat(outputs, dim=2), state


def delta_of_chunk(
    query: Float[Tensor, "batch heads length d_key"],
    key: Float[Tensor, "batch heads length d_key"],
    value: Float[Tensor, "batch heads length d_value"],
    strength: Float[Tensor, "batch heads length"],
    log_decay: Float[Tensor, "batch heads length"],
    state: State,
) -> tuple[Float[Tensor, "batch heads length d_value"], State]:
    """All positions of a chunk at once.

    What a position writes depends on what those before it wrote: a triangular
    system, whose size is the square of the length.
    """
    passed = log_decay.cumsum(dim=-1)
    decay = passed.exp()[..., None]  # since the state
    since = (passed[..., None] - passed[..., None, :]).tril().exp().tril()
    strength = strength[..., None]
    system = strength * (since * (key @ key.mT)).tril(-1)
    system = system + torch.eye(system.size(-1)).to(system)
    wanted = strength * (value - decay * (key @ state))
    written = torch.linalg.solve_triangular(system, wanted, upper=False)
    output = decay * (query @ state) + since * (query @ key.mT) @ written
    last = since[..., -1, :, None]  # what is left of each, at the end
    return output, decay[..., -1:, :] * state + (last * key).mT @ written


class StateCache(KVCache):
    """What linear attention remembers: as large after any length."""

    def __init__(self) -> None:
        super().__init__()
        self.seen, self.state = 0, None

    @property
    def length(self) -> int:
        """Number of positions seen so far."""
        return self.seen

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep the rows of the batch named by ``rows``, in that order."""
        if self.state is not None:
            self.state = self.state.index_select(0, rows)

    def cut(self, length: int) -> None:
        """Refuse: raise a ConfigError unless there is nothing to forget."""
        if length < self.seen:
            raise ConfigError(
                f"the cache cannot be cut back to {length} positions: its "
                f"state sums up all {self.seen}."
            )


class GatedDelta(nn.Module):
    """Linear attention, without positions: their order is in the state.

    Yang et al. 2025, without the short convolutions and the gate of the
    output that it has there.

    Args:
        config: settings.
        _index: number of the layer: all are alike.
    """

    def __init__(self, config: ModernConfig, _index: int):
        super().__init__()
        d_model, self.d_head = config.d_model, config.d_head
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_gates = nn.Linear(d_model, 2 * config.n_heads)
        self.output_norm = nn.RMSNorm(self.d_head, config.norm_epsilon)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self,
        x: HiddenStates,
        turns: Rotation,
        cache: StateCache | None = None,
        _kept: Kept | None = None,
    ) -> HiddenStates:
        """What each position reads from the state, itself included."""
        query, key, value = (
            to(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2).float()
            for to in (self.to_query, self.to_key, self.to_value)
        )
        query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
        strength, decay = self.to_gates(x).float().mT.chunk(2, dim=1)
        state = None if cache is None else cache.state
        if state is None:
            state = key.new_zeros(*key.shape[:2], self.d_head, self.d_head)
        output, state = gated_delta(
            query,
            key,
            value,
            strength.sigmoid(),
            F.logsigmoid(decay + 4),  # at first it forgets 2 % a position
            state,
        )
        if cache is not None:
            cache.state, cache.seen = state, cache.seen + x.size(1)
        output = self.output_norm(output).to(x.dtype)
        return self.to_output(output.transpose(1, 2).flatten(2))

    def new_cache(self) -> StateCache:
        """An empty cache."""
        return StateCache()


class MixtureOfExperts(nn.Module):
    """Small feed-forward networks, of which a router picks a few a token.

    DeepSeek-AI 2024, section 2.1.2: one expert is shared by all tokens, and a
    bias that is added for the choice alone keeps the others evenly used. No
    gradient reaches it; after each step of a training, :meth:`balance` moves
    it.

    Args:
        config: settings; ``n_experts`` is a number.
        expert: makes an expert of a given width inside.
    """

    def __init__(
        self, config: ModernConfig, expert: Callable[[int], nn.Module]
    ):
        super().__init__()
        n, self.n_active = config.n_experts, config.n_active
        self.router = nn.Linear(config.d_model, n, bias=False)
        self.bias = nn.Parameter(torch.zeros(n), requires_grad=False)
        self.experts = nn.ModuleList(expert(config.d_expert) for _ in range(n))
        self.shared = expert(config.d_expert)
        self.load = torch.zeros(n, dtype=torch.long)
        """Number of tokens that each had in the last call."""

    def forward(self, x: HiddenStates) -> HiddenStates:
        """The shared expert's answer, and that of each token's own."""
        tokens = x.flatten(0, 1)
        affinity = self.router(tokens).float().sigmoid()
        chosen = (affinity + self.bias).topk(self.n_active, dim=-1).indices
        weights = affinity.gather(-1, chosen)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        output = self.shared(tokens)
        for i, expert in enumerate(self.experts):
            row, rank = (chosen == i).nonzero(as_tuple=True)
            answer = weights[row, rank, None] * expert(tokens[row])
            output = output.index_add(0, row, answer.to(output.dtype))
        self.load = chosen.flatten().bincount(minlength=len(self.experts))
        return output.view(x.shape)

    @torch.no_grad()
    def balance(self) -> None:
        """Move the bias by a step: up for an expert with fewer tokens than
        the mean, and down for one with more."""
        fewer = self.load.sum() - len(self.load) * self.load
        self.bias += BIAS_STEP * fewer.sign()


def mixtures(model: nn.Module) -> list[MixtureOfExperts]:
    """All mixtures of experts in a model."""
    return [m for m in model.modules() if isinstance(m, MixtureOfExperts)]


def doubly_stochastic(
    logits: Float[Tensor, "... n n"],
) -> Float[Tensor, "... n n"]:
    """Positive numbers whose rows and columns sum to one, nearly.

    Sinkhorn and Knopp 1967: divide by the sums of the rows, then by those of
    the columns, and again.
    """
    for _ in range(SINKHORN_ROUNDS):
        logits = logits.log_softmax(dim=-1)
        logits = logits.log_softmax(dim=-2)
    return logits.exp()


class HyperConnection(nn.Module):
    """Several residual streams around one part, in place of ``x + part(x)``.

    The part reads a mixture of the streams, its answer is written into each
    of them, and the streams are mixed among themselves; the weights of all
    three come from the streams (Zhu et al. 2024, section 2.2). With
    ``constrained`` the last mixture is doubly stochastic, as in
    manifold-constrained hyper-connections (Xie et al. 2025, section 4).

    Args:
        config: settings; ``streams`` is more than one.
    """

    def __init__(self, config: ModernConfig):
        super().__init__()
        n, self.constrained = config.streams, config.constrained
        width = n * config.d_model
        self.norm = nn.RMSNorm(width, elementwise_affine=False)
        self.to_weights = nn.Linear(width, n * (n + 2))
        read = torch.full((n,), -math.log(n - 1))  # 1 / n after the sigmoid
        keep = (4.0 if self.constrained else 1.0) * torch.eye(n)
        start = torch.cat([read, torch.zeros(n), keep.flatten()])
        self.to_weights.bias = nn.Parameter(start)

    def forward(
        self, x: Streams, part: Callable[[HiddenStates], HiddenStates]
    ) -> Streams:
        """The streams after the part."""
        n = x.size(2)
        weights = self.to_weights(self.norm(x.flatten(2)))
        read, write, keep = weights[..., None].split([n, n, n * n], dim=2)
        answer = part((read.sigmoid() * x).sum(dim=2))
        keep = keep.view(*x.shape[:2], n, n)
        if self.constrained:
            keep = doubly_stochastic(keep)
        return keep @ x + 2 * write.sigmoid() * answer[:, :, None]
