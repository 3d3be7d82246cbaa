"""What experiments measure inside of models, and of their speed."""

import json
import os
from collections import Counter
from functools import partial

import pytest
import torch
from tiny import (
    close,
    decided,
    random_ids,
    tiny_corpus,
    tiny_gru,
    tiny_transformer,
    with_bos,
)
from tiny_runs import MODELS, SIZES
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from experiments import (
    classifiers,
    enja_attention,
    enja_heads,
    faster,
    growth,
    memory_spread,
    timing,
)
from experiments.fashion_maps import blackened, deletion
from experiments.lab import RunContext, tiny_run
from experiments.memory_spread import loss_from_means, spread_of
from transformer_course.batches.pairs import Batch
from transformer_course.checkpoints import checkpoint
from transformer_course.data.tokenizer import EOS, PAD
from transformer_course.models.config import ModelConfig
from transformer_course.training.loss import batch_loss

# --- the spread of a memory --------------------------------------------------


class Said(nn.Module):
    """An encoder that says what it is told to."""

    def __init__(self, memory):
        super().__init__()
        self.memory = memory

    def encode(self, src):
        return self.memory


SRC = torch.tensor([[5, 6, EOS, PAD], [7, 8, 9, EOS]])
ALIKE = torch.randn(2, 1, 16).expand(2, 4, 16)


def of(memory):
    return spread_of(Said(memory), [SRC])


def test_the_share_is_0_for_equal_words_and_near_1_for_independent_ones():
    torch.manual_seed(0)
    assert of(ALIKE).share == 0
    assert 0.8 < of(torch.randn(2, 4, 4096)).share < 1.1


def batch_of(src) -> Batch:
    return Batch(src, with_bos(random_ids(len(src), 5, seed=2)))


def test_a_decoder_that_is_told_the_mean_misses_what_words_differ_in(
    monkeypatch,
):
    model = decided(tiny_transformer(tied=False))
    one_word = batch_of(torch.tensor([[5, PAD], [7, PAD]]))
    both = loss_from_means, batch_loss
    one, other = (loss_fn(model, one_word) for loss_fn in both)
    close(one.loss, other.loss)
    batch = batch_of(SRC)
    one, other = (loss_fn(model, batch) for loss_fn in both)
    assert abs(one.nll - other.nll) > 1e-3
    monkeypatch.setattr(model, "encode", lambda src: ALIKE)
    one, other = (loss_fn(model, batch) for loss_fn in both)
    close(one.nll, other.nll)


def test_the_loss_beside_the_spread_is_the_training_s(tmp_path, monkeypatch):
    tiny_corpus(monkeypatch)
    folder = tiny_run(tmp_path, "tiny")
    context = RunContext(tmp_path / "spread", inputs=(folder,))
    list(memory_spread.EXPERIMENT.analyse(context))
    found = json.loads((context.folder / "tiny.json").read_text())
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    epochs = [r for r in map(json.loads, lines) if r["kind"] == "epoch"]
    assert found["dev_nll"] == pytest.approx(epochs[-1]["dev_nll"], abs=1e-3)


# --- maps of images ----------------------------------------------------------


def test_the_hottest_places_become_black():
    images = torch.ones(1, 1, 4, 4)
    heat = torch.tensor([[[0.1, 0.9], [0.5, 0.2]]])
    found = blackened(images, heat, 2)[0, 0]
    assert (found[:2, :2] == 1).all() and (found[2:, 2:] == 1).all()
    assert (found[:2, 2:] == -1).all() and (found[2:, :2] == -1).all()


def test_a_model_that_sees_one_place_loses_it_by_its_own_map():
    class Corner(nn.Module):
        def forward(self, images):
            seen = images[:, 0, 0, 0]
            return torch.stack([5 * seen, -5 * seen], dim=1)

    images = torch.full((3, 1, 8, 8), 0.5)
    wrong = torch.arange(16.0).view(1, 4, 4).repeat(3, 1, 1)
    classes = torch.zeros(3, dtype=torch.long)
    maps = {"right": -wrong, "wrong": wrong}
    found = deletion(Corner(), maps, images, classes)
    left = found["left"]
    assert left["right"][0] == left["wrong"][0] > 0.9
    assert left["right"][1] < 0.1 < 0.9 < left["wrong"][1]
    *_, (lower, _) = found["beside_random"]["right"]  # 10 of 16 places
    *_, (higher, _) = found["beside_random"]["wrong"]
    assert lower < 0 < higher


