"""The variants of ``tools/train_table_3.py`` are what they say."""

import dataclasses
import itertools
import json
import sys
from pathlib import Path
from unittest import mock

import pytest
import torch
from tiny import (
    close,
    gradients,
    ragged_ids,
    tiny_config,
    tiny_transformer,
    with_bos,
)

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import train_table_3
from train_table_3 import (
    D_KEY,
    GRID,
    PAPER,
    VARIANTS,
    NarrowKeys,
    narrow_keys,
    shortened,
    write_paper,
)

from transformer_course.attention import MultiHeadAttention
from transformer_course.generate import greedy_search
from transformer_course.grid import BASE, Cell, weights
from transformer_course.transformer import Transformer


def test_a_variant_changes_one_setting_or_the_keys_alone():
    for name, variant in VARIANTS.items():
        assert len(variant.changes) == (variant.within is None), name


def test_every_kind_of_row_is_there_and_three_seeds():
    assert {v.row for v in VARIANTS.values()} >= set("ABCDE")
    assert len(set(GRID.seeds)) == 3


def test_keys_and_queries_are_narrow_and_values_are_not():
    with narrow_keys():
        model = Transformer(tiny_config())
    heads, width = 2, 16
    layers = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    assert len(layers) == 6  # 2 + 2 × 2
    for layer in layers:
        assert isinstance(layer, NarrowKeys)
        assert layer.to_key.out_features == heads * D_KEY
        assert layer.to_query.out_features == heads * D_KEY
        assert layer.to_value.out_features == width
    assert not isinstance(
        tiny_transformer().encoder.layers[0].self_attention, NarrowKeys
    )


def test_row_b_has_fewer_weights_by_what_queries_and_keys_lose():
    settings = GRID.base.model
    with narrow_keys():
        narrow = sum(p.numel() for p in Transformer(settings).parameters())
    layers = 3 * settings.n_layers  # of attention, in both stacks
    lost = settings.d_model - settings.n_heads * D_KEY
    per_layer = 2 * settings.d_model * lost
    assert weights(settings) - narrow == layers * per_layer


def test_scores_of_narrow_keys_are_divided_by_the_root_of_their_width():
    torch.manual_seed(0)
    layer = NarrowKeys(16, 2)
    x = torch.randn(1, 5, 16)
    _, weights = layer(x, return_weights=True)
    query = layer.to_query(x).view(1, 5, 2, D_KEY).transpose(1, 2)
    key = layer.to_key(x).view(1, 5, 2, D_KEY).transpose(1, 2)
    scores = query @ key.transpose(-2, -1) / D_KEY**0.5
    close(weights, scores.softmax(-1))
    close(layer(x), layer(x, return_weights=True)[0])


def test_a_model_with_narrow_keys_learns_and_writes():
    torch.manual_seed(0)
    with narrow_keys():
        model = Transformer(tiny_config())
    src = ragged_ids([3, 5])
    model(src, with_bos(src)).sum().backward()
    assert all(g.abs().sum() > 0 for g in gradients(model).values())
    assert len(greedy_search(model.eval(), src, max_length=4)) == 2


def test_the_paper_s_rows_name_variants_that_are_there():
    named = [row.ours for row in PAPER if row.ours]
    assert len(named) == len(set(named))
    assert set(named) <= set(GRID.all_variants)
    with_row = {n for n, v in VARIANTS.items() if v.row}
    assert with_row <= set(named)
    for row in PAPER:
        if row.ours and row.ours != BASE:
            assert VARIANTS[row.ours].row == row.row


def test_the_paper_s_bleu_falls_as_its_perplexity_rises():
    """Not a law, but a slip of the pen would stand out of it.

    But for label smoothing, which costs perplexity and gains BLEU.
    """
    rows = [r for r in PAPER if "label smoothing" not in r.changes]
    assert len(rows) == 18
    for one in rows:
        for other in rows:
            if one.perplexity < other.perplexity - 0.15:
                assert one.bleu >= other.bleu, (one, other)


def test_the_paper_s_rows_are_stored_with_their_source(tmp_path):
    write_paper(tmp_path)
    stored = json.loads((tmp_path / "paper.json").read_text("utf-8"))
    assert "table 3" in stored["source"]
    assert stored["rows"] == [dataclasses.asdict(row) for row in PAPER]


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_differ_from_the_base(name):
    cell = Cell(name, 0)
    base = GRID.experiment(Cell(BASE, 0))
    here = dataclasses.replace(GRID.experiment(cell), name=base.name)
    assert (here != base) == (VARIANTS[name].within is None)


def test_the_short_grid_is_short_and_has_another_name():
    short = shortened(GRID)
    assert len(short.cells) == 2
    assert short.base.data.train_pairs == 2000
    assert short.name != GRID.name


def test_the_estimate_counts_every_cell(monkeypatch, capsys):
    monkeypatch.setattr(train_table_3, "prepare", mock.MagicMock())
    monkeypatch.setattr(train_table_3, "core_seconds", lambda *_: 3600.0)
    train_table_3.print_estimate(GRID)
    hours = float(len(GRID.cells))
    assert f"{hours} hours of one core" in capsys.readouterr().out


def test_a_variant_s_time_is_its_steps_times_a_step_s(monkeypatch):
    """Measured on batches of one kind: twice as many take twice as long."""
    monkeypatch.setattr(train_table_3, "train_step", lambda *_: None)
    monkeypatch.setattr(
        train_table_3.time, "process_time", itertools.count().__next__
    )
    for size in (8, 16):
        batches = mock.MagicMock()
        batches.__len__.return_value = size
        batches.epoch.return_value = [None] * size
        seconds = train_table_3.core_seconds(GRID, BASE, batches)
        assert seconds == size * GRID.base.train.epochs
