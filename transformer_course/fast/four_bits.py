"""SmolLM2's weights as its file keeps them, in four bits (chapter 21).

One token needs every weight once, so what moves fewer bytes writes faster.
The file's matrices are multiplied by PyTorch's own product for four bits,
which reads them as they are; activations are rounded to bfloat16, and so are
the two numbers that each group of 32 weights shares.
"""

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

GROUP = 32
"""Weights that share a scale and an offset."""


class FourBitLinear(nn.Module):
    """A product with a matrix of four-bit numbers.

    A weight is q · scale + offset, with q from 0 to 15.

    Args:
        blocks: GGUF's Q4_1: for each group of 32 weights a scale and an offset
            in fp16, then 16 bytes, whose low halves are the first 16 numbers.
    """

    def __init__(self, blocks: UInt8[Tensor, "rows groups bytes"]):
        super().__init__()
        scale, offset = blocks[..., :4].contiguous().view(torch.half).unbind(2)
        scale, offset = scale.float(), offset.float()
        packed = blocks[..., 4:]
        numbers = torch.cat([packed & 15, packed >> 4], dim=2).flatten(1)
        convert = torch._convert_weight_to_int4pack_for_cpu
        self.register_buffer("packed", convert(numbers.int(), 1))
        # the operator counts from 8: q · scale + offset for it is
        shared = torch.stack([scale.T, (offset + 8 * scale).T], dim=2)
        self.register_buffer("shared", shared.contiguous().bfloat16())

    def forward(
        self, x: Float[Tensor, "*batch columns"]
    ) -> Float[Tensor, "*batch rows"]:
        """The product with each vector."""
        rows = x.flatten(0, -2).bfloat16()
        product = torch._weight_int4pack_mm_for_cpu(
            rows, self.packed, GROUP, self.shared
        )
        return product.view(*x.shape[:-1], -1).to(x.dtype)


class ByteLinear(nn.Module):
    """A product with a matrix of eight-bit numbers, a scale for each row."""

    def __init__(self, weight: Float[Tensor, "rows columns"]):
        super().__init__()
        scale = weight.detach().abs().amax(dim=1, keepdim=True) / 127
        numbers = (weight.detach() / scale.clamp(1e-8)).round().to(torch.int8)
        self.register_buffer("numbers", numbers)
        self.register_buffer("scale", scale[:, 0].bfloat16())

    def forward(
        self, x: Float[Tensor, "*batch columns"]
    ) -> Float[Tensor, "*batch rows"]:
        """The product with each vector."""
        rows = x.flatten(0, -2).bfloat16()
        product = torch._weight_int8pack_mm(rows, self.numbers, self.scale)
        return product.view(*x.shape[:-1], -1).to(x.dtype)


def keep_packed(model: nn.Module) -> None:
    """Let a model multiply by the weights of its file as they are kept.

    The four-bit matrices of ``load_gguf`` stay in four bits. The logits'
    matrix stays in eight, but gets one scale for each row, where the file has
    one for 32 weights. The model is changed in place, without gradients. Other
    models, and those on other devices than the CPU, stay as they are.
    """
    parts = [
        (name, part.gguf_blocks)
        for name, part in model.named_modules()
        if hasattr(part, "gguf_blocks")
    ]
    if not parts or next(model.parameters()).device.type != "cpu":
        return
    for name, blocks in parts:
        parent, _, last = name.rpartition(".")
        part = FourBitLinear(torch.from_numpy(np.array(blocks)))
        setattr(model.get_submodule(parent), last, part)
    model.to_logits = ByteLinear(model.to_logits.weight)
