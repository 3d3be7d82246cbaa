"""The other direction of a training both ways."""

from dataclasses import asdict

import pytest

from experiments.jaen_both import turned
from transformer_course.errors import ConfigError
from transformer_course.presets import PRESETS


def test_source_and_target_are_exchanged_and_nothing_else():
    settings = asdict(PRESETS["enja-both"])
    found = turned(settings)
    assert (found["data"]["src"], found["data"]["tgt"]) == ("ja", "en")
    assert turned(found) == settings


def test_a_training_in_one_direction_has_no_other():
    with pytest.raises(ConfigError, match="one direction only"):
        turned(asdict(PRESETS["enja"]))
