"""From text to text: a model with its tokenizer (chapters 13 and 15)."""

import re
from collections.abc import Sequence
from itertools import groupby

from torch import Tensor, nn

from transformer_course.data.batches import sorted_batches
from transformer_course.errors import ConfigError
from transformer_course.generate import beam_search, greedy_search
from transformer_course.tokenizer import EOS, UNK, Tokenizer

BYTE = re.compile(r"<0x[0-9A-F]{2}>")
"""How SentencePiece writes the piece of one byte."""


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


def translate(
    model: nn.Module,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    beam_size: int = 1,
    alpha: float = 0.6,
    batch_size: int = 64,
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

    Raises:
        ConfigError: batch_size below 1.
    """
    if batch_size < 1:
        raise ConfigError(f"batch_size is {batch_size}: it must be above 0.")
    limit = model.config.max_length
    filled = [i for i, sentence in enumerate(sentences) if sentence.strip()]
    ids = [encode_source(tokenizer, sentences[i], limit) for i in filled]
    written = [""] * len(sentences)
    was_training = model.training
    model.eval()
    for places, src in sorted_batches(ids, batch_size):
        targets = _search(model, src, beam_size, alpha)
        for place, target in zip(places, targets, strict=True):
            written[filled[place]] = tokenizer.decode(target)
    model.train(was_training)
    return written


def too_long(
    model: nn.Module, tokenizer: Tokenizer, sentences: Sequence[str]
) -> list[int]:
    """Which sentences are cut off, for being longer than ``max_length``."""
    limit = model.config.max_length
    return [
        i
        for i, sentence in enumerate(sentences)
        if len(encode_source(tokenizer, sentence)) > limit
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


def _search(
    model: nn.Module, src: Tensor, beam_size: int, alpha: float
) -> list[list[int]]:
    if beam_size == 1:
        return greedy_search(model, src)
    beams = beam_search(model, src, beam_size=beam_size, alpha=alpha)
    return [beam[0].ids for beam in beams]
