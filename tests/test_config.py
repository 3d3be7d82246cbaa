"""Laws of settings: checked when made, the same from JSON, presets build."""

import dataclasses
import json

import pytest

from transformer_course import checkpoint
from transformer_course.config import (
    PRESETS,
    DataConfig,
    Experiment,
    ModelConfig,
    RecurrentConfig,
    TrainConfig,
    from_dict,
)
from transformer_course.errors import ConfigError

SOSEKI = {"corpus": "soseki", "src": "ja", "tgt": "ja"}


@pytest.mark.parametrize(
    "config",
    [
        ModelConfig(d_model=64, position="rotary"),
        RecurrentConfig(d_hidden=32),
        DataConfig(train_pairs=7),
        TrainConfig(peak_rate=0.1),
    ],
    ids=lambda config: type(config).__name__,
)
def test_settings_survive_json(config):
    values = json.loads(json.dumps(dataclasses.asdict(config)))
    assert from_dict(type(config), values) == config


def test_an_unknown_setting_names_the_known_ones():
    with pytest.raises(ConfigError, match=r"no setting depth.*n_layers"):
        from_dict(ModelConfig, {"depth": 3})


def test_settings_cannot_be_changed_afterwards():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModelConfig().d_model = 30


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"token_budget": 0}, "token_budget is 0"),
        ({"train_pairs": 0}, "train_pairs is 0"),
        ({"src": "ja", "tgt": "ja"}, "src and tgt are both 'ja'"),
        ({"corpus": "soseki"}, "soseki is in Japanese, but src is 'en'"),
        (SOSEKI | {"both_ways": True}, "both_ways is for translations"),
        ({"subword_sampling": -0.1}, "subword_sampling is -0.1"),
        (
            {"subword_sampling": 0.1, "pieces": "bpe"},
            "needs unigram pieces, but pieces is 'bpe'",
        ),
        ({"max_shapes": 0}, "max_shapes is 0"),
    ],
)
def test_data_settings_that_cannot_work_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        DataConfig(**changes)


@pytest.mark.parametrize(
    ("data", "model", "message"),
    [
        (SOSEKI | {"corpus": "soseki_text"}, {}, "needs decoder_only"),
        ({"subword_sampling": 0.1}, {"decoder_only": True}, "set it to 0"),
        ({"both_ways": True}, {"decoder_only": True}, "leave it out"),
    ],
)
def test_text_and_model_must_fit(data, model, message):
    with pytest.raises(ConfigError, match=message):
        Experiment("x", DataConfig(**data), ModelConfig(**model))


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_builds_a_model_and_is_named_after_itself(name):
    preset = PRESETS[name]
    assert preset.name == name
    assert checkpoint.build(preset.model).config == preset.model
