"""Sentence pairs as tensors: padding, the target shift, buckets by length.

A batch is a rectangle, sentences are not: what is left over is filled with
``pad_id``. Pairs of like length are put together to keep that waste small,
and in *a small set of repeating shapes*, in new company each epoch; what has
to prepare itself for each shape meets few. Chapter 11 derives and measures it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_course.data.corpus import ParallelText
from transformer_course.errors import ConfigError
from transformer_course.tokenizer import BOS, EOS, PAD, Tokenizer

IdPair = tuple[list[int], list[int]]
MOST_CELLS = 512
"""Groups to join at the most: beyond it, lengths are taken more coarsely."""


class Batch(NamedTuple):
    """Source and target ids of a few sentence pairs, padded on the right."""

    src: Int[Tensor, "batch source"]
    """Each row a source sentence and eos."""
    tgt: Int[Tensor, "batch target_plus_one"]
    """Each row bos, a target sentence and eos."""

    @property
    def tgt_in(self) -> Int[Tensor, "batch target"]:
        """What the decoder reads: all but the last column.

        A row shorter than the longest keeps its eos; the answer expected
        there is padding, which the loss leaves out.
        """
        return self.tgt[:, :-1]

    @property
    def tgt_out(self) -> Int[Tensor, "batch target"]:
        """What the decoder shall answer: all but the first column."""
        return self.tgt[:, 1:]

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        return Batch(
            self.src.to(device, non_blocking=True),
            self.tgt.to(device, non_blocking=True),
        )


def encode_pairs(
    tokenizer: Tokenizer, text: ParallelText, max_length: int
) -> list[IdPair]:
    """Sentence pairs as ids, with bos and eos where the model wants them.

    Args:
        tokenizer: cuts both sides.
        text: the sentence pairs.
        max_length: ids per side at the most; what is longer is cut before
            its eos.

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
    """:func:`encode_pairs` with the pieces drawn at random (Kudo 2018)."""
    lines = [*text.src, *text.tgt]
    ids = tokenizer.encode_sampled(lines, alpha, seed)
    return _with_ends(ids[: len(text)], ids[len(text) :], max_length)


def encode_texts(
    tokenizer: Tokenizer, texts: Sequence[str], max_length: int
) -> list[IdPair]:
    """Texts for a decoder-only model; a long one in several blocks.

    Args:
        tokenizer: cuts the texts into pieces.
        texts: sentences, or whole chapters.
        max_length: ids in a block at the most.

    Returns:
        Pairs whose source is eos alone, since there is none, and whose target
        is bos and a block of ids. Blocks follow each other without a gap or
        an overlap; the last one of a text ends with eos.

    Raises:
        ConfigError: ``max_length`` leaves no room for bos and eos.
    """
    _check_room(max_length)
    size = max_length - 1
    pairs = []
    for text in texts:
        ids = [*tokenizer.encode(text), EOS]
        starts = range(0, len(ids), size)
        pairs += [([EOS], [BOS, *ids[s : s + size]]) for s in starts]
    return pairs


def _with_ends(sources, targets, max_length: int) -> list[IdPair]:
    """Cut ids off at ``max_length``, with bos and eos where they belong."""
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
    rows: Sequence[Sequence[int]], width: int | None = None, pad_id: int = PAD
) -> Int[Tensor, "batch length"]:
    """Rows of ids as one tensor, filled up on the right.

    Args:
        rows: ids of the sentences.
        width: length to fill up to; that of the longest row when None.
        pad_id: what to fill with.
    """
    if width is None:
        width = max(map(len, rows), default=0)
    padded = [list(row) + [pad_id] * (width - len(row)) for row in rows]
    return torch.tensor(padded, dtype=torch.int64).view(len(padded), width)


def padded_batch(pairs: Sequence[IdPair], pad_id: int = PAD) -> Batch:
    """One batch of all ``pairs``, each side as wide as its longest row."""
    sources, targets = zip(*pairs, strict=True)
    return Batch(
        pad_rows(sources, pad_id=pad_id), pad_rows(targets, pad_id=pad_id)
    )


def sorted_batches(
    sequences: Sequence[Sequence[int]], size: int, pad_id: int = PAD
) -> Iterator[tuple[list[int], Int[Tensor, "batch length"]]]:
    """Sequences of like length together, for decoding.

    Args:
        sequences: source ids.
        size: sequences in a batch at the most.
        pad_id: what to fill up with.

    Yields:
        The places of the batch's sequences in ``sequences``, and the batch.
    """
    order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
    for start in range(0, len(order), size):
        places = order[start : start + size]
        yield places, pad_rows([sequences[i] for i in places], pad_id=pad_id)


