"""Text as tensors: bos and eos, padding, the target shift.

Sentences of a batch are padded to one length. A batch has a source and a
target or, for a language model, a target alone. Chapter 11 derives it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_course.data.text import ParallelText
from transformer_course.data.tokenizer import BOS, EOS, PAD, Tokenizer
from transformer_course.device import moved
from transformer_course.errors import ConfigError

IdPair = tuple[list[int] | None, list[int]]
"""Ids of a source, or None where there is none, and ids of a target."""


class Batch(NamedTuple):
    """Source and target ids of a few sentence pairs, padded on the right."""

    src: Int[Tensor, "batch source"] | None
    """Each row a source sentence and eos; None where there are no sources."""
    tgt: Int[Tensor, "batch target_plus_one"]
    """Each row bos, a target sentence and eos."""

    @property
    def tgt_in(self) -> Int[Tensor, "batch target"]:
        """Input of the decoder: all but the last column.

        A row shorter than the longest keeps its eos; the answer expected
        there is padding, which the loss leaves out.
        """
        return self.tgt[:, :-1]

    @property
    def tgt_out(self) -> Int[Tensor, "batch target"]:
        """Target of the decoder: all but the first column."""
        return self.tgt[:, 1:]

    @property
    def inputs(self) -> tuple[Int[Tensor, "batch length"], ...]:
        """Inputs of the model: the source, if any, and ``tgt_in``."""
        source = () if self.src is None else (self.src,)
        return *source, self.tgt_in

    to = moved

    def repeat(self, times: int) -> "Batch":
        """Repeat the rows ``times`` times."""
        return self._map(lambda ids: ids.repeat(times, 1))

    def take(self, rows: Int[Tensor, " rows"]) -> "Batch":
        """Select rows by index, in this order."""
        return self._map(lambda ids: ids[rows])

    def _map(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """Apply ``change`` to each tensor."""
        src = None if self.src is None else change(self.src)
        return Batch(src, change(self.tgt))


@runtime_checkable
class AnyBatch(Protocol):
    """A batch of any task.

    A named tuple of tensors with a row for each example, or of None where a
    part is left out.
    """

    def to(self, device: torch.device | str) -> "AnyBatch":
        """Move the batch to a device."""


@runtime_checkable
class Batches(Protocol):
    """Training batches, by epoch."""

    def __len__(self) -> int:
        """Number of batches in an epoch."""

    def epoch(self, number: int) -> Iterator[AnyBatch]:
        """The batches of one epoch, always the same for one number."""


def encode_pairs(
    tokenizer: Tokenizer, text: ParallelText, max_length: int
) -> list[IdPair]:
    """Encode sentence pairs, with bos and eos where the model expects them.

    Args:
        tokenizer: of both sides.
        text: the sentence pairs.
        max_length: maximum number of ids on each side; longer sides are
            truncated before eos.

    Returns:
        For each pair the source ids, ending with eos, and the target ids,
        between bos and eos.

    Raises:
        ConfigError: ``max_length`` leaves no room for bos and eos.
    """
    sources = map(tokenizer.encode, text.src)
    targets = map(tokenizer.encode, text.tgt)
    return _with_ends(sources, targets, max_length)


def sampled_pairs(
    tokenizer: Tokenizer,
    text: ParallelText,
    max_length: int,
    alpha: float,
    seed: int,
) -> list[IdPair]:
    """Encode pairs with subword regularisation (Kudo 2018)."""
    lines = [*text.src, *text.tgt]
    ids = tokenizer.encode_sampled(lines, alpha, seed)
    return _with_ends(ids[: len(text)], ids[len(text) :], max_length)


def encode_texts(
    tokenizer: Tokenizer, texts: Sequence[str], max_length: int
) -> list[IdPair]:
    """Encode texts for a language model; long ones in several blocks.

    Args:
        tokenizer: of the texts.
        texts: sentences, or chapters.
        max_length: maximum number of ids in a block.

    Returns:
        Pairs without a source, whose target is bos and a block of ids.
        Blocks neither overlap nor leave gaps; the last one of a text ends
        with eos.

    Raises:
        ConfigError: ``max_length`` leaves no room for bos and eos.
    """
    _check_room(max_length)
    size = max_length - 1
    pairs = []
    for text in texts:
        ids = [*tokenizer.encode(text), EOS]
        starts = range(0, len(ids), size)
        pairs += [(None, [BOS, *ids[s : s + size]]) for s in starts]
    return pairs


def _with_ends(sources, targets, max_length: int) -> list[IdPair]:
    """Truncate ids to ``max_length``, bos and eos included."""
    _check_room(max_length)
    return [
        (
            src[: max_length - 1] + [EOS],
            [BOS] + tgt[: max_length - 2] + [EOS],
        )
        for src, tgt in zip(sources, targets, strict=True)
    ]


def _check_room(max_length: int) -> None:
    if max_length < 2:
        raise ConfigError(
            f"max_length is {max_length}: a target needs at least 2 ids, bos "
            "and eos."
        )


def pad_rows(
    rows: Sequence[Sequence[int]], width: int | None = None
) -> Int[Tensor, "batch length"]:
    """Pad rows of ids on the right into one tensor.

    Args:
        rows: ids of the sentences.
        width: padded length; that of the longest row when None.
    """
    if width is None:
        width = max(map(len, rows), default=0)
    padded = [list(row) + [PAD] * (width - len(row)) for row in rows]
    return torch.tensor(padded, dtype=torch.int64).view(len(padded), width)


def padded_batch(
    pairs: Sequence[IdPair],
    widths: tuple[int | None, int | None] = (None, None),
) -> Batch:
    """Pad pairs into one batch, all with sources or all without.

    Args:
        pairs: ids of the sources and targets.
        widths: padded lengths; those of the longest when None.

    Raises:
        ConfigError: there is no pair.
    """
    sources, targets = zip(*pairs, strict=True)
    return Batch(
        None if sources[0] is None else pad_rows(sources, widths[0]),
        pad_rows(targets, widths[1]),
    )


def sorted_batches(
    sequences: Sequence[Sequence[int]], size: int
) -> Iterator[tuple[list[int], Int[Tensor, "batch length"]]]:
    """Batches of sequences of similar length, for decoding.

    Args:
        sequences: source ids.
        size: maximum number of sequences in a batch.

    Yields:
        The indices of the batch's sequences in ``sequences``, and the batch.
    """
    order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
    for start in range(0, len(order), size):
        places = order[start : start + size]
        yield places, pad_rows([sequences[i] for i in places])
