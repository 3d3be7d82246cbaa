"""Laws of weights in eight bits."""

import pytest
import torch
from tiny import tiny_transformer

from transformer_course.checkpoints import checkpoint, int8

SHAPES = [(5, 7), (1, 9), (6, 3, 2, 2), (1, 1, 8)]


@pytest.mark.parametrize("shape", SHAPES)
def test_no_number_is_off_by_more_than_half_its_rows_scale(shape):
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    values, scale = int8.quantized(weight)
    assert values.dtype == torch.int8
    assert values.shape == weight.shape
    assert scale.shape == (shape[0], *[1] * (len(shape) - 1))
    error = (int8.dequantized(values, scale) - weight).abs()
    assert (error <= scale * 0.5001).all()


def test_a_rows_largest_number_uses_all_of_the_range():
    values, _ = int8.quantized(torch.tensor([[0.5, -2.0], [4e5, 1.0]]))
    assert values.tolist() == [[32, -127], [127, 0]]


def test_a_row_of_zeros_stays_one():
    weight = torch.tensor([[0.0, 0.0], [1.0, -1.0]])
    assert torch.equal(int8.dequantized(*int8.quantized(weight)), weight)


def test_to_round_again_changes_nothing():
    once = int8.dequantized(*int8.quantized(torch.randn(8, 16)))
    twice = int8.dequantized(*int8.quantized(once))
    torch.testing.assert_close(once, twice, rtol=1e-6, atol=0)


def test_vectors_are_kept_as_they_are():
    tensors = {"matrix": torch.randn(3, 4), "bias": torch.randn(3)}
    small = int8.packed(tensors)
    assert set(small) == {"matrix", "matrix.scale", "bias"}
    assert small["bias"] is tensors["bias"]
    assert int8.unpacked(small).keys() == tensors.keys()


def test_a_checkpoint_in_eight_bits_is_the_same_model_but_for_rounding(
    tmp_path,
):
    model = tiny_transformer(seed=1, bias=True).eval()
    checkpoint.save(tmp_path / "whole", model)
    checkpoint.save(tmp_path / "small", model, eight_bits=True)
    loaded = checkpoint.load(tmp_path / "small").model
    for name, parameter in model.named_parameters():
        stored = loaded.get_parameter(name)
        assert stored.dtype == torch.float32
        if parameter.ndim == 1:
            assert torch.equal(stored, parameter)
        else:
            values = int8.dequantized(*int8.quantized(parameter.detach()))
            assert torch.equal(stored, values)

    sizes = [
        (tmp_path / name / "model.safetensors").stat().st_size
        for name in ("small", "whole")
    ]
    assert sizes[0] < 0.6 * sizes[1]  # in so small a one names weigh
