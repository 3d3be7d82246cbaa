"""Translation of text by a model and its tokenizer (chapters 13 and 15)."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

from transformer_course.batches.pairs import pad_rows, sorted_batches
from transformer_course.data import plain
from transformer_course.data.tokenizer import (
    EOS,
    AnyTokenizer,
    Tokenizer,
)
from transformer_course.decoding.generate import (
    Hypothesis,
    beam_search,
    greedy_search,
    sample,
)
from transformer_course.decoding.search import length_limits
from transformer_course.models.mode import eval_mode

BROKEN = "\ufffd"
"""The replacement character: bytes that make no character, or not yet."""

Found = TypeVar("Found")


def encode_source(
    tokenizer: Tokenizer, text: str, max_length: int | None = None
) -> list[int]:
    """Ids of a source sentence, truncated to ``max_length``, eos included.

    The same as a source side of ``encode_pairs``.
    """
    ids = tokenizer.encode(text)
    if max_length is not None:
        ids = ids[: max_length - 1]
    return [*ids, EOS]


MapBatches: TypeAlias = Callable[..., Iterable]
"""Applies a search to batches; yields its results in their order."""
OnCut = Callable[[list[int]], None]
"""Called with the indices of sentences whose translation was cut off."""


class Candidate(NamedTuple):
    """A translation found by beam search."""

    text: str
    score: float
    """log_prob over the length penalty: the ranking's key."""
    log_prob: float
    """Log-probability of the target, eos included, in nats."""


def translate(
    model: nn.Module,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    beam_size: int = 1,
    alpha: float = 0.6,
    batch_size: int = 64,
    map_batches: MapBatches = map,
    max_length: int | None = None,
    on_cut: OnCut | None = None,
) -> list[str]:
    """Translate sentences, in batches of like length, in the order given.

    An empty sentence gives an empty translation. One longer than the model's
    ``max_length`` is cut off there: warn the reader with :func:`too_long`.

    Args:
        model: put into evaluation mode meanwhile.
        tokenizer: the model's own.
        sentences: one sentence each.
        beam_size: 1 searches greedily.
        alpha: exponent of the beam's length penalty.
        batch_size: sentences at a time.
        map_batches: how batches are searched; ``map``, one after another.
        max_length: maximum number of target tokens; when None, 50 more than
            the source has.
        on_cut: called with the indices of the sentences whose translation
            had not ended there, if there are any.
    """
    settings = {"max_length": max_length}

    def search(src: Tensor) -> list[list[int]]:
        if beam_size == 1:
            return greedy_search(model, src, **settings)
        how = {"beam_size": beam_size, "alpha": alpha} | settings
        return [beam[0].ids for beam in beam_search(model, src, **how)]

    given = model, tokenizer, sentences, batch_size
    found, limits = _search_batches(*given, search, map_batches, max_length)
    report_cut(found, limits, on_cut)
    return [tokenizer.decode(ids or []) for ids in found]


def candidates(
    model: nn.Module,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    beam_size: int = 5,
    alpha: float = 0.6,
    batch_size: int = 64,
    map_batches: MapBatches = map,
    max_length: int | None = None,
    on_cut: OnCut | None = None,
) -> list[list[Candidate]]:
    """The beam of each sentence, best first, with scores.

    Two candidates of different tokens may be the same text. An empty
    sentence has one candidate, which is empty and certain. Arguments and
    errors are those of :func:`translate`, but a beam of 1 has scores too.
    """

    how = {"beam_size": beam_size, "alpha": alpha, "max_length": max_length}

    def search(src: Tensor) -> list[list[Hypothesis]]:
        return beam_search(model, src, **how)

    given = model, tokenizer, sentences, batch_size
    found, limits = _search_batches(*given, search, map_batches, max_length)
    best = [beam[0].ids if beam else None for beam in found]
    report_cut(best, limits, on_cut)
    nothing = [Hypothesis([], 0.0, 0.0)]
    return [
        [
            Candidate(tokenizer.decode(h.ids), h.score, h.log_prob)
            for h in beam or nothing
        ]
        for beam in found
    ]


