"""Greedy search, sampling and beam search (chapter 13).

Every search reads the model through ``encode``, ``decode`` and ``new_cache``,
and so serves the Transformer, the language model and the GRU alike: with a
source, the model is also handed the memory that it made of it. It knows ids
only; text is the tokenizer's business.
"""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.checks import (
    Alpha,
    Constraint,
    Count,
    between,
    require_fits,
)
from transformer_course.data.tokenizer import BOS
from transformer_course.decoding.search import (
    Hypothesis,
    Search,
    length_penalty,
    require_numbers,
)
from transformer_course.errors import ConfigError
from transformer_course.models.mode import for_inference
from transformer_course.models.transformer import DecoderCache

MIN_TEMPERATURE = 1e-20
"""Logits divided by less would overflow in fp32."""
Temperature = Annotated[
    float,
    Constraint(
        lambda t: MIN_TEMPERATURE <= t <= 1 / MIN_TEMPERATURE,
        f"of at least {MIN_TEMPERATURE}; top_k 1 is its limit at 0",
    ),
]
TopP = Annotated[float, Constraint(lambda p: 0 < p <= 1, "in (0, 1]")]
MinP = Annotated[float, between(0, 1)]
Pick = Callable[[Float[Tensor, "rows vocab"]], Int[Tensor, " rows"]]
OnToken = Callable[[Int[Tensor, " rows"]], None]
"""Called with each row's new token; pad for a finished row."""


class Step(NamedTuple):
    """One step of a beam search: the candidates, and those kept.

    Impossible candidates have minus infinity: a finished hypothesis continues
    with pad alone, and at first all but one of a beam are empty.
    """

    log_probs: Float[Tensor, "sentences beam vocab"]
    """Log-probability of each hypothesis extended by each token."""
    scores: Float[Tensor, "sentences beam vocab"]
    """log_probs over the length penalty: the largest are kept."""
    beams: Int[Tensor, "sentences beam"]
    """The previous hypothesis that each kept one extends."""
    tokens: Int[Tensor, "sentences beam"]
    """The token that each kept hypothesis appends."""


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
    """Append the most probable token, step by step.

    Args:
        model: anything with ``encode``, ``decode`` and ``new_cache``; put
            into evaluation mode meanwhile.
        src: source ids, padded; None for a model that reads none.
        prefix: tokens that each target must begin with, padded on the right;
            of a prompt, all of it.
        max_length: maximum number of target tokens, prefix included; when
            None, 50 more than the row's own source (or prefix) has. Learned
            positions limit it too.
        cached: keep keys and values between tokens. False computes the whole
            prefix again: the same tokens, slowly.
        on_token: called after each step with the token that each row got;
            of a prefix, only with what not all rows have.

    Returns:
        For each row the target tokens, without bos and eos.

    Raises:
        DivergedError: the model's predictions are not numbers.
    """
    return _extend(model, src, argmax, prefix, max_length, cached, on_token)


def sample(
    model: nn.Module,
    src: Int[Tensor, "batch source"] | None = None,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    generator: torch.Generator | None = None,
    prefix: Int[Tensor, "batch prefix"] | None = None,
    start: int = BOS,
    max_length: int | None = None,
    cached: bool = True,
    cache: DecoderCache | None = None,
    on_token: OnToken | None = None,
) -> list[list[int]]:
    """Draw each token from the model's distribution, scaled or truncated.

    Args:
        model: as for :func:`greedy_search`; so are the arguments below that
            are not named here.
        src: source ids, padded.
        temperature: divides the logits; below 1 sharper, above 1 flatter.
        top_k: draw from the k most probable tokens; 0 takes all.
        top_p: draw from the smallest set of tokens that holds this share of
            the probability (Holtzman et al. 2020); 1 takes all.
        min_p: draw from the tokens that are at least this share as probable
            as the likeliest (Nguyen et al. 2024); 0 takes all.
        generator: source of randomness, on the model's device.
        prefix: tokens that each target must begin with.
        start: the token before all others; a model whose texts begin with no
            bos is given their first token.
        max_length: maximum number of target tokens.
        cached: keep keys and values between tokens.
        cache: keys and values of the targets' beginning that an earlier call
            has read; extended in place.
        on_token: called after each step.

    Raises:
        ConfigError: temperature not above 0 or too close to it, top_k
            negative, top_p not in (0, 1], or min_p not in [0, 1].
        DivergedError: the model's predictions are not numbers.
    """
    pick = drawing(temperature, top_k, top_p, min_p, generator)
    given = model, src, pick, prefix, max_length, cached, on_token
    return _extend(*given, start=start, cache=cache)


