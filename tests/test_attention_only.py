"""Tokens that come twice, and a model of attention alone."""

import pytest
import torch
from tiny import close

from transformer_course.errors import ConfigError
from transformer_course.interpretation.hooks import attention_maps
from transformer_course.models.attention_only import (
    AttentionOnly,
    induction_scores,
    previous_scores,
    repeated,
)


def drawn(count=4, length=5, vocab=9):
    return repeated(count, length, vocab, torch.Generator().manual_seed(0))


def test_the_second_half_repeats_the_first():
    ids = drawn()
    assert ids.shape == (4, 10)
    assert (ids[:, :5] == ids[:, 5:]).all()
    assert all(len({*row}) == 5 for row in ids.tolist())
    assert len({*map(tuple, ids.tolist())}) > 1
    with pytest.raises(ConfigError, match="10 different tokens"):
        drawn(length=10)


def test_the_model_is_causal():
    model, ids = AttentionOnly(9, d_model=16, n_heads=2), drawn()
    before = model(ids)
    changed = ids.clone()
    changed[:, -1] = (ids[:, -1] + 1) % 9
    after = model(changed)
    assert before.shape == (4, 10, 9)
    close(after[:, :-1], before[:, :-1])
    assert (after[:, -1] - before[:, -1]).abs().max() > 1e-3
    assert {*attention_maps(model, ids)} == {"layers.0", "layers.1"}


def test_scores_of_heads_that_do_one_thing():
    """A head that looks behind the first occurrence, one that looks back by
    one place, and one that looks everywhere."""
    place = torch.arange(10)
    behind = torch.eye(10)[(place - 4).clamp(min=0)]
    before = torch.eye(10)[(place - 1).clamp(min=0)]
    even = torch.full((10, 10), 0.1)
    weights = torch.stack([behind, before, even])[None]
    close(induction_scores(weights), torch.tensor([1.0, 0.0, 0.1]))
    close(previous_scores(weights)[1:], torch.tensor([1.0, 0.1]))
