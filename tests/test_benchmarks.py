"""The benchmarks: what is compared does the same work."""

from functools import partial

import pytest
import torch
from tiny import random_ids

from experiments import timing
from experiments.benchmarks import course, peers, rounds, work
from transformer_course.data.tokenizer import PAD
from transformer_course.errors import CourseError
from transformer_course.fast.parallel import parallel_map

VOCAB = 40


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch):
    """Some drawn pairs in the place of the corpus, and little to do."""
    torch.manual_seed(0)
    lengths = [3, 5, 5, 8, 4, 7, 6, 5] * 4
    ids = [random_ids(1, n)[0].tolist() for n in lengths]
    drawn = [(src, [2, *src[::-1], 3]) for src in ids]
    monkeypatch.setattr(work, "pairs", lambda: (drawn, VOCAB))
    for name, value in {
        "STEPS": 2, "TOKEN_BUDGET": 40, "SENTENCES": 8,
        "DECODED_ROWS": 4, "NEW_TOKENS": 5,
    }.items():  # fmt: skip
        monkeypatch.setattr(work, name, value)
    sizes = {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_layers": 1}
    monkeypatch.setattr(work, "config", partial(work.config, **sizes))


def test_batches_hold_pairs_and_count_their_tokens():
    made = work.bucketed()
    assert 0 < len(made) <= work.STEPS
    by_hand = sum(1 for b in made for i in b.tgt_out.flatten() if i != PAD)
    assert work.real_tokens(made) == by_hand


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_faster_ways_write_the_same_tokens(beam_size):
    plain = course.decoding(beam_size, fast=False)().output
    assert course.decoding(beam_size)().output == plain
    assert len(plain) == work.SENTENCES
    assert all(len(ids) <= work.NEW_TOKENS for ids in plain)


def learns_from_all(train, **ways) -> bool:
    """Whether a round of training goes through all tokens of its batches."""
    return train(**ways)().done == work.real_tokens(work.bucketed())


def test_a_round_of_ours_learns_from_all_tokens():
    assert learns_from_all(course.training)
    assert learns_from_all(course.training, fast=False)


def test_a_round_of_marian_learns_and_writes():
    pytest.importorskip("transformers")
    assert learns_from_all(peers.training)
    written = peers.decoding(2)()
    assert written.done == work.SENTENCES
    assert peers.decoding(2, parallel_map)().output == written.output


def test_ratios_are_those_of_the_same_round():
    turns = [{"rate": r, "megabytes": 10.0} for r in (2.0, 9.0, 4.0)]
    found = rounds.summary(turns, [1.0, 3.0, 4.0])
    assert found["rate"] == 4.0
    assert (found["lowest"], found["ratio"], found["highest"]) == (1, 2, 3)


def test_nothing_is_timed_beside_other_programs(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(timing.psutil, "cpu_count", lambda: 2)
        patch.setattr(timing.psutil, "cpu_percent", lambda _: 60.0)
        assert timing.busy() == 1.2
    monkeypatch.setattr(timing, "busy", lambda: 1.2)
    assert timing.undisturbed(smoke=True)["load"] == 1.2
    with pytest.raises(CourseError, match="keep 1.2 cores busy"):
        timing.undisturbed()
    monkeypatch.setattr(timing, "busy", lambda: 0.2)
    assert timing.undisturbed()["load"] == 0.2
