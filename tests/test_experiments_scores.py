"""The comparison of scores starts from where the derivation says."""

import pytest
import torch

from experiments import scores
from experiments.lab import Bench

SIZES = (40, 50)


def first_scores(name: str, d_k: int):
    torch.manual_seed(0)
    model = scores.Aligner(name, d_k, SIZES)
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
        ("wrong-root", lambda d: scores.HEADS**-0.5),
        ("by-d", lambda d: d**-0.5),
    ],
)
def test_scores_start_as_large_as_derived(name, size, d_k):
    scores = first_scores(name, d_k)[1]
    assert 0.5 < scores.std() / size(d_k) < 2


@pytest.mark.parametrize("name", scores.SCORES)
def test_every_score_gives_weights_over_the_source(name):
    logits, _, weights = first_scores(name, 16)
    assert logits.shape == (20, 7, SIZES[1])
    assert weights.shape == (20, 7, 6)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(20, 7))


def test_who_does_not_look_gives_every_word_the_same_weight():
    weights = first_scores("no-look", 16)[2]
    torch.testing.assert_close(weights, torch.full((20, 7, 6), 1 / 6))


@pytest.mark.parametrize("name", scores.SCORES)
def test_a_time_is_measured_with_its_backward_pass(name, tmp_path):
    row = scores.Timed(name, 4, 8).measure(0, Bench(tmp_path, smoke=True))
    assert row["seconds"] > 0


def test_rates_that_are_added_later_are_stored_in_order():
    files = scores.Results("trainings", scores.name_of)
    stored = scores.Trained("dot", 8, 0.01).about()
    for rate in (0.01, 0.001):
        for seed in (0, 1):
            row = {"rate": rate, "seed": seed}
            name = f"dot-8/{scores.name_of(row)}"
            assert not files.has(stored, name, seed)
            files.put(stored, name, row)
            assert files.has(stored, name, seed)
    found = [(t["rate"], t["seed"]) for t in stored["trainings"]]
    assert found == [(0.001, 0), (0.001, 1), (0.01, 0), (0.01, 1)]


def test_the_small_step_moves_only_the_projections_more_slowly(
    monkeypatch, tmp_path
):
    """One step of Adam moves a weight by the rate it is given."""
    monkeypatch.setattr(scores, "STEPS", 1)
    seen = {}

    def look(model, task):
        seen.setdefault("models", []).append(
            {name: p.detach().clone() for name, p in model.named_parameters()}
        )
        return {}

    monkeypatch.setattr(scores, "look", look)
    slow = scores.Trained("scaled-small-step", 16, 0.01)
    slow.measure(0, Bench(tmp_path))
    before, after = seen["models"]
    moved = {
        name: (after[name] - before[name]).abs().max().item()
        for name in before
    }
    assert moved["to_query.weight"] == pytest.approx(0.0025, rel=0.01)
    assert moved["to_key.weight"] == pytest.approx(0.0025, rel=0.01)
    assert moved["to_value.weight"] == pytest.approx(0.01, rel=0.01)
