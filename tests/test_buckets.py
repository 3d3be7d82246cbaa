"""Buckets: every pair once an epoch, few shapes, little padding."""

from collections import Counter

import pytest
import torch

from transformer_course.batches.buckets import (
    MAX_GROUPS,
    BucketedBatches,
    _group_by_length,
)
from transformer_course.batches.pairs import padded_batch
from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.errors import ConfigError


def random_pairs(number, longest=40, seed=0):
    """Pairs whose ids tell them apart, of lengths that go together."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low, high):
        return int(torch.randint(low, high, (), generator=generator))

    pairs = []
    for i in range(number):
        source = draw(1, longest)
        target = max(1, min(longest - 1, source + draw(-5, 6)))
        body = [4 + i] * target
        pairs.append(([4 + i] * (source - 1) + [EOS], [BOS, *body, EOS]))
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
@pytest.mark.parametrize("step", [2, 8])
@pytest.mark.parametrize("max_shapes", [1, 12])
def test_every_pair_comes_once_an_epoch(number, budget, step, max_shapes):
    pairs = random_pairs(number, seed=number)
    batches = BucketedBatches(pairs, budget, step=step, max_shapes=max_shapes)
    expected = Counter((tuple(src), tuple(tgt)) for src, tgt in pairs)
    for epoch in (0, 1):
        found = Counter()
        for batch in batches.epoch(epoch):
            found.update(real_rows(batch))
        assert found == expected


@pytest.mark.parametrize("most", [3, 6])
def test_where_joining_costs_there_are_as_many_shapes_as_allowed(most):
    batches = BucketedBatches(random_pairs(500), 512, max_shapes=most)
    assert len(batches.shapes) == most


@pytest.mark.parametrize(("number", "budget"), CASES)
def test_shapes_are_few_and_within_the_budget(number, budget):
    batches = BucketedBatches(random_pairs(number, seed=number), budget)
    assert len(batches.shapes) <= 12
    counts = Counter()
    for batch in batches.epoch(0):
        rows, source = batch.src.shape
        assert rows * max(source, batch.tgt_in.shape[1]) <= budget
        assert batch.src.dtype == batch.tgt.dtype == torch.int64
        counts[rows, source, batch.tgt_in.shape[1]] += 1
    assert set(counts) == set(batches.shapes)
    assert sum(counts.values()) == len(batches)


def test_every_batch_has_a_pair_and_one_empty_row_at_the_most():
    for number, budget in CASES:
        batches = BucketedBatches(random_pairs(number), budget)
        for batch in batches.epoch(0):
            empty = len(batch.src) - len(list(real_rows(batch)))
            assert empty <= 1
            assert empty < len(batch.src)


def test_padding_share_is_that_of_an_epoch():
    batches = BucketedBatches(random_pairs(400), 256)
    ids = [i for b in batches.epoch(3) for i in (b.src, b.tgt_in)]
    # The eos of a row that is not the longest stays in tgt_in; it is counted
    # as padding, since nothing is to be answered there.
    extra = sum(int((b.tgt_in == EOS).sum()) for b in batches.epoch(3))
    real = sum(int((i != PAD).sum()) for i in ids) - extra
    assert batches.real_tokens == real
    share = 1 - real / sum(i.numel() for i in ids)
    assert batches.padding_share == pytest.approx(share)


def test_bucketing_pads_less_than_batches_in_any_order():
    pairs = random_pairs(1000)
    cells = sum(
        batch.src.numel() + batch.tgt_in.numel()
        for start in range(0, 1000, 32)
        for batch in [padded_batch(pairs[start : start + 32])]
    )
    batches = BucketedBatches(pairs, 640)
    assert batches.padding_share < 0.5 * (1 - batches.real_tokens / cells)


def same(one, other):
    return all(
        torch.equal(a, b)
        for pair in zip(one, other, strict=True)
        for a, b in zip(*pair, strict=True)
    )


def test_an_epoch_depends_on_seed_and_number_only():
    pairs = random_pairs(200)
    first = list(BucketedBatches(pairs, 128, seed=3).epoch(5))
    torch.manual_seed(99)
    again = BucketedBatches(pairs, 128, seed=3)
    list(again.epoch(0))
    assert same(first, list(again.epoch(5)))


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


def test_many_lengths_are_still_quick_to_set_up():
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(1, 250, (1500, 2), generator=generator).tolist()
    pairs = [([4] * s + [EOS], [BOS, *[4] * t, EOS]) for s, t in sizes]
    batches = BucketedBatches(pairs, 512)
    assert (
        len(_group_by_length([(s + 1, t + 1) for s, t in sizes], 2))
        > MAX_GROUPS
    )
    assert len(batches.shapes) <= 12
    rows = sum(len(list(real_rows(b))) for b in batches.epoch(0))
    assert rows == len(pairs)


def test_a_pair_longer_than_the_budget():
    pairs = [([2], [1, 2]), ([5] * 9 + [2], [1, 2])]
    assert len(BucketedBatches(pairs, 10)) >= 1
    with pytest.raises(ConfigError, match=r"10 tokens .* token_budget 9"):
        BucketedBatches(pairs, 9)


def test_no_pairs():
    with pytest.raises(ConfigError, match="no sentence pairs"):
        BucketedBatches([], 10)


def without_sources(pairs):
    return [(None, tgt) for _, tgt in pairs]


@pytest.mark.parametrize(("number", "budget"), CASES)
def test_texts_without_sources(number, budget):
    pairs = without_sources(random_pairs(number))
    batches = BucketedBatches(pairs, budget)
    found = Counter()
    for batch in batches.epoch(1):
        assert batch.src is None
        assert batch.tgt_in.numel() <= budget
        found.update(tgt for _, tgt in real_rows(batch))
    assert found == Counter(tuple(tgt) for _, tgt in pairs)
    assert all(shape.source == 0 for shape in batches.shapes)
