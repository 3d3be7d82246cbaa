"""The state of a search: targets that grow by a token a step (chapter 13).

The searches of :mod:`~.generate` choose the tokens.
"""

from contextlib import nullcontext
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.checks import Count, require_fits
from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.errors import ConfigError, DivergedError
from transformer_course.models.masks import padding_mask
from transformer_course.models.positional_encoding import (
    max_position_embeddings,
)
from transformer_course.models.transformer import DecoderCache

DEFAULT_ALPHA = 0.6
"""Exponent of the length penalty (Vaswani et al. 2017, section 6.1)."""
EXTRA_LENGTH = 50
"""Maximum number of target tokens beyond the source's length (ibid.)."""
MAX_UNFINISHED = 0.75
"""Finished sentences leave the batch once this share, or less, is unfinished:
copying the others then costs less than it saves."""


class Hypothesis(NamedTuple):
    """A target that a search has found."""

    ids: list[int]
    """Target tokens, without bos and eos."""
    log_prob: float
    """Sum of the tokens' log-probabilities, eos included, in nats."""
    score: float
    """log_prob over the length penalty: what the beam ranks by."""


def length_penalty(length: Tensor | int, alpha: float):
    """((5 + length) / 6)^α, the divisor of log-probabilities.

    Wu et al. 2016, section 7. Without it, long targets would be ruled out.
    """
    return ((5 + length) / 6) ** alpha


class Search:
    """Unfinished targets of a batch, their scores and their cache.

    Rows of one sentence stand together: ``sentence * beam_size + beam``.

    Args:
        model: anything with ``encode``, ``decode`` and ``new_cache``.
        src: source ids, padded; None for a model that reads none.
        prefix: tokens that each target must begin with, padded on the right.
        max_length: maximum number of target tokens; see :func:`length_limits`.
        cached: keep keys and values between tokens.
        cache: what the model has read of the targets' beginning.
        beam_size: hypotheses of each sentence.
        alpha: exponent of the length penalty.
        keep_finished: keep finished sentences in the batch; else they leave
            it, which saves their computation.
        start: the token before all others.

    Raises:
        ConfigError: no sentence, or not a prefix for each.
    """

    def __init__(
        self,
        model: nn.Module,
        src: Int[Tensor, "batch source"] | None,
        prefix: Int[Tensor, "batch prefix"] | None,
        max_length: int | None,
        cached: bool,
        beam_size: int = 1,
        alpha: float = 0.0,
        keep_finished: bool = False,
        start: int = BOS,
        cache: DecoderCache | None = None,
    ):
        given = src if src is not None else prefix
        if prefix is not None and len(prefix) != len(given):
            raise ConfigError(
                f"the batch of prefixes is {len(prefix)}, and that of "
                f"sources {len(given)}: give each source one prefix."
            )
        self.device = next(model.parameters()).device
        self.model = model
        self.beam_size, self.alpha = beam_size, alpha
        self.keep_finished = keep_finished
        sentences = 1 if given is None else given.size(0)
        self.source = ()  # memory and mask, as decode takes them
        if src is not None:
            src = src.to(self.device)
            self.source = model.encode(src), padding_mask(src, PAD)
        self.prefix = None
        if prefix is not None:
            prefix = prefix.to(self.device)
            self.prefix = prefix.repeat_interleave(beam_size, dim=0)
        limits = length_limits(model, src, prefix, max_length)
        self.limits = limits.to(self.device).repeat_interleave(beam_size)
        rows = sentences * beam_size
        self.tgt = torch.full((rows, 1), start, device=self.device)
        if prefix is not None:  # the common length is decoded in one step
            shared = int((prefix != PAD).sum(dim=1).min())
            self.tgt = torch.cat([self.tgt, self.prefix[:, :shared]], dim=1)
        self.finished = self.tgt.size(1) > self.limits
        scores = torch.full((sentences, beam_size), -torch.inf)
        scores[:, 0] = 0.0  # all beams are alike at first: only one may grow
        self.scores = scores.to(self.device)
        self.cache = (cache or model.new_cache()) if cached else None
        self.indices = torch.arange(sentences)  # of the batch's sentences
        self._results: dict[int, list[Hypothesis]] = {}

    def done(self) -> bool:
        """True once every row has its eos, or has reached its limit."""
        return bool(self.finished.all())

    def logits(self) -> Float[Tensor, "rows vocab"]:
        """Logits of each row's next token."""
        known = 0 if self.cache is None else self.cache.length
        new = self.tgt[:, known:]
        return last_logits(self.model, new, *self.source, cache=self.cache)

    def forced_tokens(self) -> Int[Tensor, " rows"]:
        """The forced next token of each row, or -1.

        Pad for a finished row; within a prefix, the prefix's next token.
        """
        forced = torch.full_like(self.tgt[:, 0], -1)
        step = self.tgt.size(1) - 1
        if self.prefix is not None and step < self.prefix.size(1):
            wanted = self.prefix[:, step]
            forced = torch.where(wanted != PAD, wanted, forced)
        return forced.masked_fill(self.finished, PAD)

    def force(
        self, scores: Float[Tensor, "rows vocab"]
    ) -> Float[Tensor, "rows vocab"]:
        """Give 0 to a row's forced token and -∞ to the others, in place.

        In other rows, pad and bos get -∞: no target contains them.
        """
        scores[:, [PAD, BOS]] = -torch.inf
        forced = self.forced_tokens()
        rows = (forced >= 0).nonzero().squeeze(1)
        scores[rows] = -torch.inf
        scores[rows, forced[rows]] = 0.0
        return scores

    def append(
        self,
        beams: Int[Tensor, "sentences beam"],
        tokens: Int[Tensor, "sentences beam"],
        scores: Float[Tensor, "sentences beam"],
    ) -> None:
        """Append these tokens, each to the beam that it extends."""
        if self.beam_size > 1:
            first = torch.arange(len(beams), device=self.device)
            self._select((first[:, None] * self.beam_size + beams).flatten())
        self.scores = scores
        self.tgt = torch.cat([self.tgt, tokens.view(-1, 1)], dim=1)
        self.finished = self.finished | (tokens.flatten() == EOS)
        self.finished |= self.tgt.size(1) > self.limits
        if not self.keep_finished:
            self._drop_finished()

    def _select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, and these sentences of the source if named."""
        self.tgt, self.finished = self.tgt[rows], self.finished[rows]
        if self.cache is not None and sentences is None:
            self.cache.select(rows)
        elif self.cache is not None:
            self.cache.select(rows, sentences)

    def _drop_finished(self) -> None:
        """Remove finished sentences from the batch, if there are enough."""
        finished = self.finished.view(-1, self.beam_size).all(dim=1)
        stay = (~finished).nonzero().squeeze(1)
        if not 0 < len(stay) <= MAX_UNFINISHED * len(finished):
            return
        self._store(finished.nonzero().squeeze(1))
        beams = torch.arange(self.beam_size, device=self.device)
        rows = (stay[:, None] * self.beam_size + beams).flatten()
        self._select(rows, stay)
        self.source = tuple(_select_rows(part, stay) for part in self.source)
        self.limits, self.scores = self.limits[rows], self.scores[stay]
        self.indices = self.indices[stay.cpu()]
        if self.prefix is not None:
            self.prefix = self.prefix[rows]

    def lengths(self) -> Int[Tensor, " rows"]:
        """Number of tokens in each row, eos included, bos not."""
        return (self.tgt[:, 1:] != PAD).sum(dim=1)

    def results(self) -> list[list[Hypothesis]]:
        """Each sentence's beam, best first, in the order of the batch.

        Raises:
            DivergedError: the scores are not numbers.
        """
        self._store(torch.arange(len(self.indices), device=self.device))
        return [self._results[i] for i in sorted(self._results)]

    def _store(self, sentences: Int[Tensor, " sentences"]) -> None:
        """Store the hypotheses of these sentences of the batch."""
        require_numbers(~self.scores.isnan())
        lengths = self.lengths().view_as(self.scores)
        ranked = self.scores / length_penalty(lengths, self.alpha)
        targets = self.tgt.view(*self.scores.shape, -1)
        parts = (targets, self.scores, ranked)
        rows = zip(*(p[sentences].tolist() for p in parts), strict=True)
        indices = self.indices[sentences.cpu()].tolist()
        for index, beam in zip(indices, rows, strict=True):
            hypotheses = [
                Hypothesis(without_special(ids), log_prob, score)
                for ids, log_prob, score in zip(*beam, strict=True)
                if log_prob > -torch.inf
            ]
            hypotheses.sort(key=lambda h: h.score, reverse=True)
            self._results[index] = hypotheses


def last_logits(
    model: nn.Module, new: Int[Tensor, "rows length"], *source, **settings
) -> Float[Tensor, "rows vocab"]:
    """Logits of the last position, by ``decode``.

    Of a prompt the others are not needed, and with a large vocabulary they
    cost as much as several layers: the product is given the last state alone.
    A hook does it, so that a model needs no argument for it.
    """
    to_logits, hook = getattr(model, "to_logits", None), nullcontext()
    if isinstance(to_logits, nn.Module):
        hook = to_logits.register_forward_pre_hook(
            lambda _, states: (states[0][:, -1:],)
        )
    with hook:
        return model.decode(new, *source, **settings)[:, -1]


def require_numbers(valid: Bool[Tensor, "..."]) -> None:
    """Raise a DivergedError unless all of a model's predictions are valid."""
    if not valid.all():
        raise DivergedError(
            "the model's predictions are not numbers (NaN), as after a "
            "training that has diverged: take an earlier checkpoint."
        )