class Shape(NamedTuple):
    """The size of a batch's tensors; ``target`` is the width of tgt_in."""

    rows: int
    source: int
    target: int


class _Group(NamedTuple):
    """Pairs that share a shape, while shapes are being chosen."""

    count: int
    source: int
    target: int

    def join(self, other: "_Group") -> "_Group":
        return _Group(
            self.count + other.count,
            max(self.source, other.source),
            max(self.target, other.target),
        )

    def batches(self, token_budget: int) -> int:
        most_rows = token_budget // max(self.source, self.target)
        return -(-self.count // most_rows)

    def shape(self, token_budget: int) -> Shape:
        rows = -(-self.count // self.batches(token_budget))
        return Shape(rows, self.source, self.target)

    def cost(self, token_budget: int) -> int:
        """Ids that an epoch computes for this group, padding counted."""
        shape = self.shape(token_budget)
        area = shape.rows * (shape.source + shape.target)
        return area * self.batches(token_budget)


def _merge_groups(
    groups: list[_Group], token_budget: int, max_shapes: int
) -> list[list[int]]:
    """Join groups, cheapest first, until few enough are left.

    Joining two saves half-filled batches but pads the shorter pairs; it goes
    on below ``max_shapes`` as long as that pays.

    Returns:
        For each group that is left, the indices of those it was made of.
    """
    merged = {i: (group, [i]) for i, group in enumerate(groups)}
    cost = {i: group.cost(token_budget) for i, group in enumerate(groups)}

    def price(i: int, j: int) -> int:
        joined = merged[i][0].join(merged[j][0])
        return joined.cost(token_budget) - cost[i] - cost[j]

    prices = {(i, j): price(i, j) for j in merged for i in range(j)}
    while prices:
        i, j = min(prices, key=lambda pair: (prices[pair], pair))
        if len(merged) <= max_shapes and prices[i, j] >= 0:
            break
        group, members = merged.pop(j)
        merged[i] = merged[i][0].join(group), merged[i][1] + members
        cost[i] = merged[i][0].cost(token_budget)
        for other in merged:
            del prices[min(j, other), max(j, other)]
            if other != i:
                pair = min(i, other), max(i, other)
                prices[pair] = price(*pair)
    return [members for _, members in merged.values()]


class BucketedBatches:
    """Batches of a small set of repeating shapes, anew for each epoch.

    Pairs are put into buckets by the lengths of both sides. A bucket has one
    shape: as wide as its longest sentences, with as many rows as the budget
    allows. Each epoch deals a bucket's pairs out at random and mixes the
    batches of all buckets. Every pair comes once an epoch; where a bucket
    does not fill its batches, a batch has one row of nothing but padding.

    Args:
        pairs: from :func:`encode_pairs`.
        token_budget: rows times the wider of source and target are at the
            most this many.
        seed: with an epoch's number it fixes the epoch's batches.
        step: pairs whose lengths differ by less may share a bucket from the
            start; larger is quicker to set up, smaller pads less.
        max_shapes: number of shapes at the most.
        pad_id: what to fill with.

    Raises:
        ConfigError: there are no pairs, or one is longer than the budget.
    """

    def __init__(
        self,
        pairs: Sequence[IdPair],
        token_budget: int,
        seed: int = 0,
        step: int = 2,
        max_shapes: int = 12,
        pad_id: int = PAD,
    ):
        if not pairs:
            raise ConfigError(
                "there are no sentence pairs to make batches of."
            )
        self.seed, self.pad_id = seed, pad_id
        lengths = [(len(src), len(tgt) - 1) for src, tgt in pairs]
        _check_budget(lengths, token_budget)
        cells = _cells(lengths, step)
        while len(cells) > MOST_CELLS:
            step *= 2
            cells = _cells(lengths, step)
        groups = [_group(lengths, places) for places in cells]
        merged = _merge_groups(groups, token_budget, max_shapes)
        buckets = [
            [i for m in members for i in cells[m]] for members in merged
        ]
        buckets.sort(key=lambda places: _group(lengths, places)[1:])
        self.shapes: list[Shape] = []
        """The shapes of the batches, narrowest first."""
        self._buckets: list[Batch] = []
        self._counts: list[int] = []
        for places in buckets:
            group = _group(lengths, places)
            self.shapes.append(group.shape(token_budget))
            self._counts.append(group.batches(token_budget))
            self._buckets.append(
                _bucket([pairs[i] for i in places], group, pad_id)
            )
        self.real_tokens = sum(s + t for s, t in lengths)
        """Ids in an epoch's src and tgt_in, padding left out."""

    def __len__(self) -> int:
        """Number of batches in every epoch."""
        return sum(self._counts)

    @property
    def padding_share(self) -> float:
        """Share of padding among the ids of src and tgt_in of an epoch."""
        cells = sum(
            count * shape.rows * (shape.source + shape.target)
            for count, shape in zip(self._counts, self.shapes, strict=True)
        )
        return 1 - self.real_tokens / cells

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of one epoch; they depend on seed and number only."""
        generator = torch.Generator().manual_seed(
            self.seed * 1_000_003 + number
        )
        deals = [
            (bucket, deal)
            for bucket, count, shape in zip(
                self._buckets, self._counts, self.shapes, strict=True
            )
            for deal in _deal(len(bucket.src) - 1, count, shape, generator)
        ]
        for place in torch.randperm(len(deals), generator=generator).tolist():
            bucket, rows = deals[place]
            yield Batch(bucket.src[rows], bucket.tgt[rows])


class ResampledBatches:
    """Batches of pairs that are made anew for each epoch.

    Subword regularisation draws other pieces each time, so lengths and
    buckets change as well.

    Args:
        pairs_of: the pairs of an epoch, from its number alone.
        token_budget: as for :class:`BucketedBatches`, and so is what follows.
        seed: with an epoch's number it fixes the epoch's batches.
        max_shapes: number of shapes in an epoch at the most.
    """

    def __init__(
        self,
        pairs_of: Callable[[int], Sequence[IdPair]],
        token_budget: int,
        seed: int = 0,
        max_shapes: int = 12,
    ):
        self._pairs_of = pairs_of
        self._settings = token_budget, seed, max_shapes
        self._number, self._current = 0, self._make(0)

    def __len__(self) -> int:
        """Number of batches in the epoch used last; others have about as
        many."""
        return len(self._current)

    @property
    def padding_share(self) -> float:
        """Share of padding in the epoch used last."""
        return self._current.padding_share

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of one epoch; they depend on seed and number only."""
        if number != self._number:
            self._number, self._current = number, self._make(number)
        return self._current.epoch(number)

    def _make(self, number: int) -> BucketedBatches:
        token_budget, seed, max_shapes = self._settings
        pairs = self._pairs_of(number)
        return BucketedBatches(
            pairs, token_budget, seed, max_shapes=max_shapes
        )


def _check_budget(lengths: list[tuple[int, int]], token_budget: int) -> None:
    longest = max(max(pair) for pair in lengths)
    if longest > token_budget:
        raise ConfigError(
            f"a sentence pair of {longest} tokens does not fit into "
            f"token_budget {token_budget}: raise the budget, or cut the pairs "
            "with a smaller max_length."
        )


def _cells(lengths: list[tuple[int, int]], step: int) -> list[list[int]]:
    """Places of the pairs, by their lengths rounded up to a grid."""
    cells: dict[tuple[int, int], list[int]] = {}
    for place, (source, target) in enumerate(lengths):
        cells.setdefault((-(-source // step), -(-target // step)), []).append(
            place
        )
    return [cells[key] for key in sorted(cells)]


def _group(lengths: list[tuple[int, int]], places: list[int]) -> _Group:
    sources, targets = zip(*(lengths[i] for i in places), strict=True)
    return _Group(len(places), max(sources), max(targets))


def _bucket(pairs: list[IdPair], group: _Group, pad_id: int) -> Batch:
    """All pairs of a bucket as one batch, and a last row of padding."""
    sources, targets = zip(*pairs, ([], []), strict=True)
    return Batch(
        pad_rows(sources, group.source, pad_id),
        pad_rows(targets, group.target + 1, pad_id),
    )


def _deal(
    pairs: int, batches: int, shape: Shape, generator: torch.Generator
) -> list[Int[Tensor, " rows"]]:
    """Deal ``pairs`` shuffled cards to ``batches`` hands of equal size.

    The card with number ``pairs`` stands for the row of padding; a hand gets
    one of them at the most.
    """
    cards = torch.full((shape.rows * batches,), pairs)
    cards[:pairs] = torch.randperm(pairs, generator=generator)
    return list(cards.view(shape.rows, batches).T)
