"""Batches of labelled texts of similar length (chapter 17)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_course.batches.buckets import BucketedBatches
from transformer_course.batches.pairs import pad_rows
from transformer_course.data.labelled import LabelledText
from transformer_course.data.tokenizer import PAD, AnyTokenizer
from transformer_course.device import moved
from transformer_course.errors import ConfigError


class LabelledBatch(NamedTuple):
    """Texts of similar length, with their classes."""

    ids: Int[Tensor, "batch length"]
    """Each row [CLS], a text and [SEP], padded on the right."""
    labels: Int[Tensor, " batch"]
    """Numbers of classes."""

    to = moved


def text_rows(
    tokenizer: AnyTokenizer, texts: Sequence[str], max_length: int
) -> list[list[int]]:
    """Encode texts, between the tokenizer's [CLS] and [SEP].

    Args:
        tokenizer: of the texts.
        texts: to classify.
        max_length: maximum number of ids; longer texts are truncated before
            [SEP].

    Raises:
        ConfigError: ``max_length`` leaves no room for a piece.
    """
    if max_length < 3:
        raise ConfigError(
            f"max_length is {max_length}: a text needs at least 3 ids, [CLS], "
            "a piece and [SEP]."
        )
    room, cls, sep = max_length - 2, tokenizer.cls_id, tokenizer.sep_id
    return [[cls, *tokenizer.encode(t)[:room], sep] for t in texts]


def in_order(
    rows: Sequence[Sequence[int]], labels: Sequence[int], size: int
) -> list[LabelledBatch]:
    """Batches of at most ``size`` texts, in the order given.

    Args:
        rows: ids of the texts.
        labels: of each.
        size: texts in a batch.
    """
    return [
        LabelledBatch(
            pad_rows(rows[start : start + size]),
            torch.tensor(labels[start : start + size]),
        )
        for start in range(0, len(rows), size)
    ]


class LabelledBatches:
    """Batches of similar length, drawn anew in each epoch.

    :class:`~.buckets.BucketedBatches` with the text as source and the label
    as the one token of the target; rows of padding only are left out.

    Args:
        tokenizer: of the texts.
        text: the training texts.
        max_length: maximum number of ids of a text.
        token_budget: maximum of texts in a batch times the longest.
        seed: determines, with an epoch's number, the epoch's batches.
        max_shapes: maximum number of widths.

    Raises:
        ConfigError: there is no text, or one is longer than the budget.
    """

    def __init__(
        self,
        tokenizer: AnyTokenizer,
        text: LabelledText,
        max_length: int,
        token_budget: int,
        seed: int = 0,
        max_shapes: int = 12,
    ):
        rows = text_rows(tokenizer, text.texts, max_length)
        pairs = [(r, [n]) for r, n in zip(rows, text.labels, strict=True)]
        self._buckets = BucketedBatches(
            pairs, token_budget, seed, max_shapes=max_shapes
        )

    def __len__(self) -> int:
        return len(self._buckets)

    @property
    def padding_share(self) -> float:
        """Share of padding among the ids of an epoch."""
        return self._buckets.padding_share

    def epoch(self, number: int) -> Iterator[LabelledBatch]:
        """The batches of one epoch, always the same for one number."""
        for batch in self._buckets.epoch(number):
            real = batch.src[:, 0] != PAD
            yield LabelledBatch(batch.src[real], batch.tgt[real, 0])
