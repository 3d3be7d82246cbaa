"""The counts behind the stored times, and the reading of a GPU's use."""

import os

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tools import measure_layers

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", ["recurrence", "convolution"])
def test_the_multiplications_are_those_that_are_done(name):
    layer, x = measure_layers.LAYERS[name](16), torch.randn(1, 10, 16)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(x)
    expected = measure_layers.multiplications(name, 10, 16)
    assert counter.get_total_flops() == 2 * expected


@pytest.mark.parametrize("name", measure_layers.LAYERS)
def test_a_layer_keeps_the_shape_and_can_be_trained(name):
    x = torch.randn(2, 10, 128, requires_grad=True)
    y = measure_layers.LAYERS[name](128)(x)
    y.sum().backward()
    assert y.shape == x.grad.shape == x.shape


def test_the_time_is_the_smallest(monkeypatch):
    ticks = iter([0, 9, 10, 13, 20, 22, 30, 34, 40, 43, 50, 53])
    monkeypatch.setattr(measure_layers, "clock", lambda _: lambda: next(ticks))
    assert measure_layers.seconds(lambda: None, CPU) == 2


def test_how_busy_a_gpu_is_comes_from_nvidia_smi(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 60\n")
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.setattr(measure_layers, "WATCHED", 0.7)
    assert measure_layers.busy(lambda: None, CPU) == 60