def without_special(ids: list[int]) -> list[int]:
    return [i for i in ids if i not in (PAD, BOS, EOS)]


def _select_rows(part: Tensor | list, rows: Tensor) -> Tensor | list:
    """Rows of a tensor, or of each tensor of a list."""
    if isinstance(part, list):
        return [_select_rows(one, rows) for one in part]
    return part[rows]


def length_limits(
    model: nn.Module,
    src: Int[Tensor, "batch source"] | None,
    prefix: Int[Tensor, "batch prefix"] | None,
    max_length: int | None,
) -> Int[Tensor, " sentences"]:
    """Maximum number of target tokens for each sentence.

    ``max_length``, or the sentence's own length + 50; at most as many as
    there are learned positions.

    Raises:
        ConfigError: ``max_length`` is no number of tokens, or a prefix is
            longer.
    """
    require_fits("max_length", max_length, Count | None)
    given = src if src is not None else prefix
    lengths = torch.zeros(1, dtype=torch.long)
    if given is not None:
        lengths = (given != PAD).sum(dim=1)
    limits = lengths + EXTRA_LENGTH
    if max_length is not None:
        limits = torch.full_like(lengths, max_length)
    longest = max_position_embeddings(model)
    if longest is not None:
        limits = limits.clamp(max=longest)
    if prefix is not None:
        begun = (prefix != PAD).sum(dim=1)
        if (begun > limits).any():
            row = int((begun - limits).argmax())
            raise ConfigError(
                f"the prefix has {int(begun[row])} tokens, but max_length is "
                f"{int(limits[row])}: shorten it or allow more."
            )
    return limits
