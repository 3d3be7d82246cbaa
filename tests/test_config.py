"""Laws of settings: checked when made, the same from JSON, presets build."""

import dataclasses
import json
import math

import pytest
import torch

from transformer_course.checkpoints import checkpoint
from transformer_course.checks import from_dict
from transformer_course.data.config import DataConfig
from transformer_course.errors import ConfigError
from transformer_course.models.config import (
    LanguageModelConfig,
    ModelConfig,
    RecurrentConfig,
)
from transformer_course.training.config import (
    Experiment,
    LoopConfig,
    SequenceLossConfig,
    changed_experiment,
)
from transformer_course.training.presets import PRESETS
from transformer_course.training.tasks.table import find_task
from transformer_course.training.tasks.task import check

FILES = ("a.en", "b.ja")


@pytest.mark.parametrize(
    "config",
    [
        ModelConfig(d_model=64, position="rotary"),
        LanguageModelConfig(n_layers=1),
        RecurrentConfig(d_hidden=32),
        DataConfig(train_pairs=7),
        DataConfig(corpus="files", files=("a", "b"), sha256=("0f", "1e")),
        LoopConfig(peak_rate=0.1),
    ],
    ids=lambda config: type(config).__name__,
)
def test_settings_survive_json(config):
    values = json.loads(json.dumps(dataclasses.asdict(config)))
    assert from_dict(type(config), values) == config


def test_an_unknown_setting_names_the_known_ones():
    with pytest.raises(ConfigError, match=r"no setting depth.*n_layers"):
        from_dict(ModelConfig, {"depth": 3})


@pytest.mark.parametrize("files", [[], ["a", "b", "c"], ["a", 1], "ab"])
def test_files_are_one_or_two(files):
    with pytest.raises(ConfigError, match=r"files is .* expected one or two"):
        from_dict(DataConfig, {"files": files})


def test_files_take_the_place_of_the_corpus():
    assert DataConfig(corpus="soseki", files=FILES).corpus == "files"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"n_layers": 2000}, "a whole number from 1 to 1,000"),
        ({"n_layers": True}, "a whole number from 1"),
        ({"n_layers": 2.0}, "a whole number from 1"),
        ({"dropout": 1}, r"a number in \[0, 1\)"),
        ({"bias": 1}, "True or False"),
        ({"activation": "tanh"}, "relu or gelu"),
        ({"max_length": 2**60}, "a whole number of at least 1"),
    ],
)
def test_a_value_that_does_not_fit_its_type_is_refused(changes, expected):
    [name] = changes
    with pytest.raises(
        ConfigError, match=f"{name} is .*: expected {expected}"
    ):
        ModelConfig(**changes)


def test_settings_cannot_be_changed_afterwards():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModelConfig().d_model = 30


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"token_budget": 0}, "token_budget is 0"),
        ({"train_pairs": 0}, "train_pairs is 0"),
        ({"subword_sampling": -0.1}, "subword_sampling is -0.1"),
        (
            {"subword_sampling": 0.1, "pieces": "bpe"},
            "needs unigram pieces, but pieces is 'bpe'",
        ),
        ({"max_shapes": 0}, "max_shapes is 0"),
        ({"src": "English"}, "src is 'English'.* such as en"),
        ({"corpus": "files"}, "describe your files, and none are given"),
        ({"spaced": True}, "describe your files, and none are given"),
        (
            {"files": FILES, "pieces": "word"},
            "text as people write it: choose --data.pieces unigram",
        ),
    ],
)
def test_data_settings_that_cannot_work_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        DataConfig(**changes)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (LoopConfig, "peak_rate"),
        (LoopConfig, "epsilon"),
        (LoopConfig, "clip"),
        (SequenceLossConfig, "label_smoothing"),
        (SequenceLossConfig, "r_drop"),
    ],
)
def test_what_is_not_finite_is_refused(kind, name, value):
    with pytest.raises(ConfigError, match=f"{name} is"):
        kind(**{name: value})


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "/a", "a\\b", "a\n", "\udcff"]
)
def test_a_name_that_is_not_one_folder_s_is_refused(name):
    expected = "name is .*expected text in UTF-8 that names"
    with pytest.raises(ConfigError, match=expected):
        Experiment(name)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_builds_a_model_and_is_named_after_itself(name):
    preset = PRESETS[name]
    assert preset.name == name
    with torch.device("meta"):
        assert checkpoint.build(preset.model).config == preset.model
    check(find_task(preset.task), preset)


def test_a_preset_starts_from_another_one():
    starts = {preset.train.start_from for preset in PRESETS.values()}
    assert starts - {None} <= set(PRESETS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model.n_heads": "1"}, "n_heads is '1'"),
        ({"model.n_heads": 3}, "cannot be split over 3 heads"),
    ],
)
def test_settings_that_cannot_be_changed_so_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        changed_experiment(Experiment(), changes)


def test_only_the_named_settings_are_changed():
    found = changed_experiment(Experiment(), {"model.n_heads": 1})
    model = dataclasses.replace(ModelConfig(), n_heads=1)
    assert found == dataclasses.replace(Experiment(), model=model)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (("eng", "jpn"), ("en", "ja")),
        (("zho", "tha"), ("zh", "th")),
        (("deu", "ja"), ("deu", "ja")),
        ((None, "khm"), (None, "km")),
    ],
)
def test_a_language_has_one_code(given, kept):
    data = DataConfig(src=given[0], tgt=given[1])
    assert (data.src, data.tgt) == kept
