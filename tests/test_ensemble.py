"""Laws of the ensemble: the mean of the probabilities, nothing else."""

import pytest
import torch
from tiny import (
    close,
    on_each_device,
    ragged_ids,
    tiny_gru,
    tiny_language_model,
    tiny_transformer,
    with_bos,
)

from transformer_course.decoding.generate import greedy_search
from transformer_course.errors import ConfigError
from transformer_course.models.ensemble import Ensemble

SRC = ragged_ids([6, 3, 5], seed=1)
TGT = with_bos(ragged_ids([4, 5, 2], seed=2))


def members(device="cpu"):
    models = (tiny_transformer(), tiny_gru(seed=1), tiny_transformer(seed=2))
    return [model.to(device) for model in models]


@on_each_device
def test_it_gives_the_mean_of_the_probabilities(device):
    models = members(device)
    src, tgt = SRC.to(device), TGT.to(device)
    each = [model(src, tgt).softmax(dim=-1) for model in models]
    found = Ensemble(models)(src, tgt)
    close(found.exp(), sum(each) / 3)
    close(found.exp().sum(dim=-1), torch.ones_like(found[..., 0]))


@pytest.mark.parametrize("times", [1, 2])
def test_of_one_model_it_is_that_model(times):
    model = tiny_transformer()
    found = Ensemble([model] * times)(SRC, TGT)
    close(found, model(SRC, TGT).log_softmax(dim=-1))


def test_the_order_of_the_models_does_not_matter():
    models = members()
    close(Ensemble(models)(SRC, TGT), Ensemble(models[::-1])(SRC, TGT))


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


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "no models"),
        ([tiny_transformer(), tiny_gru(vocab_size=20)], r"\[17, 20\] pieces"),
    ],
)
def test_models_that_cannot_work_together_are_refused(models, message):
    with pytest.raises(ConfigError, match=message):
        Ensemble(models)


def test_a_language_model_among_them_says_that_it_reads_no_source():
    ensemble = Ensemble([tiny_transformer(), tiny_language_model()])
    with pytest.raises(ConfigError, match="language model reads none"):
        greedy_search(ensemble, SRC)
