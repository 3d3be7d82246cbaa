"""The comparison of scores starts from where the derivation says."""

import json

import pytest
import torch

from tools import compare_scores

SIZES = (40, 50)


def first_scores(name: str, d_k: int):
    torch.manual_seed(0)
    model = compare_scores.Aligner(name, d_k, SIZES)
    src = torch.randint(1, SIZES[0], (20, 6))
    tgt = torch.randint(1, SIZES[1], (20, 7))
    with torch.no_grad():
        return model(src, tgt)


@pytest.mark.parametrize("d_k", [8, 128])
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("dot", lambda d: d**0.5),
        ("dot-small-start", lambda d: 1),
        ("scaled", lambda d: 1),
        ("general", lambda d: d**0.5),
        ("wrong-root", lambda d: compare_scores.HEADS**-0.5),
        ("by-d", lambda d: d**-0.5),
    ],
)
def test_scores_start_as_large_as_derived(name, size, d_k):
    scores = first_scores(name, d_k)[1]
    assert 0.5 < scores.std() / size(d_k) < 2


@pytest.mark.parametrize("name", compare_scores.SCORES)
def test_every_score_gives_weights_over_the_source(name):
    logits, _, weights = first_scores(name, 16)
    assert logits.shape == (20, 7, SIZES[1])
    assert weights.shape == (20, 7, 6)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(20, 7))


def test_who_does_not_look_gives_every_word_the_same_weight():
    weights = first_scores("no-look", 16)[2]
    torch.testing.assert_close(weights, torch.full((20, 7, 6), 1 / 6))


@pytest.mark.parametrize("name", compare_scores.SCORES)
def test_a_time_is_measured_with_its_backward_pass(name, monkeypatch):
    monkeypatch.setattr(compare_scores, "SECONDS", 0)
    monkeypatch.setattr(compare_scores, "MINIMUM", 1)
    assert compare_scores.time_of(name, 4, 8) > 0


def test_what_is_stored_is_not_trained_again(tmp_path, monkeypatch):
    path = tmp_path / "dot-8.json"
    made = []

    def train_once(name, d_k, rate, seed):
        made.append((rate, seed))
        return {"rate": rate, "seed": seed, "end": {}}

    monkeypatch.setattr(compare_scores, "train_once", train_once)
    for _ in range(2):
        compare_scores.train_missing(path, "dot", 8)
    n_trainings = len(compare_scores.RATES) * len(compare_scores.SEEDS)
    assert len(made) == len(set(made)) == n_trainings


def test_rates_that_are_added_later_are_stored_in_order(tmp_path, monkeypatch):
    path = tmp_path / "dot-8.json"
    monkeypatch.setattr(
        compare_scores,
        "train_once",
        lambda name, d_k, rate, seed: {"rate": rate, "seed": seed, "end": {}},
    )
    for rates in ((0.01,), (0.001, 0.01)):
        monkeypatch.setattr(compare_scores, "RATES", rates)
        compare_scores.train_missing(path, "dot", 8)
    stored = json.loads(path.read_text("utf-8"))["trainings"]
    assert [t["rate"] for t in stored] == 3 * [0.001] + 3 * [0.01]


def test_the_small_step_moves_only_the_projections_more_slowly(monkeypatch):
    """One step of Adam moves a weight by the rate it is given."""
    monkeypatch.setattr(compare_scores, "STEPS", 1)
    seen = {}

    def look(model, task):
        seen.setdefault("models", []).append(
            {name: p.detach().clone() for name, p in model.named_parameters()}
        )
        return {}

    monkeypatch.setattr(compare_scores, "look", look)
    compare_scores.train_once("scaled-small-step", 16, 0.01, 0)
    before, after = seen["models"]
    moved = {
        name: (after[name] - before[name]).abs().max().item()
        for name in before
    }
    assert moved["to_query.weight"] == pytest.approx(0.0025, rel=0.01)
    assert moved["to_key.weight"] == pytest.approx(0.0025, rel=0.01)
    assert moved["to_value.weight"] == pytest.approx(0.01, rel=0.01)
