"""Layers that compute the same in less time on a CPU (chapter 21).

:func:`optimize` swaps a model's layers for subclasses of them, as torchao
does: names, parameters and ``state_dict`` stay. A subclass computes as its
parent does on other devices, and where its own way would be slower. Types and
shapes decide that, never a clock, so a seed fixes what a training computes.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.models.attention import (
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
)

MAX_QUERIES = 16
"""Number of queries up to which explicit attention is used for inference."""
MAX_LENGTH = {torch.float32: 32, torch.bfloat16: 128}
"""Lengths up to which it is used in training. (The fused kernel is given
fp32; longer texts would also need memory for their weights.)"""
N_16_BITS = 2**16


def optimize(model: nn.Module) -> nn.Module:
    """Swap a model's layers for ones that are faster on a CPU.

    ``nn.Dropout`` becomes :class:`Dropout16`, ``MultiHeadAttention``
    :class:`ShortAttention`; subclasses of these are left alone. A new layer
    shares the old one's parameters, so an optimizer may be made before or
    after.

    Returns:
        The model, changed in place; a new layer if ``model`` is a layer.
    """
    return swap(
        model, {nn.Dropout: Dropout16, MultiHeadAttention: ShortAttention}
    )


def swap(
    model: nn.Module, classes: dict[type[nn.Module], type[nn.Module]]
) -> nn.Module:
    """Swap each layer of a class for one of a subclass.

    Args:
        model: changed in place.
        classes: the subclass that takes the place of each class; it has the
            same parameters, submodules, hooks and mode.

    Returns:
        The model; a new layer if ``model`` is a layer.
    """
    swapped = {}
    for module in model.modules():
        if type(module) in classes:
            subclass = classes[type(module)]
            new = swapped[module] = subclass.__new__(subclass)
            new.__dict__.update(module.__dict__)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if child in swapped:
                setattr(module, name, swapped[child])
    return swapped.get(model, model)


class Dropout16(nn.Dropout):
    """``nn.Dropout`` that draws sixteen random bits for each number.

    torch draws a float for each on a CPU, which costs more than all the rest
    of dropout. The share dropped is rounded to 1/65,536.
    """

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """In training zeros at random places, the rest divided by 1 - p."""
        dropped = round(self.p * N_16_BITS)
        plain = not self.training or dropped in (0, N_16_BITS)
        if plain or x.device.type != "cpu":
            return super().forward(x)
        fours = torch.empty(-(-x.numel() // 4), dtype=torch.int64)
        bits = fours.random_(-(2**63), None).view(torch.int16)
        keep = bits[: x.numel()].view(x.shape) >= dropped - N_16_BITS // 2
        return x * (keep.to(x.dtype) / (1 - dropped / N_16_BITS))


class ShortAttention(MultiHeadAttention):
    """``MultiHeadAttention`` that is explicit for short inputs on a CPU.

    The fused kernel takes blocks of queries and full precision. With a cache
    there are only the newest tokens' queries, for many keys.
    """

    def attend(self, query, key, value, mask):
        """The heads' outputs, by the kernel or the formula."""
        if torch.is_grad_enabled():
            longest = max(query.size(2), key.size(2))
            short = longest <= MAX_LENGTH.get(query.dtype, 0)
        else:
            short = query.size(2) <= MAX_QUERIES
        if short and query.device.type == "cpu":
            return scaled_dot_product_attention(query, key, value, mask)[0]
        return fused_attention(query, key, value, mask)
