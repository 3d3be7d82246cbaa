"""What is compared is as large as it says, and trained as it says."""

import dataclasses
import json
import re

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
from transformer_course import runs
from transformer_course.batches import Batch
from transformer_course.modern import MixtureOfExperts, balance_of
from transformer_course.objective import training_score
from transformer_course.optimizers import Muon

ALL = {**CHANGES, **WHOLE}
LARGER = ("experts", "untied", "untied-zero-start")


def weights_of(decoder: Decoder) -> int:
    with torch.device("meta"):
        return sum(p.numel() for p in build(decoder, 3000).parameters())


@pytest.mark.parametrize("name", sorted(ALL.keys() - set(LARGER)))
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


def test_two_settings_change_together_only_where_it_is_said():
    two = {name for name, d in CHANGES.items() if len(d.model) > 1}
    assert two == {"swiglu", "grouped", "untied-zero-start"}


def test_experts_begin_as_all_other_maps_do():
    model = build(CHANGES["experts"], 30)
    base = build(CHANGES["base"], 30)
    ours = model.layers[0].feed_forward.experts[0].narrow.weight
    theirs = base.layers[0].feed_forward.narrow.weight
    assert abs(ours.std() / theirs.std() - 1) < 0.05


def test_rates_are_the_best_of_those_tried():
    stored = json.loads(
        (runs.folder("since-2017") / "rates.json").read_text("utf-8")
    )
    chosen = {
        "base": CHANGES["base"].rate,
        "muon": CHANGES["muon"].rate,
    }
    chosen |= {name: WHOLE[name].rate for name in WHOLE if name in RATED}
    for name, rate in chosen.items():
        tried = {
            record["rate"]: record["dev"]
            for variant, (record,) in stored.items()
            if re.fullmatch(rf"{name}-[\d.]+", variant)
        }
        assert min(tried, key=tried.get) == rate
        assert min(tried) < rate < max(tried)


def test_only_what_rates_were_tried_of_has_a_rate_of_its_own():
    rate = CHANGES["base"].rate
    own = {name for name, d in CHANGES.items() if d.rate != rate}
    assert own <= RATED.keys()
    assert {f"rates/base-{rate:g}", "rates/muon-0.016"} <= VARIANTS.keys()


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
