"""The counts behind the stored times, and the reading of a GPU's use."""

import os

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from experiments import layer_times, timing

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", ["recurrence", "convolution"])
def test_the_multiplications_are_those_that_are_done(name):
    layer, x = layer_times.LAYERS[name](16), torch.randn(1, 10, 16)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(x)
    expected = layer_times.multiplications(name, 10, 16)
    assert counter.get_total_flops() == 2 * expected


@pytest.mark.parametrize("name", layer_times.LAYERS)
def test_a_layer_keeps_the_shape_and_can_be_trained(name):
    x = torch.randn(2, 10, 128, requires_grad=True)
    y = layer_times.LAYERS[name](128)(x)
    y.sum().backward()
    assert y.shape == x.grad.shape == x.shape


def test_the_time_is_the_smallest(monkeypatch):
    ticks = iter([0, 9, 10, 13, 20, 22, 30, 34, 40, 43, 50, 53])
    monkeypatch.setattr(timing, "clock", lambda _: lambda: next(ticks))
    assert timing.seconds(lambda: None, CPU, at_least=0) == 2


def test_how_busy_a_gpu_is_comes_from_nvidia_smi(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 60\n")
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.setattr(layer_times, "WATCHED", 0.7)
    assert layer_times.busy(lambda: None, CPU) == 60
