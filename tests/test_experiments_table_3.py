"""The variants of table 3 are what they say."""

import dataclasses
import json

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

from experiments.table_3 import (
    D_KEY,
    GRID,
    PAPER,
    VARIANTS,
    NarrowKeyed,
    NarrowKeys,
    write_paper,
)
from transformer_course import checkpoint
from transformer_course.attention import MultiHeadAttention
from transformer_course.errors import CheckpointError
from transformer_course.generate import greedy_search
from transformer_course.grid import BASE, Cell, weights
from transformer_course.grid.plan import count


def test_a_variant_changes_one_setting_or_the_keys_alone():
    for name, variant in VARIANTS.items():
        changed = variant.build is checkpoint.build
        assert len(variant.changes) == changed, name


def test_every_kind_of_row_is_there_and_three_seeds():
    assert {v.row for v in VARIANTS.values()} >= set("ABCDE")
    assert len(set(GRID.seeds)) == 3


def test_keys_and_queries_are_narrow_and_values_are_not():
    model = NarrowKeyed(tiny_config())
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
    narrow = count(NarrowKeyed(settings))
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
    model = NarrowKeyed(tiny_config())
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
    assert (here != base) == (VARIANTS[name].build is checkpoint.build)


def test_a_checkpoint_with_narrow_keys_is_built_as_it_was(tmp_path):
    model = NarrowKeyed(tiny_config(n_heads=1)).eval()
    checkpoint.save(tmp_path / "narrow", model)
    src = ragged_ids([3, 5])
    loaded = checkpoint.load(tmp_path / "narrow", build=NarrowKeyed).model
    close(loaded(src, with_bos(src)), model(src, with_bos(src)))
    with pytest.raises(CheckpointError):
        checkpoint.load(tmp_path / "narrow")