def _search_batches(
    model: nn.Module,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    batch_size: int,
    search: Callable[[Tensor], list[Found]],
    map_batches: MapBatches,
    max_length: int | None,
) -> tuple[list[Found | None], list[int]]:
    """Result of ``search`` for each sentence, and the limit of its length;
    None and 0 for an empty one."""
    limit = model.config.max_length
    filled = [i for i, sentence in enumerate(sentences) if sentence.strip()]
    ids = [encode_source(tokenizer, sentences[i], limit) for i in filled]
    found: list[Found | None] = [None] * len(sentences)
    limits = [0] * len(sentences)
    batches = list(sorted_batches(ids, batch_size))
    with eval_mode(model):  # once for all searches, which may be threads
        results = map_batches(search, [src for _, src in batches])
        for (places, src), some in zip(batches, results, strict=True):
            longest = length_limits(model, src, None, max_length).tolist()
            for place, *result in zip(places, some, longest, strict=True):
                found[filled[place]], limits[filled[place]] = result
    return found, limits


def report_cut(
    found: list[list[int] | None], limits: list[int], on_cut: OnCut | None
) -> None:
    """Call ``on_cut`` with the targets that have as many tokens as they may:
    of one that has ended, eos is the last of these, and not in ``found``."""
    cut = [
        i
        for i, (ids, limit) in enumerate(zip(found, limits, strict=True))
        if ids and len(ids) >= limit
    ]
    if cut and on_cut:
        on_cut(cut)


class TextStreamer:
    """Incremental decoding: the part of a growing text that is final.

    Text that a later token may still change is held back: a character with
    missing bytes and, where text is detokenized, an English word that may
    continue (``plain.settled``).

    Args:
        tokenizer: the tokens' own.
        language: of the text to detokenize; None leaves spaces between words.
    """

    def __init__(self, tokenizer: Tokenizer, language: str | None = None):
        self.tokenizer = tokenizer
        self.language = language
        self.ids: list[int] = []
        self.shown = ""

    def add(self, token: int) -> str:
        """Append a token; return the new final text."""
        self.ids.append(token)
        text = self.tokenizer.decode(self.ids)
        text = text.rstrip(BROKEN)
        if self.language is not None:
            text = plain.settled(text, self.language)
        return self._grow(text)

    def end(self) -> str:
        """Return the text held back."""
        return self._grow(self.tokenizer.decode(self.ids))

    def _grow(self, text: str) -> str:
        if self.language is not None:
            text = plain.to_plain(text, self.language)
        new = text[len(self.shown) :]
        self.shown += new
        return new


def draw(
    model: nn.Module,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    seed: int,
    **settings,
) -> list[str]:
    """Draw one answer to each sentence, in one batch.

    Args:
        model: put into evaluation mode meanwhile.
        tokenizer: the model's own.
        sentences: one sentence each.
        seed: of the random numbers.
        settings: temperature, top_k and so on, of
            :func:`~.generate.sample`.
    """
    limit = model.config.max_length
    ids = [encode_source(tokenizer, text, limit) for text in sentences]
    device = next(model.parameters()).device
    generator = torch.Generator(device).manual_seed(seed)
    drawn = sample(model, pad_rows(ids), generator=generator, **settings)
    return [tokenizer.decode(target) for target in drawn]


def too_long(
    model: nn.Module,
    tokenizer: AnyTokenizer,
    sentences: Sequence[str],
    ends: int = 1,
) -> list[int]:
    """Indices of the sentences that ``max_length`` truncates.

    Args:
        model: with a config that has ``max_length``.
        tokenizer: the model's own.
        sentences: texts.
        ends: special ids added to each sentence: eos, or [CLS] and [SEP].
    """
    limit = model.config.max_length - ends
    return [
        i
        for i, sentence in enumerate(sentences)
        if len(tokenizer.encode(sentence)) > limit
    ]
