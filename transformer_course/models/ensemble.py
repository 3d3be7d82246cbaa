"""Several models that write one text together (chapter 15)."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.models.masks import padding_mask
from transformer_course.models.positional_encoding import (
    max_position_embeddings,
)


class EnsembleCache:
    """Caches of all models of an ensemble."""

    def __init__(self, members: Sequence):
        self.members = members

    @property
    def length(self) -> int:
        """Number of target tokens held."""
        return self.members[0].length

    def select(
        self,
        rows: Int[Tensor, " rows"],
        sources: Int[Tensor, " sources"] | None = None,
    ) -> None:
        """Keep these hypotheses, and these source sentences if named."""
        for cache in self.members:
            cache.select(rows, sources)


class Ensemble(nn.Module):
    """Encoder–decoders whose probabilities are averaged at every token.

    They may be of different kinds and sizes, but must have one vocabulary,
    since what is averaged are the chances of each piece. It serves every
    search of :mod:`~.generate` as a single model does, at
    the cost of all its models (Sutskever et al. 2014, section 3.6).

    Args:
        models: two or more, usually trained from different seeds or in
            different ways: models that err alike do not help each other.
    """

    def __init__(self, models: Sequence[nn.Module]):
        super().__init__()
        self.models = nn.ModuleList(models)
        self.config = min(models, key=_length_limit).config

    def forward(
        self,
        src: Int[Tensor, "batch source"],
        tgt_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Log-probabilities of the token after each token of ``tgt_in``."""
        src_mask = padding_mask(src, self.config.pad_id)
        return self.decode(tgt_in, self.encode(src), src_mask)

    def encode(self, src: Int[Tensor, "batch source"]) -> list[Tensor]:
        """The memory of each model."""
        return [model.encode(src) for model in self.models]

    def decode(
        self,
        tgt_in: Int[Tensor, "rows target"],
        memory: list[Tensor],
        src_mask: Tensor,
        cache: EnsembleCache | None = None,
    ) -> Float[Tensor, "rows target vocab"]:
        """The logarithm of the models' mean probabilities.

        Args:
            tgt_in: target ids, as each model's own ``decode`` takes them.
            memory: from :meth:`encode`.
            src_mask: ``padding_mask(src)``.
            cache: from :meth:`new_cache`; extended in place.
        """
        caches = [None] * len(self.models) if cache is None else cache.members
        parts = zip(self.models, memory, caches, strict=True)
        log_probs = [
            model.decode(tgt_in, own, src_mask, kept).float().log_softmax(-1)
            for model, own, kept in parts
        ]
        total = torch.stack(log_probs).logsumexp(dim=0)  # log of the sum
        return total - math.log(len(self.models))

    def new_cache(self) -> EnsembleCache:
        """Empty caches for :meth:`decode`."""
        return EnsembleCache([model.new_cache() for model in self.models])


def _length_limit(model: nn.Module) -> tuple[bool, int]:
    """Maximum length of a model; None without learned positions."""
    return max_position_embeddings(model) is None, model.config.max_length
