"""Buckets by length: an epoch's batches in few shapes, with little padding.

Pairs of like length are put together to keep padding small, and in *a small
set of repeating shapes*, in new company each epoch; what has to prepare itself
for each shape meets few. Chapter 11 derives and measures it.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_course.batches.pairs import Batch, IdPair, padded_batch
from transformer_course.data.tokenizer import PAD
from transformer_course.errors import ConfigError

MOST_CELLS = 512
"""Groups to join at the most: beyond it, lengths are taken more coarsely."""


class Shape(NamedTuple):
    """The size of a batch's tensors; ``target`` is the width of tgt_in, and
    ``source`` is 0 where there is none."""

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
        """Ids that an epoch computes for this group, padding counted.

        A text without a source counts one more: the bos that it begins from.
        """
        shape = self.shape(token_budget)
        area = shape.rows * (max(1, shape.source) + shape.target)
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
    queue = [(paid, pair) for pair, paid in prices.items()]
    heapq.heapify(queue)
    while queue:
        cheapest, pair = heapq.heappop(queue)
        if prices.get(pair) != cheapest:
            continue  # a group of the pair has been joined since
        if len(merged) <= max_shapes and cheapest >= 0:
            break
        i, j = pair
        group, members = merged.pop(j)
        merged[i] = merged[i][0].join(group), merged[i][1] + members
        cost[i] = merged[i][0].cost(token_budget)
        for other in merged:
            del prices[min(j, other), max(j, other)]
            if other != i:
                pair = min(i, other), max(i, other)
                prices[pair] = price(*pair)
                heapq.heappush(queue, (prices[pair], pair))
    return [members for _, members in merged.values()]


class BucketedBatches:
    """Batches of a small set of repeating shapes, anew for each epoch.

    Pairs are put into buckets by the lengths of both sides. A bucket has one
    shape: as wide as its longest sentences, with as many rows as the budget
    allows. Each epoch deals a bucket's pairs out at random and mixes the
    batches of all buckets. Every pair comes once an epoch; where a bucket
    does not fill its batches, a batch has one row of nothing but padding.

    Args:
        pairs: from :func:`~.pairs.encode_pairs` or
            :func:`~.pairs.encode_texts`.
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
        lengths = [(len(src or ()), len(tgt) - 1) for src, tgt in pairs]
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
            widths = group.source, group.target + 1
            no_row = (None if pairs[0][0] is None else [], [])
            rows = [*(pairs[i] for i in places), no_row]
            self._buckets.append(padded_batch(rows, pad_id, widths))
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
            for deal in _deal(len(bucket.tgt) - 1, count, shape, generator)
        ]
        for place in torch.randperm(len(deals), generator=generator).tolist():
            bucket, rows = deals[place]
            yield bucket.take(rows)


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