def drawing(
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    generator: torch.Generator | None = None,
) -> Pick:
    """What draws a token from each row of logits.

    Its arguments are those of :func:`sample`, which says what they mean.

    Raises:
        ConfigError: as :func:`sample`.
    """
    require_fits("temperature", temperature, Temperature)
    require_fits("top_k", top_k, Count)
    require_fits("top_p", top_p, TopP)
    require_fits("min_p", min_p, MinP)

    def pick(logits: Float[Tensor, "rows vocab"]) -> Int[Tensor, " rows"]:
        kept = keep_top_p(keep_top_k(logits / temperature, top_k), top_p)
        kept = keep_min_p(kept, min_p)
        probabilities = kept.softmax(dim=-1)
        require_numbers(probabilities[:, 0].isfinite())
        drawn = torch.multinomial(probabilities, 1, generator=generator)
        return drawn.squeeze(1)

    return pick


def keep_top_k(
    logits: Float[Tensor, "rows vocab"], k: int
) -> Float[Tensor, "rows vocab"]:
    """Set all but the k largest logits of each row to minus infinity."""
    if k == 0 or k >= logits.size(-1):
        return logits
    threshold = logits.topk(k, dim=-1).values[:, -1:]
    return logits.masked_fill(logits < threshold, -torch.inf)


def keep_top_p(
    logits: Float[Tensor, "rows vocab"], p: float
) -> Float[Tensor, "rows vocab"]:
    """Keep the logits of the smallest set with probability p; others -∞."""
    if p >= 1:
        return logits
    ordered, order = logits.sort(dim=-1, descending=True)
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    left_out = before >= p
    left_out[..., 0] = False  # the likeliest stays, however small p is
    ordered = ordered.masked_fill(left_out, -torch.inf)
    return torch.empty_like(logits).scatter_(-1, order, ordered)


def keep_min_p(
    logits: Float[Tensor, "rows vocab"], share: float
) -> Float[Tensor, "rows vocab"]:
    """Keep logits of tokens at least ``share`` as probable as the likeliest;
    set others to -∞."""
    if share <= 0:
        return logits
    below = logits < logits.amax(dim=-1, keepdim=True) + math.log(share)
    return logits.masked_fill(below, -torch.inf)


@for_inference
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
    """Extend the best ``beam_size`` hypotheses of each sentence at each step.

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
        max_length: maximum number of target tokens.
        cached: keep keys and values between tokens.
        on_step: called with each step, before the next.

    Returns:
        For each sentence its beam, best first.

    Raises:
        ConfigError: beam_size below 1, or alpha not from -10 to 10.
        DivergedError: the model's predictions are not numbers.
    """
    if beam_size < 1:
        raise ConfigError(f"beam_size is {beam_size}: it must be at least 1.")
    require_fits("alpha", alpha, Alpha)
    traced = on_step is not None  # it is shown the complete distribution
    given = model, src, prefix, max_length, cached
    search = Search(*given, beam_size, alpha, keep_finished=traced)
    while not search.done():
        log_probs = search.logits().log_softmax(-1, dtype=torch.float32)
        # of one row's tokens a beam has room for its own size at the most
        kept = log_probs.size(-1)
        if not traced:
            kept = min(beam_size, kept)
        best = search.force(log_probs).topk(kept)
        total = search.scores[..., None] + best.values.view(
            -1, beam_size, kept
        )
        lengths = search.lengths() + ~search.finished
        penalty = length_penalty(lengths, alpha).view(-1, beam_size, 1)
        ranked = total / penalty
        chosen = ranked.flatten(1).topk(beam_size).indices
        beams = chosen // kept
        ids = best.indices.view(-1, beam_size, kept)
        tokens = ids.flatten(1).gather(1, chosen)
        if traced:
            by_id = ids.argsort(dim=-1)
            of_all = total.gather(-1, by_id), ranked.gather(-1, by_id)
            on_step(Step(*of_all, beams, tokens))
        search.append(beams, tokens, total.flatten(1).gather(1, chosen))
    return search.results()


@for_inference
def _extend(
    model,
    src,
    pick: Pick,
    prefix,
    max_length,
    cached,
    on_token,
    start=BOS,
    cache=None,
):
    """Greedy search and sampling: one row a sentence, one token a step."""
    keep = pick is not argmax or on_token is not None
    given = model, src, prefix, max_length, cached
    search = Search(*given, keep_finished=keep, start=start, cache=cache)
    while not search.done():
        tokens = pick(search.force(search.logits().float()))[:, None]
        search.append(torch.zeros_like(tokens), tokens, search.scores)
        if on_token is not None:
            on_token(tokens[:, 0])
    return [best.ids for (best,) in search.results()]


def argmax(logits: Float[Tensor, "rows vocab"]) -> Int[Tensor, " rows"]:
    """The likeliest token of each row.

    Raises:
        DivergedError: they are not numbers.
    """
    best = logits.max(dim=-1)
    require_numbers(best.values.isfinite())
    return best.indices
