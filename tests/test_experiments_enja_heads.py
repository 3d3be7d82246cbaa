"""What is said of a translator's heads, and what is lost without them."""

import json

import pytest
import torch
from tiny import close, random_ids, tiny_transformer, with_bos

from experiments import enja_ablation, enja_heads, induction
from experiments.lab import Bench
from transformer_course.batches import Batch
from transformer_course.heads import heads_of
from transformer_course.objective import evaluate


def test_places_are_shares_of_a_row():
    ahead = torch.eye(5).roll(1, dims=1)[None]  # looks one place ahead
    shares = enja_heads.places(ahead)
    assert shares.shape == (1, 5, len(enja_heads.PATTERNS))
    by_name = dict(zip(enja_heads.PATTERNS, shares[0].T, strict=True))
    close(by_name["after"], torch.tensor([1.0, 1, 1, 1, 0]))
    close(by_name["itself"], torch.zeros(5))
    close(by_name["before"], torch.zeros(5))
    close(by_name["first"], torch.tensor([0.0, 0, 0, 0, 1]))
    close(by_name["eos"], torch.tensor([0.0, 0, 0, 1, 0]))


def test_costs_are_those_of_the_model_without_heads():
    model = tiny_transformer()
    batch = Batch(random_ids(3, 5, seed=1), with_bos(random_ids(3, 4, seed=2)))
    others = dict.fromkeys(heads_of(model), 0.0)
    loss = enja_ablation.costs(model, [batch], others)
    whole = evaluate(model, [batch])["nll"]
    assert loss([]) == pytest.approx(whole)
    assert loss(heads_of(model)) != pytest.approx(whole)
    assert loss([]) == pytest.approx(whole)


def test_what_is_stored_is_asked_of_these_weights(tmp_path):
    about = {"command": "typed", "whole": 1.5}
    path = tmp_path / "zero.json"
    assert not enja_ablation.is_there(path, about)
    path.write_text(json.dumps(about | {"alone": {}}))
    assert enja_ablation.is_there(path, about)
    assert not enja_ablation.is_there(path, about | {"whole": 1.6})


def test_an_untrained_model_does_not_know_what_comes(tmp_path):
    size = induction.VARIANTS["two-layers"]
    record = induction.measure(size, 0, Bench(tmp_path, smoke=True))
    assert record["accuracy"] < 0.5
    assert set(record["without"]) == {"layers 1.1", "layers 2.1"}
    again = induction.measure(size, 0, Bench(tmp_path, smoke=True))
    assert again == record
