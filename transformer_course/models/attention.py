"""Attention: scores, the softmax between them and the values, and heads.

Names follow the paper: a *query* is compared with each *key*, and the output
is the mean of the *values*, weighted by the softmax of the scores.
Chapter 04 derives it, chapter 05 compares the scores, chapter 07 adds heads.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.models.masks import open_empty_rows
from transformer_course.models.positional_encoding import RotaryPosition

Queries = Float[Tensor, "batch heads query d_head"]
Keys = Float[Tensor, "batch heads key d_head"]
Values = Float[Tensor, "batch heads key d_value"]


def dot_score(
    query: Float[Tensor, "*batch query d"], key: Float[Tensor, "*batch key d"]
) -> Float[Tensor, "*batch query key"]:
    """q · k, without scaling (Luong et al. 2015, section 3.1, "dot")."""
    return query @ key.transpose(-2, -1)


class GeneralScore(nn.Module):
    """q W k: a bilinear form (Luong et al. 2015, section 3.1, "general").

    Args:
        d_query: width of the queries.
        d_key: width of the keys.
    """

    def __init__(self, d_query: int, d_key: int):
        super().__init__()
        self.project = nn.Linear(d_query, d_key, bias=False)

    def forward(
        self,
        query: Float[Tensor, "*batch query d_query"],
        key: Float[Tensor, "*batch key d_key"],
    ) -> Float[Tensor, "*batch query key"]:
        """The score of every query with every key."""
        return dot_score(self.project(query), key)


class AdditiveScore(nn.Module):
    """v · tanh(W q + U k): a small network on each pair.

    From Bahdanau et al. 2015, appendix A.1.2. It builds a tensor of shape
    (batch, query, key, d_hidden): this is what makes it slower and larger
    than a dot product (chapter 05).

    Args:
        d_query: width of the queries.
        d_key: width of the keys.
        d_hidden: width of the hidden layer.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        self.of_query = nn.Linear(d_query, d_hidden, bias=False)
        self.of_key = nn.Linear(d_key, d_hidden, bias=False)
        self.to_score = nn.Linear(d_hidden, 1, bias=False)

    def forward(
        self,
        query: Float[Tensor, "*batch query d_query"],
        key: Float[Tensor, "*batch key d_key"],
    ) -> Float[Tensor, "*batch query key"]:
        """The score of every query with every key."""
        return self.score_projected(query, self.of_key(key))

    def score_projected(
        self,
        query: Float[Tensor, "*batch query d_query"],
        projected_key: Float[Tensor, "*batch key d_hidden"],
    ) -> Float[Tensor, "*batch query key"]:
        """Scores from U k, computed once for many queries."""
        pairs = self.of_query(query)[..., :, None, :]
        pairs = pairs + projected_key[..., None, :, :]
        return self.to_score(pairs.tanh()).squeeze(-1)


