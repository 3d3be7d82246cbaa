"""What is compared is as large as it says, and trained as it says."""

import dataclasses

import pytest
import torch
from tiny import random_ids

from experiments.since_2017 import (
    BALANCE,
    CHANGES,
    EXPERTS,
    OPTIMIZERS,
    RATED,
    VARIANTS,
    WHOLE,
    Decoder,
    build,
    schedule_of,
    score_with_balance,
    train_config,
)
from transformer_course.batches import Batch
from transformer_course.modern import MixtureOfExperts, balance_of
from transformer_course.objective import training_score
from transformer_course.optimizers import Muon

ALL = {**CHANGES, **WHOLE}


def weights_of(decoder: Decoder) -> int:
    with torch.device("meta"):
        return sum(p.numel() for p in build(decoder, 3000).parameters())


@pytest.mark.parametrize("name", sorted(ALL.keys() - {"experts"}))
def test_all_have_as_many_weights_as_the_base(name):
    base = weights_of(CHANGES["base"])
    assert abs(weights_of(ALL[name]) / base - 1) < 0.003


def test_experts_have_their_weights_and_a_router_more():
    model = build(CHANGES["experts"], 30)
    parts = [m for m in model.modules() if isinstance(m, MixtureOfExperts)]
    assert len(parts) == 4
    assert all(len(part.experts) == EXPERTS for part in parts)


@pytest.mark.parametrize("name", sorted(CHANGES.keys() - {"base"}))
def test_a_change_changes_one_thing(name):
    base, changed = CHANGES["base"], CHANGES[name]
    fields = [
        f.name
        for f in dataclasses.fields(Decoder)
        if f.name not in ("about", "rate")
        and getattr(base, f.name) != getattr(changed, f.name)
    ]
    assert len(fields) == 1


def test_only_what_rates_were_tried_of_has_a_rate_of_its_own():
    rate = CHANGES["base"].rate
    own = {name for name, d in CHANGES.items() if d.rate != rate}
    assert own <= RATED.keys()
    assert {f"rates/base-{rate:g}", f"rates/muon-{0.016:g}"} <= VARIANTS.keys()


def test_balance_is_added_to_what_is_learned_and_not_to_what_is_told():
    model = build(CHANGES["experts"], 17).eval()
    batch = Batch(None, random_ids(2, 6))
    config = train_config(0)
    score = score_with_balance(model, batch, config)
    plain = training_score(model, batch, config)
    added = BALANCE * balance_of(model) * plain.tokens
    torch.testing.assert_close(score.loss, plain.loss + added)
    assert score.nll == plain.nll


def test_each_is_scheduled():
    assert schedule_of(WHOLE["today"], 100)(100, 10, 1.0) < 0.05
    assert schedule_of(CHANGES["base"], 100)(40, 10, 1.0) == 0.5


def test_today_is_moved_by_muon():
    model = build(WHOLE["today"], 17)
    optimizer = OPTIMIZERS[WHOLE["today"].optimizer](model)
    assert isinstance(optimizer, Muon)
