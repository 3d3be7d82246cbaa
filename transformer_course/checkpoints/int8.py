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

from transformer_course.errors import CheckpointError

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
    """What :func:`packed` made, as ``float32``; other tensors as they are.

    Raises:
        CheckpointError: a matrix has no scales, or not one for each row.
    """
    restored = dict(tensors)
    for name, values in tensors.items():
        if values.dtype == torch.int8:
            scale = restored.pop(name + SCALE, None)
            _check_scale(name, values, scale)
            restored[name] = dequantized(values, scale)
    return restored


def _check_scale(name: str, values: Tensor, scale: Tensor | None) -> None:
    expected = (*values.shape[:1], *[1] * (values.ndim - 1))
    shape = None if scale is None else tuple(scale.shape)
    if shape != expected or not scale.is_floating_point():
        found = "none" if scale is None else f"{scale.dtype} {list(shape)}"
        raise CheckpointError(
            f"{name} is in eight bits, and its scales are {found}: expected "
            f"numbers {list(expected)}. Take another checkpoint."
        )
