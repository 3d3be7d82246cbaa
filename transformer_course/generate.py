"""From a model to text: greedy, sampling and beam search (chapter 13).

Every search reads the model through ``encode``, ``decode`` and ``new_cache``,
and so serves the Transformer, the language model and the GRU alike: with a
source, the model is also handed the memory that it made of it. It knows ids
only; text is the tokenizer's business.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.errors import ConfigError, DivergedError
from transformer_course.masks import padding_mask
from transformer_course.positional_encoding import reach
from transformer_course.tokenizer import BOS, EOS, PAD

EXTRA_LENGTH = 50
"""A target may be so much longer than its source (the paper's section 6.1)."""

Pick = Callable[[Float[Tensor, "rows vocab"]], Int[Tensor, " rows"]]
OnToken = Callable[[Int[Tensor, " rows"]], None]
"""Is handed the token that each row has just got; pad for one that ended."""


class Hypothesis(NamedTuple):
    """One way to end a search."""

    ids: list[int]
    """Target tokens, without bos and eos."""
    log_prob: float
    """Sum of the tokens' log-probabilities, eos included, in nats."""
    score: float
    """log_prob over the length penalty: what the beam ranks by."""


class Step(NamedTuple):
    """One step of a beam search: what it could choose from, and its choice.

    Minus infinity stands at what cannot be: a finished hypothesis goes on
    with pad alone, and at first all but one of a beam are empty places.
    """

    log_probs: Float[Tensor, "sentences beam vocab"]
    """Of each hypothesis with each next token, from its first token on."""
    scores: Float[Tensor, "sentences beam vocab"]
    """The same over the length penalty: the largest are kept."""
    beams: Int[Tensor, "sentences beam"]
    """The hypothesis, of those before, that each one kept goes on from."""
    tokens: Int[Tensor, "sentences beam"]
    """The token that each one kept goes on with."""


OnStep = Callable[[Step], None]


def greedy_search(
    model: nn.Module,
    src: Int[Tensor, "batch source"] | None = None,
    *,
    prefix: Int[Tensor, "batch prefix"] | None = None,
    max_length: int | None = None,
    cached: bool = True,
    on_token: OnToken | None = None,
) -> list[list[int]]:
    """Take the most probable token, each time.

    Args:
        model: anything with ``encode``, ``decode`` and ``new_cache``.
        src: source ids, padded; None for a model that reads none.
        prefix: tokens that each target must begin with, padded on the right;
            of a prompt, all of it.
        max_length: tokens to write at the most, prefix included; when None,
            50 more than the row's own source (or prefix) has. Learned
            positions end it where they end.
        cached: keep keys and values between tokens. False computes the whole
            prefix again: the same tokens, slowly.
        on_token: called after each step with the token that each row got;
            of a prefix, only with what not all rows have.

    Returns:
        For each row the target tokens, without bos and eos.
    """
    return _extend(model, src, _argmax, prefix, max_length, cached, on_token)


def sample(
    model: nn.Module,
    src: Int[Tensor, "batch source"] | None = None,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
    prefix: Int[Tensor, "batch prefix"] | None = None,
    max_length: int | None = None,
    cached: bool = True,
    on_token: OnToken | None = None,
) -> list[list[int]]:
    """Draw each token from the model's distribution, made sharper or cut.

    Args:
        model: as for :func:`greedy_search`; so are the arguments below that
            are not named here.
        src: source ids, padded.
        temperature: divides the logits; below 1 sharper, above 1 flatter.
        top_k: draw from the k most probable tokens; 0 takes all.
        top_p: draw from the smallest set of tokens that holds this share of
            the probability (Holtzman et al. 2020); 1 takes all.
        generator: source of randomness, on the model's device.
        prefix: tokens that each target must begin with.
        max_length: tokens to write at the most.
        cached: keep keys and values between tokens.
        on_token: called after each step.

    Raises:
        ConfigError: temperature not above 0, top_k negative, or top_p not in
            (0, 1].
    """
    if temperature <= 0:
        raise ConfigError(
            f"temperature is {temperature}: it must be above 0; its limit at "
            "0 is greedy search (translate, with a beam size of 1)."
        )
    if top_k < 0:
        raise ConfigError(f"top_k is {top_k}: expected 0 (all) or more.")
    if not 0 < top_p <= 1:
        raise ConfigError(
            f"top_p is {top_p}: expected above 0 and at most 1 (all)."
        )

    def pick(logits: Float[Tensor, "rows vocab"]) -> Int[Tensor, " rows"]:
        kept = keep_top_p(keep_top_k(logits / temperature, top_k), top_p)
        probabilities = kept.softmax(dim=-1)
        drawn = torch.multinomial(probabilities, 1, generator=generator)
        return drawn.squeeze(1)

    return _extend(model, src, pick, prefix, max_length, cached, on_token)


def keep_top_k(
    logits: Float[Tensor, "rows vocab"], k: int
) -> Float[Tensor, "rows vocab"]:
    """Logits with all but the k largest of each row at minus infinity."""
    if k == 0 or k >= logits.size(-1):
        return logits
    threshold = logits.topk(k, dim=-1).values[:, -1:]
    return logits.masked_fill(logits < threshold, -torch.inf)


def keep_top_p(
    logits: Float[Tensor, "rows vocab"], p: float
) -> Float[Tensor, "rows vocab"]:
    """Logits of the smallest set whose probability reaches p; others -∞."""
    if p >= 1:
        return logits
    ordered, order = logits.sort(dim=-1, descending=True)
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    ordered = ordered.masked_fill(before >= p, -torch.inf)
    return torch.empty_like(logits).scatter_(-1, order, ordered)


def length_penalty(length: Tensor | int, alpha: float):
    """((5 + length) / 6)^α (Wu et al. 2016, section 7): what scores are
    divided by, so that long targets are not ruled out."""
    return ((5 + length) / 6) ** alpha


@torch.inference_mode()
def beam_search(
    model: nn.Module,
    src: Int[Tensor, "batch source"] | None = None,
    *,
    beam_size: int = 5,
    alpha: float = 0.6,
    prefix: Int[Tensor, "batch prefix"] | None = None,
    max_length: int | None = None,
    cached: bool = True,
    on_step: OnStep | None = None,
) -> list[list[Hypothesis]]:
    """Keep the best few hypotheses of each sentence, and extend them all.

    A finished hypothesis stays in the beam and competes with its score, the
    log-probability over the length penalty; the search ends when the whole
    beam is finished. With ``beam_size=1`` it is greedy search; a beam that
    holds every sequence finds the best one.

    Args:
        model: as for :func:`greedy_search`; so are the arguments below that
            are not named here.
        src: source ids, padded; the beams of a sentence share its memory.
        beam_size: hypotheses kept for each sentence.
        alpha: exponent of the length penalty; 0 has none.
        prefix: tokens that each target must begin with.
        max_length: tokens to write at the most.
        cached: keep keys and values between tokens.
        on_step: called with each step, before the next.

    Returns:
        For each sentence its beam, best first.

    Raises:
        ConfigError: beam_size below 1, or alpha not a finite number.
        DivergedError: the model's predictions are not numbers.
    """
    if beam_size < 1:
        raise ConfigError(f"beam_size is {beam_size}: it must be at least 1.")
    if not math.isfinite(alpha):
        raise ConfigError(f"alpha is {alpha}: it must be a finite number.")
    search = _Search(model, src, prefix, max_length, beam_size, cached)
    scores = torch.full((search.sentences, beam_size), -torch.inf)
    scores[:, 0] = 0.0  # all beams are alike at first: only one may grow
    scores = scores.to(search.device)
    while not search.ended():
        log_probs = search.logits().float().log_softmax(dim=-1)
        log_probs = search.force(log_probs)
        log_probs = log_probs.view(search.sentences, beam_size, -1)
        total = scores[..., None] + log_probs  # (sentences, beam, vocab)
        lengths = search.lengths().view_as(scores)[..., None]
        growing = ~search.finished.view_as(scores)[..., None]
        ranked = total / length_penalty(lengths + growing.int(), alpha)
        best = ranked.flatten(1).topk(beam_size).indices
        scores = total.flatten(1).gather(1, best)
        beams, tokens = best // total.size(-1), best % total.size(-1)
        if on_step is not None:
            on_step(Step(total, ranked, beams, tokens))
        search.take(beams, tokens)
    return search.hypotheses(scores, alpha)


class _Search:
    """Targets that grow by a token a step, and the cache that goes along.

    Rows of one sentence stand together: ``sentence * beam_size + beam``.
    """

    def __init__(self, model, src, prefix, max_length, beam_size, cached):
        given = src if src is not None else prefix
        self.device = next(model.parameters()).device
        self.model = model
        self.sentences = 1 if given is None else given.size(0)
        self.beam_size = beam_size
        rows = self.sentences * beam_size
        self.source = ()  # what decode is given of it: memory and mask
        if src is not None:
            src = src.to(self.device)
            self.source = model.encode(src), padding_mask(src, PAD)
        self.prefix = None
        if prefix is not None:
            prefix = prefix.to(self.device)
            self.prefix = prefix.repeat_interleave(beam_size, dim=0)
        limits = _limits(model, src, prefix, max_length)
        self.limits = limits.to(self.device).repeat_interleave(beam_size)
        self.tgt = torch.full((rows, 1), BOS, device=self.device)
        if prefix is not None:  # what all prefixes reach goes in at once
            shared = int((prefix != PAD).sum(dim=1).min())
            self.tgt = torch.cat([self.tgt, self.prefix[:, :shared]], dim=1)
        self.finished = self.tgt.size(1) > self.limits
        self.cache = model.new_cache() if cached else None

    def ended(self) -> bool:
        """Whether every row has its eos, or has reached its limit."""
        return bool(self.finished.all())

    def logits(self) -> Float[Tensor, "rows vocab"]:
        """For the next token of each row."""
        known = 0 if self.cache is None else self.cache.length
        new = self.tgt[:, known:]
        return self.model.decode(new, *self.source, cache=self.cache)[:, -1]

    def force(self, scores: Tensor) -> Tensor:
        """Leave one choice to finished rows (pad) and within the prefix."""
        only = torch.full_like(self.tgt[:, 0], -1)
        step = self.tgt.size(1) - 1
        if self.prefix is not None and step < self.prefix.size(1):
            wanted = self.prefix[:, step]
            only = torch.where(wanted != PAD, wanted, only)
        only = only.masked_fill(self.finished, PAD)
        forced = torch.full_like(scores, -torch.inf)
        forced.scatter_(1, only.clamp(min=0)[:, None], 0.0)
        free = scores.clone()
        free[:, [PAD, BOS]] = -torch.inf  # never written by a model
        return torch.where((only >= 0)[:, None], forced, free)

    def take(self, beams: Tensor, tokens: Tensor) -> None:
        """Go on with these tokens, each after the beam it belongs to."""
        first = torch.arange(self.sentences, device=self.device)
        rows = (first[:, None] * self.beam_size + beams).flatten()
        self.tgt = torch.cat([self.tgt[rows], tokens.view(-1, 1)], dim=1)
        self.finished = self.finished[rows] | (tokens.flatten() == EOS)
        self.finished |= self.tgt.size(1) > self.limits
        if self.cache is not None and self.beam_size > 1:
            self.cache.select(rows)

    def lengths(self) -> Int[Tensor, " rows"]:
        """Tokens written by each row, eos counted, bos not."""
        return (self.tgt[:, 1:] != PAD).sum(dim=1)

    def targets(self) -> list[list[int]]:
        """The tokens of each row, without bos, eos and pad."""
        return [
            [i for i in row if i not in (PAD, BOS, EOS)]
            for row in self.tgt.tolist()
        ]

    def hypotheses(self, scores, alpha) -> list[list[Hypothesis]]:
        """Each sentence's beam, best first.

        Raises:
            DivergedError: the scores are not numbers.
        """
        if scores.isnan().any():
            raise DivergedError(
                "the model's predictions are not numbers (NaN), as after a "
                "training that has diverged: take an earlier checkpoint."
            )
        ranked = scores.flatten() / length_penalty(self.lengths(), alpha)
        rows = list(
            map(
                Hypothesis,
                self.targets(),
                scores.flatten().tolist(),
                ranked.tolist(),
            )
        )
        size = self.beam_size
        beams = [rows[i : i + size] for i in range(0, len(rows), size)]
        return [
            sorted(
                (h for h in beam if h.log_prob > -torch.inf),
                key=lambda h: h.score,
                reverse=True,
            )
            for beam in beams
        ]


@torch.inference_mode()
def _extend(model, src, pick: Pick, prefix, max_length, cached, on_token):
    """Greedy search and sampling: one row a sentence, one token a step."""
    search = _Search(model, src, prefix, max_length, 1, cached)
    while not search.ended():
        tokens = pick(search.force(search.logits().float()))
        search.take(torch.zeros_like(tokens)[:, None], tokens[:, None])
        if on_token is not None:
            on_token(tokens)
    return search.targets()


def _argmax(logits: Float[Tensor, "rows vocab"]) -> Int[Tensor, " rows"]:
    return logits.argmax(dim=-1)


def _limits(model, src, prefix, max_length) -> Int[Tensor, " sentences"]:
    """Most tokens to write for each sentence: what was asked, or its own
    length + 50, whatever stands beside it in the batch; but no more than
    there are learned positions for."""
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
