"""Laws of the ensemble: the mean of the probabilities, nothing else."""

import pytest
import torch
from tiny import (
    close,
    on_each_device,
    ragged_ids,
    tiny_gru,
    tiny_transformer,
    with_bos,
)

from transformer_course.decoding.generate import greedy_search
from transformer_course.models.ensemble import Ensemble

SRC = ragged_ids([6, 3, 5], seed=1)
TGT = with_bos(ragged_ids([4, 5, 2], seed=2))


@on_each_device
def test_it_gives_the_mean_of_the_probabilities(device):
    models = (tiny_transformer(), tiny_gru(seed=1), tiny_transformer(seed=2))
    models = [model.to(device) for model in models]
    src, tgt = SRC.to(device), TGT.to(device)
    each = [model(src, tgt).softmax(dim=-1) for model in models]
    found = Ensemble(models)(src, tgt)
    close(found.exp(), sum(each) / 3)
    close(found.exp().sum(dim=-1), torch.ones_like(found[..., 0]))


@pytest.mark.parametrize("turn", [1, -1])
def test_a_target_ends_where_the_first_model_s_learned_positions_end(turn):
    models = [
        tiny_transformer(max_length=8),
        tiny_transformer(position="learned", max_length=12),
        tiny_transformer(position="learned", max_length=16),
    ]
    ensemble = Ensemble(models[::turn])
    assert ensemble.config.max_length == 12
    for row in greedy_search(ensemble, SRC):
        assert len(row) <= 12
