"""What is told of positions is what the variants say."""

import pytest
import torch
from tiny import random_ids, tiny_config
from torch.testing import assert_close

from experiments import positions
from transformer_course.positional_encoding import (
    RotaryPosition,
    sinusoidal_encoding,
)

IDS, OTHERS = random_ids(1, 6, seed=1), random_ids(1, 6, seed=2)


def test_beside_the_word_stands_its_position_alone():
    x = torch.randn(2, 5, 12)
    found = positions.Beside(20, 12, 4)(x, offset=3)
    assert_close(found[..., :8], x[..., :8])
    assert_close(found[1, :, 8:], sinusoidal_encoding(20, 4)[3:8])


def test_only_the_fastest_hands_turn():
    rotary = RotaryPosition(8)
    x = torch.randn(1, 2, 5, 8)
    found = positions.FewHands(rotary, 2)(x, 3)
    assert_close(found[..., :4], rotary(x, 3)[..., :4])
    assert_close(found[..., 4:], x[..., 4:])


def test_the_columns_of_the_wrong_table_are_no_pairs():
    zeros = torch.zeros(1, 20, 8)
    for paired in (True, False):
        table = positions.DoubledExponent(20, 8, paired)(zeros)[0]
        ones = table[:, 0::2] ** 2 + table[:, 1::2] ** 2
        assert torch.allclose(ones, torch.ones(20, 4)) == paired


@pytest.mark.parametrize("side", ["src", "tgt"])
def test_without_positions_the_order_of_a_side_is_unknown(side):
    model = positions.without(side)(tiny_config(n_layers=1)).eval()
    src, tgt = (IDS.flip(1), OTHERS), (IDS, OTHERS[:, [1, 0, 2, 3, 4, 5]])
    with torch.no_grad():
        known, found = (
            model(IDS, OTHERS),
            model(*{"src": src, "tgt": tgt}[side]),
        )
    assert_close(found[:, 2:], known[:, 2:])


def test_letters_are_asked_that_stood_before():
    generator = torch.Generator().manual_seed(0)
    ids, asked = positions.letters_batch(3, 7, generator)
    assert (asked[:, :2] == 0).all()
    assert_close(asked[:, 2:], ids[:, :-2])
