"""The variants of embeddings are what they say."""

import dataclasses

import pytest
import torch

from experiments.embeddings import (
    VARIANTS,
    faster_tables,
    standard_normal,
    tables_of,
)
from transformer_course.config import ModelConfig, TrainConfig
from transformer_course.train import make_optimizer
from transformer_course.transformer import Transformer

UNTIED = ModelConfig(
    vocab_size=20,
    d_model=16,
    n_heads=2,
    d_ff=32,
    n_layers=1,
    dropout=0.0,
    tied=False,
)


def small(config=UNTIED):
    torch.manual_seed(0)
    return Transformer(config).double()


def one_step(model, make):
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 7, 8]])
    optimizer = make(model, TrainConfig())
    for group in optimizer.param_groups:
        group["lr"] = 0.01
    model(src, tgt).logsumexp(dim=-1).sum().backward()
    optimizer.step()
    return model(src, tgt)


def test_large_rows_and_a_large_step_are_the_papers_training():
    """Rows and rate × √d, without the factor: the same function after Adam."""
    large = small()
    standard_normal(large)
    expected = one_step(small(), make_optimizer)
    torch.testing.assert_close(one_step(large, faster_tables), expected)


@pytest.mark.parametrize("tied", [True, False])
def test_each_weight_is_in_one_group(tied):
    model = small(dataclasses.replace(UNTIED, tied=tied))
    optimizer = faster_tables(model, TrainConfig())
    others, tables = (group["params"] for group in optimizer.param_groups)
    assert len(tables) == len(tables_of(model)) == (1 if tied else 2)
    ids = [id(weight) for weight in [*others, *tables]]
    assert sorted(ids) == sorted(map(id, model.parameters()))


def test_the_names_of_the_variants_differ_in_what_they_change():
    told = [variant.about for variant in VARIANTS.values()]
    assert len(set(told)) == len(told)
