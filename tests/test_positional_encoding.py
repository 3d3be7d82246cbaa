"""Laws of positions: the paper's formula, rotation, distance."""

import math

import pytest
import torch
from tiny import close, on_each_device

from transformer_course.errors import ConfigError
from transformer_course.models.positional_encoding import (
    LearnedPosition,
    NoPosition,
    RotaryPosition,
    SinusoidalPosition,
    position_module,
    rotations,
    scaled_rotations,
    sinusoidal_encoding,
)


def test_odd_width_is_refused():
    with pytest.raises(ConfigError, match="d_model is 7"):
        sinusoidal_encoding(4, 7)


@on_each_device
def test_sinusoidal_module_adds_the_table(device):
    position = SinusoidalPosition(10, 8).to(device)
    x = torch.randn(2, 4, 8, device=device)
    table = sinusoidal_encoding(10, 8).to(device)
    close(position(x), x + table[:4])
    close(position(x, offset=3), x + table[3:7])


def test_sinusoidal_module_goes_beyond_its_table():
    x, position = torch.zeros(1, 25, 8), SinusoidalPosition(4, 8)
    close(position(x)[0], sinusoidal_encoding(25, 8))
    close(position(x, offset=3)[0], sinusoidal_encoding(28, 8)[3:])


def test_a_longer_text_leaves_the_table_as_it_was():
    """Else processes that train together would have different ones."""
    position = SinusoidalPosition(4, 8)
    before = position.table
    with torch.inference_mode():
        position(torch.zeros(1, 9, 8))
    assert position.table is before and len(before) == 4


def test_learned_module_adds_its_own_vectors():
    position = LearnedPosition(10, 8)
    x = torch.randn(2, 4, 8)
    close(position(x, offset=6), x + position.table[6:])


def test_learned_module_refuses_a_position_without_weights():
    with pytest.raises(ConfigError, match=r"position 11.*end at 10"):
        LearnedPosition(10, 8)(torch.zeros(1, 4, 8), offset=7)


def test_rotary_refuses_an_odd_head():
    with pytest.raises(ConfigError, match="d_head is 5"):
        RotaryPosition(5)


def test_position_module_by_name():
    kinds = ("sinusoidal", "learned", "rotary", "none")
    found = [type(position_module(kind, 10, 8)) for kind in kinds]
    added = [SinusoidalPosition, LearnedPosition]
    assert found == [*added, NoPosition, NoPosition]


LONGER = {"base": 100_000.0, "factor": 2.0, "trained": 8192.0}


def test_scaled_positions_are_slower_where_they_should_be():
    positions, d_head = torch.tensor([1]), 64
    plain = rotations(positions, d_head, LONGER["base"])[1][0].asin()
    speeds = {}
    for scaling in ("linear", "ntk", "yarn"):
        cos, sin = scaled_rotations(
            positions, d_head, scaling=scaling, **LONGER
        )
        speeds[scaling] = torch.atan2(sin, cos)[0] / plain
    close(speeds["linear"], torch.full((32,), 0.5))
    close(speeds["ntk"][[0, -1]], torch.tensor([1.0, 0.5]), 1e-4)
    turns = 8192 * plain / (2 * math.pi)  # within the trained length
    assert (speeds["yarn"][turns > 32] == 1).sum() >= 8
    close(speeds["yarn"][turns < 0.8], torch.full(((turns < 0.8).sum(),), 0.5))
    assert (speeds["yarn"].diff() <= 1e-6).all()


@pytest.mark.parametrize(
    ("scaling", "theirs"),
    [
        ("linear", {"rope_type": "linear", "factor": 2.0}),
        ("ntk", {"rope_type": "dynamic", "factor": 1.0}),
        ("yarn", {"rope_type": "yarn", "factor": 2.0}),
    ],
)
def test_scaled_positions_are_those_of_transformers(scaling, theirs):
    library = pytest.importorskip("transformers.modeling_rope_utils")
    transformers = pytest.importorskip("transformers")
    original = {"original_max_position_embeddings": 8192}
    config = transformers.LlamaConfig(
        hidden_size=576,
        num_attention_heads=9,
        max_position_embeddings=8192,
        rope_parameters={"rope_theta": LONGER["base"]}
        | theirs
        | (original if scaling == "yarn" else {}),
    )
    speeds = library.ROPE_INIT_FUNCTIONS[theirs["rope_type"]]
    speeds, sharper = speeds(config, None, seq_len=16384)
    positions = torch.arange(0, 16384, 1111)
    angles = positions[:, None] * speeds
    found = scaled_rotations(positions, 64, scaling=scaling, **LONGER)
    close(found[0], sharper * angles.cos(), 5e-3)
    close(found[1], sharper * angles.sin(), 5e-3)


def test_pairs_that_do_not_turn_are_alike_at_all_positions():
    cos, sin = rotations(torch.arange(9), 16, share=0.25)
    whole = rotations(torch.arange(9), 16)
    close(cos[:, :2], whole[0][:, :2])
    assert (cos[:, 2:] == 1).all() and not sin[:, 2:].any()
