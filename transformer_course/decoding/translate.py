"""From text to text: a model with its tokenizer (chapters 13 and 15)."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from transformer_course.batches.pairs import pad_rows, sorted_batches
from transformer_course.data import plain
from transformer_course.data.tokenizer import EOS, UNK, Tokenizer
from transformer_course.decoding.generate import (
    Hypothesis,
    beam_search,
    greedy_search,
    sample,
)
from transformer_course.errors import ConfigError
from transformer_course.models.mode import eval_mode

BYTE = re.compile(r"<0x[0-9A-F]{2}>")
"""How SentencePiece writes the piece of one byte."""
BROKEN = "\ufffd"
"""What stands for bytes that make no character, or not yet."""

Found = TypeVar("Found")


def encode_source(
    tokenizer: Tokenizer, text: str, max_length: int | None = None
) -> list[int]:
    """The ids of a source sentence: its pieces, cut off if need be, and eos.

    The same as a source side of ``encode_pairs``.
    """
    ids = tokenizer.encode(text)
    if max_length is not None:
        ids = ids[: max_length - 1]
    return [*ids, EOS]


class Searches(NamedTuple):
    """Who looks for a target: both are given a model and source ids."""

    greedy: Callable[..., list[list[int]]] = greedy_search
    beam: Callable[..., list[list[Hypothesis]]] = beam_search
    over: Callable[..., Iterable] = map
    """Applies a search to batches, and gives what it finds in their order."""


OURS = Searches()
"""Those for the package's own models."""


class Candidate(NamedTuple):
    """One of the translations that a beam search has found."""

    text: str
    score: float
    """What candidates are ranked by: log_prob over the length penalty."""
    log_prob: float
    """Of the target's tokens, eos included, in nats."""


def translate(
    model: nn.Module,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    beam_size: int = 1,
    alpha: float = 0.6,
    batch_size: int = 64,
    searches: Searches = OURS,
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
        searches: those that the model is made for.

    Raises:
        ConfigError: batch_size below 1.
    """

    def search(src: Tensor) -> list[list[int]]:
        if beam_size == 1:
            return searches.greedy(model, src)
        beams = searches.beam(model, src, beam_size=beam_size, alpha=alpha)
        return [beam[0].ids for beam in beams]

    found = _in_batches(
        model, tokenizer, sentences, batch_size, search, searches.over
    )
    return [tokenizer.decode(ids or []) for ids in found]


def candidates(
    model: nn.Module,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    beam_size: int = 5,
    alpha: float = 0.6,
    batch_size: int = 64,
    searches: Searches = OURS,
) -> list[list[Candidate]]:
    """The whole beam of each sentence, best first, with scores.

    Two candidates may be cut into different pieces and be the same text. An
    empty sentence has one, which is empty and certain. Arguments and errors
    are those of :func:`translate`, except that a beam of 1 has scores too.
    """

    def search(src: Tensor) -> list[list[Hypothesis]]:
        return searches.beam(model, src, beam_size=beam_size, alpha=alpha)

    found = _in_batches(
        model, tokenizer, sentences, batch_size, search, searches.over
    )
    nothing = [Hypothesis([], 0.0, 0.0)]
    return [
        [
            Candidate(tokenizer.decode(h.ids), h.score, h.log_prob)
            for h in beam or nothing
        ]
        for beam in found
    ]


def _in_batches(
    model: nn.Module,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    batch_size: int,
    search: Callable[[Tensor], list[Found]],
    over: Callable[..., Iterable[list[Found]]],
) -> list[Found | None]:
    """What ``search`` finds for each sentence; None for an empty one."""
    if batch_size < 1:
        raise ConfigError(f"batch_size is {batch_size}: it must be above 0.")
    limit = model.config.max_length
    filled = [i for i, sentence in enumerate(sentences) if sentence.strip()]
    ids = [encode_source(tokenizer, sentences[i], limit) for i in filled]
    found: list[Found | None] = [None] * len(sentences)
    batches = list(sorted_batches(ids, batch_size))
    with eval_mode(model):
        results = over(search, [src for _, src in batches])
        for (places, _), some in zip(batches, results, strict=True):
            for place, result in zip(places, some, strict=True):
                found[filled[place]] = result
    return found


class TextStream:
    """A text that grows by tokens: what can be shown of it so far.

    Text that a later token may still change is held back: a character of
    which not all bytes are there and, where text is joined as people write
    it, an English word that may go on (``plain.settled``).

    Args:
        tokenizer: the tokens' own.
        language: join words as people write them; None leaves them apart.
    """

    def __init__(self, tokenizer: Tokenizer, language: str | None = None):
        self.tokenizer = tokenizer
        self.language = language
        self.ids: list[int] = []
        self.shown = ""

    def add(self, token: int) -> str:
        """Take a token; return what to write after all that came before."""
        self.ids.append(token)
        text = self.tokenizer.decode(self.ids)
        if BYTE.fullmatch(self.tokenizer.piece(token)):
            text = text.rstrip(BROKEN)
        if self.language is not None:
            text = plain.settled(text, self.language)
        return self._grow(text)

    def end(self) -> str:
        """Return what was held back."""
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
        seed: fixes what is drawn.
        settings: temperature, top_k and so on, of
            :func:`~.generate.sample`.
    """
    limit = model.config.max_length
    ids = [encode_source(tokenizer, text, limit) for text in sentences]
    device = next(model.parameters()).device
    generator = torch.Generator(device).manual_seed(seed)
    with eval_mode(model):
        drawn = sample(model, pad_rows(ids), generator=generator, **settings)
    return [tokenizer.decode(target) for target in drawn]


def too_long(
    model: nn.Module,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    ends: int = 1,
) -> list[int]:
    """Which sentences are cut off, for being longer than ``max_length``.

    Args:
        model: whose limit it is.
        tokenizer: its own.
        sentences: to be read.
        ends: ids that come to those of a sentence: eos, or [CLS] and [SEP].
    """
    limit = model.config.max_length - ends
    return [
        i
        for i, sentence in enumerate(sentences)
        if len(tokenizer.encode(sentence)) > limit
    ]


def unknown(tokenizer: Tokenizer, text: str) -> list[str]:
    """What the tokenizer has learned no piece for.

    Words, where the vocabulary is one of words; else characters, which are
    spelt as bytes. Since every character of the training text has a piece, a
    model has learned nothing about these.
    """
    cut = zip(tokenizer.encode(text), tokenizer.pieces(text), strict=True)
    found: list[str] = []
    for is_byte, group in groupby(cut, lambda p: bool(BYTE.fullmatch(p[1]))):
        if is_byte:
            found += tokenizer.decode(i for i, _ in group)
            continue
        for i, piece in group:  # neighbours unknown are one piece
            found += piece.replace("▁", " ").split() if i == UNK else []
    return list(dict.fromkeys(found))
