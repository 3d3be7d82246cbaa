"""Speculative decoding: guess tokens, check them in one call (chapter 21).

Leviathan et al. 2023, "Fast Inference from Transformers via Speculative
Decoding". Here both models search greedily, so that a guess is accepted where
it is the large model's own choice: the tokens are those of ``greedy_search``.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.decoding.search import (
    length_limits,
    require_numbers,
    without_special,
)
from transformer_course.models.masks import padding_mask
from transformer_course.models.mode import for_inference

Draft = Callable[[list[int], int], list[int]]
"""From the tokens so far, bos included, and a number: at most so many guesses
of the next ones."""


class Speculation(NamedTuple):
    """A target, and what it took."""

    ids: list[int]
    """Target tokens, without bos and eos."""
    calls: int
    """Calls of the large model."""
    drafted: int
    """Tokens that were guessed."""
    accepted: int
    """Guesses that became part of the target."""


@for_inference
def speculative_search(
    model: nn.Module,
    draft: Draft,
    src: Int[Tensor, "1 source"] | None = None,
    *,
    count: int = 4,
    prefix: Int[Tensor, "1 prefix"] | None = None,
    max_length: int | None = None,
) -> Speculation:
    """Greedy search that checks several guessed tokens in each call.

    Args:
        model: with ``encode``, ``decode`` and a cache that can be cut; put
            into evaluation mode meanwhile.
        draft: guesses tokens: a :class:`DraftModel`, or
            :func:`prompt_lookup`.
        src: source ids of one sentence; None for a model that reads none.
        count: tokens to guess before each call; 0 is greedy search.
        prefix: tokens that the target must begin with, such as a prompt.
        max_length: maximum number of target tokens, as in ``greedy_search``.

    Raises:
        ConfigError: a cache that cannot be cut so far.
        DivergedError: the model's predictions are not numbers.
    """
    source, device = _source(model, src), next(model.parameters()).device
    limit = int(length_limits(model, src, prefix, max_length))
    ids = [BOS, *([] if prefix is None else prefix[0].tolist())]
    cache, ended = model.new_cache(), False
    calls = drafted = accepted = 0
    while not ended and len(ids) <= limit:
        guess = draft(ids, min(count, limit - len(ids))) if count else []
        new = torch.tensor([ids[cache.length :] + guess], device=device)
        logits = model.decode(new, *source, cache=cache)
        own = choices(logits[0, -len(guess) - 1 :])
        right = agreeing(guess, own)
        found = own[: right + 1]
        if EOS in found:
            found, ended = found[: found.index(EOS) + 1], True
        ids += found
        cache.cut(len(ids) - 1)  # the newest token has not been read yet
        calls += 1
        drafted += len(guess)
        accepted += min(right, len(found))
    return Speculation(without_special(ids), calls, drafted, accepted)


def choices(logits: Float[Tensor, "positions vocab"]) -> list[int]:
    """What greedy search would write at each position."""
    scores = logits.float()
    scores[:, [PAD, BOS]] = -torch.inf  # no target contains them
    best = scores.max(dim=-1)
    require_numbers(best.values.isfinite())
    return best.indices.tolist()


def agreeing(guess: list[int], own: list[int]) -> int:
    """The number of guesses before the first that is wrong."""
    pairs = enumerate(zip(guess, own, strict=False))
    shorter = min(len(guess), len(own))
    return next((i for i, (a, b) in pairs if a != b), shorter)


class DraftModel:
    """Guesses by a smaller model with the same vocabulary, greedily.

    Args:
        model: the small model, in evaluation mode.
        src: source ids of the sentence; None for a model that reads none.
    """

    def __init__(self, model: nn.Module, src: Tensor | None = None):
        self.model = model
        self.device = next(model.parameters()).device
        with torch.inference_mode():
            self.source = _source(model, src)
        self.cache = model.new_cache()
        self.read: list[int] = []

    @torch.inference_mode()
    def __call__(self, ids: list[int], count: int) -> list[int]:
        """At most ``count`` tokens after ``ids``; none after an eos."""
        self.cache.cut(agreeing(self.read, ids[:-1]))
        guess: list[int] = []
        while len(guess) < count and EOS not in guess:
            new = [(ids + guess)[self.cache.length :]]
            new = torch.tensor(new, device=self.device)
            logits = self.model.decode(new, *self.source, cache=self.cache)
            guess += choices(logits[0, -1:])
        self.read = (ids + guess)[: self.cache.length]
        return guess


def prompt_lookup(ids: list[int], count: int, longest: int = 3) -> list[int]:
    """The tokens that followed the last ones when they came before.

    No model is needed (Saxena 2023, "Prompt Lookup Decoding"). The longest
    match counts, and of these the latest.
    """
    for size in range(longest, 0, -1):
        for at in range(len(ids) - size - 1, -1, -1):
            if ids[at : at + size] == ids[-size:]:
                return ids[at + size : at + size + count]
    return []


def _source(model: nn.Module, src: Tensor | None) -> tuple:
    """Memory and mask, as ``decode`` takes them."""
    if src is None:
        return ()
    src = src.to(next(model.parameters()).device)
    return model.encode(src), padding_mask(src, PAD)
