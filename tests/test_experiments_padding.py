"""The ways to make batches that are counted, and their counts."""

import random
from itertools import pairwise

import numpy as np
import pytest
import torch

from experiments import padding
from transformer_course.batches import padded_batch
from transformer_course.buckets import BucketedBatches
from transformer_course.tokenizer import PAD


@pytest.fixture
def lengths():
    draw = random.Random(1)
    return [(draw.randint(1, 20), draw.randint(1, 20)) for _ in range(200)]


@pytest.mark.parametrize("way", padding.WAYS)
def test_each_pair_is_in_one_batch(way, lengths):
    cut = padding.WAYS[way](lengths, 100)
    assert all(cut)
    assert sorted(i for places in cut for i in places) == list(range(200))


@pytest.mark.parametrize("way", ["random, by budget", "sorted, by budget"])
def test_a_budget_is_kept_and_used(way, lengths):
    cut = padding.WAYS[way](lengths, 100)

    def work(places):
        return len(places) * max(max(lengths[i]) for i in places)

    assert all(work(places) <= 100 for places in cut)
    for places, after in pairwise(cut):
        assert work([*places, after[0]]) > 100


@pytest.mark.parametrize("way", padding.WAYS)
def test_padding_is_what_padded_batches_hold(way, lengths):
    cut = padding.WAYS[way](lengths, 100)
    found = padding.describe(lengths, cut)
    pairs = padding.pairs_of(lengths)
    batches = [padded_batch([pairs[i] for i in places]) for places in cut]
    cells = sum(b.src.numel() + b.tgt_in.numel() for b in batches)
    real = sum(int((b.src != PAD).sum()) for b in batches)
    tokens = sum(int((b.tgt_out != PAD).sum()) for b in batches)
    assert found["padding"] == pytest.approx(
        1 - (real + tokens) / cells, abs=1e-5
    )
    assert found["tokens_mean"] == round(tokens / len(cut), 1)


def test_stand_ins_have_the_lengths_and_make_the_same_buckets(lengths):
    pairs = padding.pairs_of(lengths, vocabulary=50)
    assert [(len(src), len(tgt) - 1) for src, tgt in pairs] == lengths
    one = BucketedBatches(pairs, 100)
    other = BucketedBatches(pairs[::-1], 100)
    assert one.shapes == other.shapes
    found = padding.describe_buckets(one)
    assert found["padding"] == round(one.padding_share, 5)


def test_lengths_are_cut_off_as_training_pairs_are():
    counts = np.array([[3, 4, 2], [90, 10, 1], [10, 90, 1]])
    found = padding.unfold(counts, 64)
    assert found == [(3, 4), (3, 4), (64, 10), (10, 63)]


def test_a_batch_that_is_the_mean_has_no_noise():
    class Scored:
        tokens = torch.tensor(4)

        def __init__(self, loss):
            self.loss = loss

    model = torch.nn.Linear(1, 1)
    pairs = padding.pairs_of([(3, 4)] * 4000)

    def score(model, batch, smoothing):
        return Scored(model(torch.ones(1, 1)).sum())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(padding, "score_batch", score)
        found = padding.noise_of(model, pairs)
    for batches in found.values():
        assert batches and all(noise == 0 for _, noise in batches)


def test_each_step_keeps_its_fastest_time():
    rounds = [
        [{"shape": 1, "seconds": 3.0}, {"shape": 2, "seconds": 1.0}],
        [{"shape": 1, "seconds": 2.0}, {"shape": 2, "seconds": 4.0}],
    ]
    found = padding.fastest(rounds)
    assert [step["seconds"] for step in found] == [2.0, 1.0]
    assert [step["shape"] for step in found] == [1, 2]
