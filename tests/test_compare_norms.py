"""The comparison of norms changes what it says, and nothing else."""

import json
import sys
from pathlib import Path
from unittest import mock

import pytest
import torch
from torch.testing import assert_close

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import compare_norms

from transformer_course import transformer
from transformer_course.batches import Batch
from transformer_course.config import ModelConfig
from transformer_course.transformer import Transformer

SMALL = ModelConfig(50, d_model=16, n_heads=2, d_ff=32, n_layers=3)


def build(replaced=None):
    torch.manual_seed(0)
    if not replaced:
        return Transformer(SMALL)
    ((module, name), new) = next(iter(replaced.items()))
    with mock.patch.object(module, name, new):
        return Transformer(SMALL)


def test_the_parts_left_out_are_the_formulas():
    x, sublayer = torch.randn(2, 5, 16), torch.nn.Linear(16, 16)
    add, norm = compare_norms.AddOnly(16), compare_norms.NormOnly(16)
    assert_close(add(x, sublayer), x + sublayer(x))
    assert_close(norm(x, sublayer), norm.norm(sublayer(x)))


@pytest.mark.parametrize(
    "replaced", [compare_norms.ADD_ONLY, compare_norms.NORM_ONLY]
)
def test_a_part_is_left_out_in_encoder_and_decoder(replaced):
    model = build(replaced)
    wanted = next(iter(replaced.values()))
    for layer in (*model.encoder.layers, *model.decoder.layers):
        assert isinstance(layer.add_norm_1, wanted)
        assert isinstance(layer.add_norm_2, wanted)


def test_a_small_start_changes_the_last_matrix_of_each_sub_layer_only():
    usual = dict(build().named_parameters())
    for name, weight in build(compare_norms.SMALL).named_parameters():
        last = name.endswith(("to_output.weight", "narrow.weight"))
        factor = 6**-0.5 if last else 1  # three layers, two sub-layers each
        assert_close(weight, factor * usual[name])


def test_without_a_source_the_source_makes_no_difference():
    model = build().eval()
    tgt = torch.tensor([[1, 7, 8, 2]])
    scores = [
        compare_norms.score_without_source(
            model, Batch(torch.tensor(src), tgt)
        )
        for src in ([[5, 6, 2]], [[9, 2]])
    ]
    assert_close(scores[0].loss, scores[1].loss)


def test_every_combination_of_the_grid_is_there_once():
    for name, norm_first in (("post", False), ("pre", True)):
        cells = compare_norms.FILES[name]
        found = {(v.depth, v.rate, v.warmup) for v in cells.values()}
        assert len(found) == len(cells) == 3 * 3 * 2
        assert {v.norm_first for v in cells.values()} == {norm_first}


def test_settings_are_those_of_the_variant():
    variant = compare_norms.Variant(8, 1e-3, norm_first=True, dropout=0.1)
    experiment = compare_norms.experiment_for(variant, seed=2)
    assert experiment.model.n_layers == 8 and experiment.model.norm_first
    assert experiment.model.dropout == 0.1
    assert experiment.train.peak_rate == 1e-3 and experiment.train.seed == 2


def test_what_is_stored_is_not_trained_again(tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(compare_norms, "FOLDER", tmp_path)
    monkeypatch.setattr(
        compare_norms,
        "FILES",
        {"two": {k: compare_norms.Variant() for k in "ab"}},
    )
    monkeypatch.setattr(
        compare_norms,
        "train_once",
        lambda variant, seed: trained.append(seed) or {"seed": seed},
    )
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"a": [{"seed": 0}], "b": []}), "utf-8")
    compare_norms.train_missing("two", 0)
    compare_norms.train_missing("two", 0)
    assert trained == [0]
    assert json.loads(path.read_text("utf-8"))["b"] == [{"seed": 0}]


def test_functions_are_put_back_after_a_training(tmp_path, monkeypatch):
    before = transformer.AddNorm
    monkeypatch.setattr(compare_norms, "FOLDER", tmp_path)
    monkeypatch.setattr(
        compare_norms,
        "FILES",
        {"one": {"a": compare_norms.Variant(replaced=compare_norms.ADD_ONLY)}},
    )
    seen = []
    monkeypatch.setattr(
        compare_norms,
        "train_once",
        lambda variant, seed: seen.append(transformer.AddNorm) or {"seed": 0},
    )
    compare_norms.train_missing("one", 0)
    assert seen == [compare_norms.AddOnly] and transformer.AddNorm is before