def masked_softmax(
    scores: Float[Tensor, "*batch query key"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch query key"]:
    """Softmax over the keys that ``mask`` allows (True = may attend).

    A row that may attend nowhere gives zeros, not NaN (chapter 06).
    """
    if mask is None:
        return scores.softmax(dim=-1)
    mask, reachable = open_empty_rows(mask)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights * reachable


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch query d_v"], Float[Tensor, "*batch query key"]
]:
    """softmax(Q Kᵀ / √d_k) V, with its weights.

    Vaswani et al. 2017, section 3.2.1, equation 1; chapter 04.

    Args:
        query: one row for each query position.
        key: one row for each key position.
        value: one row for each key position.
        mask: True = may attend; broadcast to the scores' shape.

    Returns:
        The output, and the weights: rows sum to one, but a row that may
        attend nowhere is all zeros, and so is its output.
    """
    # scaled before the product, which could overflow in fp16
    scores = dot_score(query / math.sqrt(query.size(-1)), key)
    weights = masked_softmax(scores, mask)
    return weights @ value, weights


def fused_attention(
    query: Queries, key: Keys, value: Values, mask: Bool[Tensor, "..."] | None
) -> Float[Tensor, "batch heads query d_value"]:
    """Attention by torch's fused kernel, which does not return weights.

    On the CPU bf16 is computed in fp32: the bf16 kernel's backward pass is
    several times slower there (chapter 21).
    """
    dtype = query.dtype
    if query.device.type == "cpu":
        wide = torch.promote_types(dtype, torch.float32)
        query, key, value = query.to(wide), key.to(wide), value.to(wide)
    with torch.autocast(query.device.type, enabled=False):
        if mask is None:
            output = F.scaled_dot_product_attention(query, key, value)
            return output.to(dtype)
        mask, reachable = open_empty_rows(torch.atleast_2d(mask))
        output = F.scaled_dot_product_attention(query, key, value, mask)
        return (output * reachable).to(dtype)


class KVCache:
    """Keys and values of earlier positions in one attention layer.

    Generation adds one token at a time, and the keys and values of the tokens
    before it do not change (chapter 13). The cache is an argument of the
    layers, never their state; a new one is empty.
    """

    def __init__(self) -> None:
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    @property
    def length(self) -> int:
        """Number of positions held."""
        return 0 if self.key is None else self.key.size(2)

    def extend(
        self,
        key: Float[Tensor, "batch heads newest d_head"],
        value: Float[Tensor, "batch heads newest d_value"],
    ) -> tuple[Keys, Values]:
        """Append the newest positions; return all."""
        if self.key is not None:
            key = torch.cat([self.key, key], dim=2)
            value = torch.cat([self.value, value], dim=2)
        self.key, self.value = key, value
        return key, value

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep the rows of the batch named by ``rows``, in that order."""
        if self.key is not None:
            self.key = self.key.index_select(0, rows)
            self.value = self.value.index_select(0, rows)

    def cut(self, length: int) -> None:
        """Keep the first ``length`` positions."""
        if self.key is not None:
            self.key = self.key[:, :, :length]
            self.value = self.value[:, :, :length]


def rows_per_source(rows: int, sources: int) -> int:
    """Number of successive query rows that share each row of the memory.

    Raises:
        ConfigError: the rows cannot be shared out evenly.
    """
    if rows == sources:
        return 1
    if not sources or rows % sources:
        raise ConfigError(
            f"the batch of queries is {rows}, and that of their memory "
            f"{sources}: expected the same, or for beams a multiple of it."
        )
    return rows // sources


def _is_of_rows(mask: Bool[Tensor, "..."] | None, sources: int) -> bool:
    """Whether a mask is one of the rows that share memories, not of these."""
    if mask is None:
        return False
    return mask.shape[:-3] != (sources,) or mask.size(-2) > 1


class MultiHeadAttention(nn.Module):
    """Multi-head attention: heads with projections of their own.

    Vaswani et al. 2017, section 3.2.2; chapter 07. Without ``memory`` it is
    self-attention; with it, keys and values come from there (cross-attention).

    Args:
        d_model: width of input and output.
        n_heads: number of heads; divides ``d_model``.
        dropout: share of the attention weights dropped in training. The paper
            has none here; 0 lets the fused kernel be used.
        bias: whether the four projections have biases; the paper's have none.
        rotary: rotary positions of queries and keys, if any.

    Raises:
        ConfigError: ``n_heads`` does not divide ``d_model``.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        dropout: float = 0.0,
        bias: bool = False,
        rotary: RotaryPosition | None = None,
    ):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ConfigError(
                f"d_model {d_model} cannot be split over {n_heads} heads: "
                "choose a number of heads that divides it."
            )
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=bias)
        self.to_key = nn.Linear(d_model, d_model, bias=bias)
        self.to_value = nn.Linear(d_model, d_model, bias=bias)
        self.to_output = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.rotary = rotary

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "sources key d_model"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        cache: KVCache | None = None,
        return_weights: bool = False,
    ):
        """Attend from ``query`` to itself, or to ``memory`` when it is given.

        Args:
            query: the query positions.
            memory: the key positions. Several successive rows of ``query``
                may share one row of it, as beams do.
            mask: True = may attend; broadcast to (batch, heads, query, key),
                or, of rows that share a memory, (sources, heads, 1, key).
            cache: in self-attention, holds the earlier positions, to which
                ``query``'s are added; with ``memory``, holds its keys and
                values after the first call.
            return_weights: also return the weights of every head, for which
                the explicit path is taken in place of the fused kernel.

        Returns:
            Output (batch, query, d_model); with ``return_weights`` a pair of
            it and the weights (batch, heads, query, key).

        Raises:
            ConfigError: the rows of ``query`` are no multiple of those of
                ``memory``.
        """
        batch, length, d_model = query.shape
        if memory is not None:  # rows that share a memory become queries
            sources = memory.size(0)
            shared = rows_per_source(batch, sources)
            query = query.reshape(sources, shared * length, d_model)
            if shared > 1 and _is_of_rows(mask, sources):
                keys = memory.size(1)
                mask = mask.expand(batch, self.n_heads, length, keys)
                mask = mask.unflatten(0, (sources, shared))
                mask = mask.transpose(1, 2).flatten(2, 3)
        q, k, v = self._project(query, memory, cache)
        if return_weights or (self.training and self.dropout.p > 0):
            output, weights = self._explicit(q, k, v, mask)
        else:
            output, weights = self.attend(q, k, v, mask), None
        output = self.to_output(self._merge(output))
        output = output.reshape(batch, length, d_model)
        if not return_weights:
            return output
        return output, self._unshare(weights, batch, length)

    def attend(self, query, key, value, mask):
        """Outputs of the heads, without their weights."""
        return fused_attention(query, key, value, mask)

    def _project(self, query, memory, cache):
        """Queries, keys and values, each (batch, heads, length, d_head)."""
        q = self._split(self.to_query(query))
        if memory is not None and cache is not None and cache.length:
            return q, cache.key, cache.value  # the memory has not changed
        source = query if memory is None else memory
        k = self._split(self.to_key(source))
        v = self._split(self.to_value(source))
        if memory is None and self.rotary is not None:
            offset = 0 if cache is None else cache.length
            q, k = self.rotary(q, offset), self.rotary(k, offset)
        if cache is not None:
            k, v = cache.extend(k, v)
        return q, k, v

    def _explicit(self, query, key, value, mask):
        """Output and weights, with dropout on the weights."""
        output, weights = scaled_dot_product_attention(query, key, value, mask)
        if self.training and self.dropout.p > 0:
            output = self.dropout(weights) @ value
        return output, weights

    def _split(self, x: Float[Tensor, "batch query d_model"]) -> Queries:
        batch, length, _ = x.shape
        x = x.view(batch, length, self.n_heads, self.d_head)
        return x.transpose(1, 2)  # (batch, heads, length, d_head)

    def _merge(self, x: Queries) -> Float[Tensor, "batch query d_model"]:
        return x.transpose(1, 2).flatten(2)  # (batch, length, d_model)

    def _unshare(self, weights: Tensor, batch: int, length: int) -> Tensor:
        """Weights of rows that shared a memory, one row of the batch each.

        Where none did, the weights themselves, so that gradients of the
        output with respect to them exist.
        """
        sources, heads, _, keys = weights.shape
        if sources == batch:
            return weights
        weights = weights.view(sources, heads, -1, length, keys)
        return weights.transpose(1, 2).reshape(batch, heads, length, keys)
