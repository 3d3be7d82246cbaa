"""Laws of settings: checked when made, the same from JSON, presets build."""

import math

import pytest
import torch

from transformer_course.checkpoints import checkpoint
from transformer_course.checks import from_dict
from transformer_course.data.config import DataConfig
from transformer_course.errors import ConfigError
from transformer_course.models.config import (
    ModelConfig,
)
from transformer_course.training.config import (
    Experiment,
    LoopConfig,
)
from transformer_course.training.presets import PRESETS
from transformer_course.training.tasks.table import find_task
from transformer_course.training.tasks.task import check

FILES = ("a.en", "b.ja")


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"token_budget": 0}, "token_budget is 0"),
        ({"subword_sampling": -0.1}, "subword_sampling is -0.1"),
        (
            {"subword_sampling": 0.1, "pieces": "bpe"},
            "needs unigram pieces, but pieces is 'bpe'",
        ),
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


NUMBERS = "epochs seed peak_rate warmup cooldown beta2 epsilon weight_decay "
NUMBERS += "clip average_last save_every"


@pytest.mark.parametrize("value", [math.nan, math.inf, -1])
@pytest.mark.parametrize("name", NUMBERS.split())
def test_what_is_negative_or_not_finite_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"{name} is"):
        LoopConfig(**{name: value})


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
