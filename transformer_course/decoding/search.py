"""The state of a search: targets that grow by a token a step (chapter 13).

What each next token is, the searches of
:mod:`~.generate` decide.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.errors import ConfigError, DivergedError
from transformer_course.models.masks import padding_mask
from transformer_course.models.positional_encoding import reach

PAPERS_ALPHA = 0.6
"""Of the length penalty, where nothing else is said (section 6.1)."""
EXTRA_LENGTH = 50
"""A target may be so much longer than its source (the paper's section 6.1)."""
ROOM = 0.75
"""The batch is made smaller when this share of its sentences, or less, has
not ended: to copy what is left then costs less than it saves."""


class Hypothesis(NamedTuple):
    """One way to end a search."""

    ids: list[int]
    """Target tokens, without bos and eos."""
    log_prob: float
    """Sum of the tokens' log-probabilities, eos included, in nats."""
    score: float
    """log_prob over the length penalty: what the beam ranks by."""


def length_penalty(length: Tensor | int, alpha: float):
    """((5 + length) / 6)^α (Wu et al. 2016, section 7): what scores are
    divided by, so that long targets are not ruled out."""
    return ((5 + length) / 6) ** alpha


class Search:
    """Targets that grow by a token a step, and the cache that goes along.

    Rows of one sentence stand together: ``sentence * beam_size + beam``.

    Args:
        model: anything with ``encode``, ``decode`` and ``new_cache``.
        src: source ids, padded; None for a model that reads none.
        prefix: tokens that each target must begin with, padded on the right.
        max_length: tokens to write at the most; see :func:`limits_of`.
        cached: keep keys and values between tokens.
        beam_size: hypotheses of each sentence.
        alpha: exponent of the length penalty.
        whole: keep sentences that have ended in the batch; else they leave
            it, and cost nothing more.
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
        whole: bool = False,
    ):
        given = src if src is not None else prefix
        self.device = next(model.parameters()).device
        self.model = model
        self.beam_size, self.alpha, self.whole = beam_size, alpha, whole
        sentences = 1 if given is None else given.size(0)
        self.source = ()  # what decode is given of it: memory and mask
        if src is not None:
            src = src.to(self.device)
            self.source = model.encode(src), padding_mask(src, PAD)
        self.prefix = None
        if prefix is not None:
            prefix = prefix.to(self.device)
            self.prefix = prefix.repeat_interleave(beam_size, dim=0)
        limits = limits_of(model, src, prefix, max_length)
        self.limits = limits.to(self.device).repeat_interleave(beam_size)
        rows = sentences * beam_size
        self.tgt = torch.full((rows, 1), BOS, device=self.device)
        if prefix is not None:  # what all prefixes reach goes in at once
            shared = int((prefix != PAD).sum(dim=1).min())
            self.tgt = torch.cat([self.tgt, self.prefix[:, :shared]], dim=1)
        self.finished = self.tgt.size(1) > self.limits
        scores = torch.full((sentences, beam_size), -torch.inf)
        scores[:, 0] = 0.0  # all beams are alike at first: only one may grow
        self.scores = scores.to(self.device)
        self.cache = model.new_cache() if cached else None
        self.places = torch.arange(sentences)  # of those in the batch
        self._left: dict[int, list[Hypothesis]] = {}

    def ended(self) -> bool:
        """Whether every row has its eos, or has reached its limit."""
        return bool(self.finished.all())

    def logits(self) -> Float[Tensor, "rows vocab"]:
        """For the next token of each row."""
        known = 0 if self.cache is None else self.cache.length
        new = self.tgt[:, known:]
        return self.model.decode(new, *self.source, cache=self.cache)[:, -1]

    def only(self) -> Int[Tensor, " rows"]:
        """The one token that a row can go on with, -1 where it may choose.

        It is pad for a row that has ended, and within a prefix its next.
        """
        only = torch.full_like(self.tgt[:, 0], -1)
        step = self.tgt.size(1) - 1
        if self.prefix is not None and step < self.prefix.size(1):
            wanted = self.prefix[:, step]
            only = torch.where(wanted != PAD, wanted, only)
        return only.masked_fill(self.finished, PAD)

    def force(
        self, scores: Float[Tensor, "rows vocab"]
    ) -> Float[Tensor, "rows vocab"]:
        """Give 0 to a row's only token and -∞ to the others, in place.

        Where a row may choose, pad and bos get -∞: no model writes them.
        """
        scores[:, [PAD, BOS]] = -torch.inf
        only = self.only()
        rows = (only >= 0).nonzero().squeeze(1)
        scores[rows] = -torch.inf
        scores[rows, only[rows]] = 0.0
        return scores

    def take(
        self,
        beams: Int[Tensor, "sentences beam"],
        tokens: Int[Tensor, "sentences beam"],
        scores: Float[Tensor, "sentences beam"],
    ) -> None:
        """Go on with these tokens, each after the beam it belongs to."""
        if self.beam_size > 1:
            first = torch.arange(len(beams), device=self.device)
            self._keep((first[:, None] * self.beam_size + beams).flatten())
        self.scores = scores
        self.tgt = torch.cat([self.tgt, tokens.view(-1, 1)], dim=1)
        self.finished = self.finished | (tokens.flatten() == EOS)
        self.finished |= self.tgt.size(1) > self.limits
        if not self.whole:
            self._let_go()

    def _keep(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, and these sentences of the source if named."""
        self.tgt, self.finished = self.tgt[rows], self.finished[rows]
        if self.cache is not None and sentences is None:
            self.cache.select(rows)
        elif self.cache is not None:
            self.cache.select(rows, sentences)

    def _let_go(self) -> None:
        """Take the sentences that have ended out of the batch, if many."""
        ended = self.finished.view(-1, self.beam_size).all(dim=1)
        stay = (~ended).nonzero().squeeze(1)
        if not 0 < len(stay) <= ROOM * len(ended):
            return
        self._note(ended.nonzero().squeeze(1))
        beams = torch.arange(self.beam_size, device=self.device)
        rows = (stay[:, None] * self.beam_size + beams).flatten()
        self._keep(rows, stay)
        self.source = tuple(_rows_of(part, stay) for part in self.source)
        self.limits, self.scores = self.limits[rows], self.scores[stay]
        self.places = self.places[stay.cpu()]
        if self.prefix is not None:
            self.prefix = self.prefix[rows]

    def lengths(self) -> Int[Tensor, " rows"]:
        """Tokens written by each row, eos counted, bos not."""
        return (self.tgt[:, 1:] != PAD).sum(dim=1)

    def found(self) -> list[list[Hypothesis]]:
        """Each sentence's beam, best first, in the order of the batch.

        Raises:
            DivergedError: the scores are not numbers.
        """
        self._note(torch.arange(len(self.places), device=self.device))
        return [self._left[place] for place in sorted(self._left)]

    def _note(self, sentences: Int[Tensor, " sentences"]) -> None:
        """Write down what was found for these sentences of the batch."""
        require_numbers(~self.scores.isnan())
        lengths = self.lengths().view_as(self.scores)
        ranked = self.scores / length_penalty(lengths, self.alpha)
        targets = self.tgt.view(*self.scores.shape, -1)
        parts = (targets, self.scores, ranked)
        rows = zip(*(p[sentences].tolist() for p in parts), strict=True)
        places = self.places[sentences.cpu()].tolist()
        for place, beam in zip(places, rows, strict=True):
            found = [
                Hypothesis(_without_marks(ids), log_prob, score)
                for ids, log_prob, score in zip(*beam, strict=True)
                if log_prob > -torch.inf
            ]
            found.sort(key=lambda h: h.score, reverse=True)
            self._left[place] = found


def require_numbers(are: Bool[Tensor, "..."]) -> None:
    """Raise a DivergedError unless what a model predicts are numbers."""
    if not are.all():
        raise DivergedError(
            "the model's predictions are not numbers (NaN), as after a "
            "training that has diverged: take an earlier checkpoint."
        )


def _without_marks(ids: list[int]) -> list[int]:
    return [i for i in ids if i not in (PAD, BOS, EOS)]


def _rows_of(part: Tensor | list, rows: Tensor) -> Tensor | list:
    """The rows of a tensor, or of each tensor of a list."""
    if isinstance(part, list):
        return [_rows_of(one, rows) for one in part]
    return part[rows]


def limits_of(
    model: nn.Module,
    src: Int[Tensor, "batch source"] | None,
    prefix: Int[Tensor, "batch prefix"] | None,
    max_length: int | None,
) -> Int[Tensor, " sentences"]:
    """Most tokens to write for each sentence.

    What was asked, or its own length + 50, whatever stands beside it in the
    batch; but no more than there are learned positions for.

    Raises:
        ConfigError: a prefix is longer than that.
    """
    given = src if src is not None else prefix
    lengths = torch.zeros(1, dtype=torch.long)
    if given is not None:
        lengths = (given != PAD).sum(dim=1)
    limits = lengths + EXTRA_LENGTH
    if max_length is not None:
        limits = torch.full_like(lengths, max_length)
    longest = reach(model)
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
