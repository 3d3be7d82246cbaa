"""SmolLM2's weights as its file keeps them, in four bits (chapter 21).

One token needs every weight once, so what moves fewer bytes writes faster.
The file's matrices are multiplied by PyTorch's own product for four bits,
which reads them as they are; activations are rounded to bfloat16, and so are
the two numbers that each group of 32 weights shares.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import BFloat16, Float, UInt8
from torch import Tensor, nn

from transformer_course.models.modern import GatedFeedForward

GROUP = 32
"""Weights that share a scale and an offset."""


class FourBitLinear(nn.Module):
    """A product with a matrix of four-bit numbers.

    A weight is q · scale + offset, with q from 0 to 15.

    Args:
        packed: the numbers, two a byte, in the operator's order.
        shared: of each group, what the operator adds to (q - 8) · scale.
    """

    def __init__(
        self,
        packed: UInt8[Tensor, "rows bytes"],
        shared: BFloat16[Tensor, "groups rows 2"],
    ):
        super().__init__()
        self.register_buffer("packed", packed)
        self.register_buffer("shared", shared)

    @classmethod
    def of(cls, blocks: UInt8[Tensor, "rows groups bytes"]) -> "FourBitLinear":
        """The product with a matrix of a file.

        Args:
            blocks: GGUF's Q4_1: for each group of 32 weights a scale and an
                offset in fp16, then 16 bytes, whose low halves are the first
                16 numbers.
        """
        scale, offset = blocks[..., :4].contiguous().view(torch.half).unbind(2)
        scale, offset = scale.float(), offset.float()
        packed = blocks[..., 4:]
        numbers = torch.cat([packed & 15, packed >> 4], dim=2).flatten(1)
        convert = torch._convert_weight_to_int4pack_for_cpu
        # the operator counts from 8: q · scale + offset for it is
        shared = torch.stack([scale.T, (offset + 8 * scale).T], dim=2)
        shared = shared.contiguous().bfloat16()
        return cls(convert(numbers.int(), 1), shared)

    def forward(
        self, x: Float[Tensor, "*batch columns"]
    ) -> Float[Tensor, "*batch rows"]:
        """The product with each vector."""
        rows = x.flatten(0, -2).bfloat16()
        product = torch._weight_int4pack_mm_for_cpu(
            rows, self.packed, GROUP, self.shared
        )
        return product.view(*x.shape[:-1], -1).to(x.dtype)


class ConcatLinear(nn.ModuleList):
    """Several products with the same vectors, one behind the other."""

    def forward(
        self, x: Float[Tensor, "*batch columns"]
    ) -> Float[Tensor, "*batch rows"]:
        """All products of each vector."""
        return torch.cat([part(x) for part in self], dim=-1)


def concat_linears(parts: Sequence[nn.Module]) -> nn.Module:
    """:class:`ConcatLinear`, as one product if all matrices have four bits."""
    if not all(isinstance(part, FourBitLinear) for part in parts):
        return ConcatLinear(parts)
    return FourBitLinear(
        torch.cat([part.packed for part in parts]),
        torch.cat([part.shared for part in parts], dim=1),
    )


class FourBitFeedForward(nn.Module):
    """SwiGLU, with one product for gate and input, in bfloat16."""

    def __init__(
        self, gate: FourBitLinear, up: FourBitLinear, down: FourBitLinear
    ):
        super().__init__()
        self.both, self.down_proj = concat_linears([gate, up]), down

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Each position, by itself."""
        gate, up = self.both(x.bfloat16()).chunk(2, dim=-1)
        return self.down_proj(F.silu(gate) * up)


class FastRMSNorm(nn.Module):
    """RMSNorm in fewer operations than PyTorch's takes on a CPU."""

    def __init__(self, norm: nn.RMSNorm):
        super().__init__()
        gain, width = norm.weight.detach(), norm.weight.numel()
        self.register_buffer("gain", gain * width**0.5)
        self.register_buffer("least", torch.tensor((width * norm.eps) ** 0.5))

    def forward(
        self, x: Float[Tensor, "*batch width"]
    ) -> Float[Tensor, "*batch width"]:
        """x over its root mean square, times the gain."""
        size = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x / torch.hypot(size, self.least) * self.gain


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
    one for 32 weights. Starting an operation takes time, too, so there are
    fewer of them. The model is changed in place, without gradients. Other
    models, and those on other devices than the CPU, stay as they are.
    """
    if next(model.parameters()).device.type != "cpu":
        return
    parts = {
        name: FourBitLinear.of(torch.from_numpy(np.array(part.gguf_blocks)))
        for name, part in model.named_modules()
        if hasattr(part, "gguf_blocks")
    }
    if not parts:
        return
    for name, part in parts.items():
        model.set_submodule(name, part)
    for name, part in list(model.named_modules()):
        if isinstance(part, nn.RMSNorm):
            model.set_submodule(name, FastRMSNorm(part))
        products = list(part.children())
        packed = all(isinstance(one, FourBitLinear) for one in products)
        if isinstance(part, GatedFeedForward) and packed:
            model.set_submodule(name, FourBitFeedForward(*products))
    model.to_logits = ByteLinear(model.to_logits.weight)
