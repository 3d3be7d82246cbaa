"""Buckets by length: an epoch's batches in few shapes, with little padding.

Batches contain pairs of similar length, which keeps padding small, and have
*few repeating shapes*, which suits kernels that are prepared for each shape.
Their pairs change each epoch. Chapter 11 derives and measures it.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_course.batches.pairs import Batch, IdPair, padded_batch
from transformer_course.errors import ConfigError

STEP = 2
"""Lengths are rounded up to multiples of it; larger is faster to set up,
smaller pads less."""
MAX_GROUPS = 512
"""Maximum number of groups before merging; beyond it, the grid is coarser."""


class Shape(NamedTuple):
    """Size of a batch's tensors.

    ``target`` is the width of tgt_in; ``source`` is 0 without a source.
    """

    rows: int
    source: int
    target: int


class _Group(NamedTuple):
    """A group of pairs that share a shape."""

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
        """Ids of this group in an epoch, padding included.

        A text without a source counts one more, for its bos.
        """
        shape = self.shape(token_budget)
        area = shape.rows * (max(1, shape.source) + shape.target)
        return area * self.batches(token_budget)


def _merge_groups(
    groups: list[_Group], token_budget: int, max_shapes: int
) -> list[list[int]]:
    """Merge groups greedily, the cheapest pair first.

    Merging saves half-filled batches but pads the shorter pairs. It continues
    below ``max_shapes`` as long as it reduces the cost.

    Returns:
        For each remaining group, the indices of the groups merged into it.
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
    """Batches of few repeating shapes, drawn anew for each epoch.

    Pairs are sorted into buckets by the lengths of both sides. A bucket has
    one shape: as wide as its longest sentences, with as many rows as the
    budget allows. Each epoch assigns a bucket's pairs to batches at random
    and shuffles the batches of all buckets. Every pair occurs once an epoch;
    a batch that is not full has one row of padding only.

    Args:
        pairs: from :func:`~.pairs.encode_pairs` or
            :func:`~.pairs.encode_texts`.
        token_budget: maximum of rows times the wider of source and target.
        seed: determines, with an epoch's number, the epoch's batches.
        max_shapes: maximum number of shapes.

    Raises:
        ConfigError: there are no pairs, or one is longer than the budget.
    """

    def __init__(
        self,
        pairs: Sequence[IdPair],
        token_budget: int,
        seed: int = 0,
        max_shapes: int = 12,
    ):
        self.seed = seed
        lengths = [(len(src or ()), len(tgt) - 1) for src, tgt in pairs]
        _check_budget(lengths, token_budget)
        step, by_length = STEP, _group_by_length(lengths, STEP)
        while len(by_length) > MAX_GROUPS:
            step *= 2
            by_length = _group_by_length(lengths, step)
        groups = [_group(lengths, places) for places in by_length]
        merged = _merge_groups(groups, token_budget, max_shapes)
        buckets = [
            [i for m in members for i in by_length[m]] for members in merged
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
            self._buckets.append(padded_batch(rows, widths))
        self.real_tokens = sum(s + t for s, t in lengths)
        """Ids in an epoch's src and tgt_in, padding left out."""

    def __len__(self) -> int:
        """Number of batches in every epoch."""
        return sum(self._counts)

    @property
    def padding_share(self) -> float:
        """Share of padding among the ids of src and tgt_in of an epoch."""
        ids = sum(
            count * shape.rows * (shape.source + shape.target)
            for count, shape in zip(self._counts, self.shapes, strict=True)
        )
        return 1 - self.real_tokens / ids

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of one epoch; they depend on seed and number only."""
        generator = torch.Generator().manual_seed(
            self.seed * 1_000_003 + number
        )
        batches = [
            (bucket, rows)
            for bucket, count, shape in zip(
                self._buckets, self._counts, self.shapes, strict=True
            )
            for rows in _assign_to_batches(
                len(bucket.tgt) - 1, count, shape, generator
            )
        ]
        for i in torch.randperm(len(batches), generator=generator).tolist():
            bucket, rows = batches[i]
            yield bucket.take(rows)


class ResampledBatches:
    """Batches whose pairs are encoded anew for each epoch.

    Subword regularisation draws other subwords each time, so lengths and
    buckets change as well.

    Args:
        pairs_of: the pairs of an epoch, from its number alone.
        token_budget: as for :class:`BucketedBatches`, like the others.
        seed: determines, with an epoch's number, the epoch's batches.
        max_shapes: maximum number of shapes in an epoch.
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
        """Number of batches in the latest epoch; others have about as many."""
        return len(self._current)

    @property
    def padding_share(self) -> float:
        """Share of padding in the latest epoch."""
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


def _group_by_length(
    lengths: list[tuple[int, int]], step: int
) -> list[list[int]]:
    """Indices of the pairs, grouped by their lengths in multiples of step."""
    groups: dict[tuple[int, int], list[int]] = {}
    for i, (source, target) in enumerate(lengths):
        key = -(-source // step), -(-target // step)
        groups.setdefault(key, []).append(i)
    return [groups[key] for key in sorted(groups)]


def _group(lengths: list[tuple[int, int]], places: list[int]) -> _Group:
    sources, targets = zip(*(lengths[i] for i in places), strict=True)
    return _Group(len(places), max(sources), max(targets))


def _assign_to_batches(
    pairs: int, batches: int, shape: Shape, generator: torch.Generator
) -> list[Int[Tensor, " rows"]]:
    """Assign the indices of shuffled pairs to batches of equal size.

    Index ``pairs`` is that of the padding row; a batch gets at most one.
    """
    rows = torch.full((shape.rows * batches,), pairs)
    rows[:pairs] = torch.randperm(pairs, generator=generator)
    return list(rows.view(shape.rows, batches).T)
