"""Buckets: every pair once an epoch, few shapes, little padding."""

import random
from collections import Counter
from itertools import chain

import pytest
import torch

from transformer_course.batches import buckets
from transformer_course.batches.buckets import MAX_GROUPS, BucketedBatches
from transformer_course.data.tokenizer import BOS, EOS
from transformer_course.errors import ConfigError


def random_pairs(number, longest=40, apart=5):
    """Pairs whose ids tell them apart, of lengths that go together."""
    chance = random.Random(0)
    pairs = []
    for i in range(number):
        source = chance.randint(0, longest - 2)
        target = source + chance.randint(-apart, apart)
        target = max(1, min(longest - 1, target))
        pairs.append(([4 + i] * source + [EOS], [BOS, *[4 + i] * target, EOS]))
    return pairs


def real_rows(batch):
    """The pairs of a batch without their padding; rows of padding left out."""
    sources = (
        [[]] * len(batch.tgt) if batch.src is None else batch.src.tolist()
    )
    for src, tgt in zip(sources, batch.tgt.tolist(), strict=True):
        pair = tuple(i for i in src if i), tuple(i for i in tgt if i)
        if any(pair):
            yield pair


CASES = [(1, 64), (2, 40), (37, 64), (300, 100), (500, 512), (200, 40)]


@pytest.mark.parametrize(("number", "budget"), CASES)
@pytest.mark.parametrize("max_shapes", [1, 12])
def test_every_pair_comes_once_an_epoch(number, budget, max_shapes):
    pairs = random_pairs(number)
    batches = BucketedBatches(pairs, budget, max_shapes=max_shapes)
    expected = Counter((tuple(src), tuple(tgt)) for src, tgt in pairs)
    for epoch in (0, 1):
        rows = [list(real_rows(batch)) for batch in batches.epoch(epoch)]
        assert Counter(chain(*rows)) == expected


@pytest.mark.parametrize("most", [3, 6])
def test_where_joining_costs_there_are_as_many_shapes_as_allowed(most):
    batches = BucketedBatches(random_pairs(500), 512, max_shapes=most)
    assert len(batches.shapes) == most


@pytest.mark.parametrize(("number", "budget"), CASES)
def test_shapes_are_few_full_and_within_the_budget(number, budget):
    batches = BucketedBatches(random_pairs(number), budget)
    assert len(batches.shapes) <= 12
    counts, cells, real = Counter(), 0, 0
    for batch in batches.epoch(0):
        rows, source = batch.src.shape
        assert rows * max(source, batch.tgt_in.shape[1]) <= budget
        pairs = list(real_rows(batch))
        assert rows - len(pairs) <= min(1, rows - 1)
        cells += batch.src.numel() + batch.tgt_in.numel()
        real += sum(len(src) + len(tgt) - 1 for src, tgt in pairs)
        assert batch.src.dtype == batch.tgt.dtype == torch.int64
        counts[rows, source, batch.tgt_in.shape[1]] += 1
    assert set(counts) == set(batches.shapes)
    assert sum(counts.values()) == len(batches)
    assert batches.real_tokens == real
    assert batches.padding_share == pytest.approx(1 - real / cells)


def test_epochs_and_seeds_differ():
    pairs = random_pairs(200)
    batches = BucketedBatches(pairs, 128, seed=3)
    first = [list(real_rows(b)) for b in batches.epoch(0)]
    for other in (
        batches.epoch(1),
        BucketedBatches(pairs, 128, seed=4).epoch(0),
    ):
        rows = [list(real_rows(b)) for b in other]
        assert rows != first
        # not only the order of the batches is new
        assert {frozenset(b) for b in rows} != {frozenset(b) for b in first}


def test_many_lengths_are_still_quick_to_set_up(monkeypatch):
    """More groups than are merged: their grid is made coarser."""
    merged = []
    merge = buckets._merge_groups
    monkeypatch.setattr(
        buckets,
        "_merge_groups",
        lambda groups, *args: merged.extend(groups) or merge(groups, *args),
    )
    pairs = random_pairs(1500, longest=250, apart=250)
    batches = BucketedBatches(pairs, 512)
    assert MAX_GROUPS / 4 < len(merged) <= MAX_GROUPS
    assert sum(len(list(real_rows(b))) for b in batches.epoch(0)) == 1500


def test_a_pair_longer_than_the_budget():
    pairs = [([2], [1, 2]), ([5] * 9 + [2], [1, 2])]
    assert len(BucketedBatches(pairs, 10)) >= 1
    with pytest.raises(ConfigError, match=r"10 tokens .* token_budget 9"):
        BucketedBatches(pairs, 9)


@pytest.mark.parametrize(("number", "budget"), CASES)
def test_texts_without_sources(number, budget):
    pairs = [(None, tgt) for _, tgt in random_pairs(number)]
    batches = BucketedBatches(pairs, budget)
    found = Counter()
    for batch in batches.epoch(1):
        assert batch.src is None
        assert batch.tgt_in.numel() <= budget
        found.update(tgt for _, tgt in real_rows(batch))
    assert found == Counter(tuple(tgt) for _, tgt in pairs)
    assert all(shape.source == 0 for shape in batches.shapes)
