"""Weights in eight bits: whole numbers, and one scale for each row.

A matrix of ``float32`` becomes one of ``int8`` and a column of scales, named
``NAME.scale``; what has one dimension (biases, norms) is small, and stays as
it is. So a checkpoint is a quarter as large. It is made ``float32`` again when
it is read: nothing is computed in eight bits.

Rows differ in size, so each has a scale of its own. Krishnamoorthi 2018,
"Quantizing deep convolutional networks for efficient inference: A whitepaper",
section 2, calls this symmetric and per channel.
"""

import torch
from torch import Tensor

LARGEST = 127
"""Of the whole numbers, on both sides of zero."""
SMALLEST = 1e-30
"""What a row of zeros is scaled by, more or less."""
SCALE = ".scale"
"""What is behind a matrix's name in that of its scales."""


def quantized(weight: Tensor) -> tuple[Tensor, Tensor]:
    """The nearest whole numbers, in units of a scale for each row.

    Args:
        weight: (rows, ...), finite; a row of a kernel of convolution is all
            that makes one channel.

    Returns:
        ``int8`` of the same shape, and ``float32`` scales (rows, 1, ...). A
        number is off by half its row's scale at the most.
    """
    weight = weight.float()
    within = tuple(range(1, weight.ndim))
    largest = weight.abs().amax(dim=within, keepdim=True)
    scale = largest.clamp(min=SMALLEST) / LARGEST
    return (weight / scale).round().to(torch.int8), scale


def dequantized(values: Tensor, scale: Tensor) -> Tensor:
    """``float32`` again: each row's whole numbers times its scale."""
    return values * scale


def packed(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors with matrices in eight bits, and their scales."""
    small: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.ndim < 2:
            small[name] = tensor
        else:
            small[name], small[name + SCALE] = quantized(tensor)
    return small


def unpacked(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """What :func:`packed` made, as ``float32``; other tensors as they are."""
    restored = dict(tensors)
    for name, values in tensors.items():
        if values.dtype == torch.int8:
            restored[name] = dequantized(values, restored.pop(name + SCALE))
    return restored