def test_black_places_are_not_blackened():
    """A map that is hottest where there is nothing to hide."""
    images = torch.full((2, 1, 8, 8), -1.0)
    images[:, :, :4, :4] = 0.5  # four places of sixteen
    heat = torch.arange(16.0).view(1, 4, 4).repeat(2, 1, 1)
    taken = []

    class Watched(nn.Module):
        def forward(self, images):
            taken.append((images > -1).sum().item() // (2 * 4))
            return torch.zeros(2, 2)

    classes = torch.zeros(2, dtype=torch.long)
    found = deletion(Watched(), {"away": heat}, images, classes)
    assert found["places"] == 4
    assert set(taken) == {4, 2, 0}  # all, two hidden, five or more hidden


# --- heads -------------------------------------------------------------------


def test_maps_that_look_at_nothing_follow_their_rule():
    src, tgt = random_ids(1, 4, seed=1), with_bos(torch.tensor([[7, 9, 8]]))
    counts = Counter({int(src[0, 2]): 1, int(src[0, 0]): 5})
    counts.update({int(token): 9 for token in src[0, [1, 3]]})
    ids = src, tgt[:, :-1], tgt[:, 1:]
    generator = torch.Generator().manual_seed(0)
    maps = enja_heads.source_maps(tiny_transformer(), ids, counts, generator)
    assert {one.shape for one in maps.values()} == {(3, 4)}
    assert maps["position"].argmax(dim=1).tolist() == [0, 1, 3]
    assert maps["rarity"].argmax(dim=1).tolist() == [2, 2, 2]


def test_a_word_has_the_weight_of_its_pieces():
    source, target = ["▁the", "▁ca", "t"], ["▁", "猫", "▁は"]
    weights = torch.rand(2, 3, len(target) + 1, len(source) + 1)
    weights = weights.softmax(dim=-1)
    found = enja_attention.by_words(weights, source, target)
    words = torch.tensor(found).float()
    assert words.shape == (2, 3, 3, 3)
    close(words.sum(dim=-1), torch.ones(2, 3, 3), tolerance=2e-3)
    close(words[..., 1], weights[..., [0, 2, 3], 1:3].sum(-1), tolerance=2e-3)


def test_a_gru_is_overheard_as_it_is_and_left_so():
    src, tgt = random_ids(1, 5, seed=1), with_bos(random_ids(1, 3, seed=2))
    model = tiny_gru()
    before = model(src, tgt)
    weights = enja_attention.weights_of(model, src, tgt)
    assert weights.shape == (1, 1, 4, 5)
    close(weights.sum(dim=-1), torch.ones(1, 1, 4))
    shorter = enja_attention.weights_of(model, src, tgt[:, :2])
    close(shorter, weights[:, :, :2])
    close(model(src, tgt), before)


def test_what_is_expected_is_the_probability_of_the_next_token():
    src, tgt = random_ids(1, 5, seed=1), [7, 9]
    model = tiny_transformer()
    logits = model(src, with_bos(torch.tensor([tgt])))[0]
    found = enja_attention.expected(model, src, tgt)
    close(torch.tensor(found[:2]), logits.softmax(-1)[[0, 1], tgt])


def test_other_looks_move_a_classifier_s_answer_and_not_the_model():
    torch.manual_seed(0)
    model = checkpoint.build(MODELS["classifier"]).eval()
    row = [5, 6, 7, 8]
    with torch.no_grad():
        before = model(torch.tensor([row])).softmax(dim=-1)
    only_first = torch.zeros(model.config.n_heads, len(row))
    only_first[:, 0] = 1
    changed = classifiers.ask(model, row, lambda weights: only_first, 1)
    assert not torch.equal(changed, before)
    close(classifiers.ask(model, row, lambda weights: weights, 2), before)


# --- speed -------------------------------------------------------------------


def counted(work) -> int:
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


@pytest.mark.parametrize("kind", ["explicit", "writing"])
def test_the_operations_are_those_that_are_done(kind):
    """The fused kernel's are not counted."""
    size = growth.Size(length=6, batch=2, width=64, depth=2)
    work = getattr(growth, kind)(size)
    assert counted(work) == growth.operations(kind, size)


@pytest.mark.exhaustive
def test_a_process_of_its_own_has_its_own_peak():
    assert timing.run_in_subprocess(os.getpid) != os.getpid()
    assert 0 < timing.run_in_subprocess(timing.peak) < 2**20


@pytest.mark.parametrize(
    "way", [faster.Way(draws=True), faster.Way(bf16=True)]
)
def test_all_ways_compute_the_same_but_for_rounding(way, monkeypatch):
    monkeypatch.setattr(faster, "ModelConfig", partial(ModelConfig, **SIZES))
    src, tgt = random_ids(2, 6, seed=1), with_bos(random_ids(2, 5, seed=2))
    plain, other = (faster.translator(w).eval() for w in (faster.Way(), way))
    with torch.no_grad():
        expected = plain(src, tgt)
        with torch.autocast("cpu", torch.bfloat16, enabled=way.bf16):
            found = other(src, tgt)
    error = (found.float() - expected).abs().max() / expected.std()
    assert error < (0.2 if way.bf16 else 1e-4)
