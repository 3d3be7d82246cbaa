"""Layers that compute the same in less time on a CPU (chapter 21).

:func:`optimize` swaps a model's layers for subclasses of them, as torchao
does: names, parameters and ``state_dict`` stay. Each subclass computes as its
parent does wherever its own way is missing or slower.
"""

import functools
import time

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from transformer_course.models.attention import (
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
)

MIN_SPEEDUP = 1.2
"""oneDNN keeps half a megabyte of code for each shape of a product: less gain
is not worth the memory."""
TRAINING_ROWS, INFERENCE_ROWS = 256, 16
"""Rows of the products that are timed; matrices are packed for the latter."""
TRAINING_SHAPE = (1024, 256)
"""Shape of the weight that is timed for training."""
MAX_QUERIES = 16
"""Number of queries up to which explicit attention is used for inference."""
MAX_LENGTH = {torch.float32: 32, torch.bfloat16: 128}
"""Lengths up to which it is used in training. (The fused kernel is given
fp32; longer texts would also need memory for their weights.)"""
N_16_BITS = 2**16
OPERATORS = (
    "_is_mkldnn_bf16_supported",
    "_linear_pointwise",
    "_reorder_linear_weight",
)


def optimize(model: nn.Module) -> nn.Module:
    """Swap a model's layers for ones that are faster on a CPU.

    ``nn.Linear`` becomes :class:`OneDNNLinear` where that is faster,
    ``nn.Dropout`` :class:`Dropout16`, and ``MultiHeadAttention``
    :class:`ShortAttention`; subclasses of these are left alone. A new layer
    shares the old one's parameters, so an optimizer may be made before or
    after.

    Returns:
        The model, changed in place; a new layer if ``model`` is a layer.
    """
    classes = {nn.Dropout: Dropout16, MultiHeadAttention: ShortAttention}
    layers = [m for m in model.modules() if type(m) is nn.Linear]
    weights = [m.weight for m in layers if m.weight.device.type == "cpu"]
    faster = [onednn_is_faster(w.dtype) for w in weights]
    faster += [onednn_is_faster(w.dtype, packed=w.shape) for w in weights]
    if any(faster):
        classes[nn.Linear] = OneDNNLinear
    return swap(model, classes)


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


class OneDNNLinear(nn.Linear):
    """``nn.Linear`` by oneDNN, forward and backward.

    In evaluation mode and without gradients the matrix is also kept in
    oneDNN's own order, as a copy: to reorder it for each product takes longer
    than the arithmetic where rows are few. The copy is renewed when the
    parameter is changed or replaced. (A change in place of ``weight.data`` is
    noticed after ``train()`` only.)
    """

    _packed: tuple[Tensor, int, Tensor] | None = None
    """The matrix, the number of its changes so far, and its copy."""

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Tensor:
        """x Wᵀ + b."""
        weight = self.weight
        plain = x.device.type != "cpu" or x.dtype != weight.dtype
        plain = plain or not x.numel() or weight.is_inference()
        if plain or torch.is_autocast_enabled("cpu"):
            return super().forward(x)
        if torch.is_grad_enabled():
            if onednn_is_faster(x.dtype):
                return OneDNNProduct.apply(x, weight, self.bias)
        elif not self.training and onednn_is_faster(
            x.dtype, packed=weight.shape
        ):
            return _onednn(x, self._packed_weight(), self.bias)
        return super().forward(x)

    def _packed_weight(self) -> Tensor:
        weight, packed = self.weight, self._packed
        if (
            packed is None
            or packed[0].data_ptr() != weight.data_ptr()
            or packed[1] != weight._version
        ):
            copy = _pack(weight)
            packed = self._packed = weight.detach(), weight._version, copy
        return packed[2]

    def train(self, mode: bool = True) -> "OneDNNLinear":
        """Set the mode; in training mode there is no copy of the matrix."""
        if mode:
            self._packed = None
        return super().train(mode)

    def __getstate__(self) -> dict:
        """The state without the packed matrix, which cannot be copied."""
        return {k: v for k, v in vars(self).items() if k != "_packed"}


class OneDNNProduct(torch.autograd.Function):
    """x Wᵀ + b and its gradients by oneDNN, rows padded to few sizes."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        """x Wᵀ + b."""
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        out = _onednn(_pad_rows(x), weight, bias)
        return _unpad_rows(out, x.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        """The gradients of x, W and b."""
        x, weight = ctx.saved_tensors
        inputs, rows = _pad_rows(x), _pad_rows(grad)
        grad_weight = _onednn(rows.t(), inputs.t())
        grad_bias = rows.sum(dim=0) if ctx.has_bias else None
        grad_x = _onednn(rows, weight.t())
        return _unpad_rows(grad_x, x.shape), grad_weight, grad_bias


def padded_size(rows: int) -> int:
    """``rows`` or the next larger of four sizes between powers of two.

    From 1,024 on these are 1,280, 1,536, 1,792 and 2,048; up to 8, each
    number is one.
    """
    step = 2 ** max(0, rows.bit_length() - 3)
    return -(-rows // step) * step


def _pad_rows(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "rows d"]:
    """All rows, and zeros up to a :func:`padded_size`.

    So that there are few shapes for oneDNN to keep code for. Rows of zeros
    add nothing to a gradient.
    """
    rows = x.reshape(-1, x.size(-1))
    padding = padded_size(len(rows)) - len(rows)
    return F.pad(rows, (0, 0, 0, padding)) if padding else rows


def _unpad_rows(
    rows: Float[Tensor, "rows d"], shape: torch.Size
) -> Float[Tensor, "*batch d"]:
    """The first rows, in the batch that they came from."""
    return rows[: shape[:-1].numel()].view(*shape[:-1], -1)


def product(a: Tensor, b: Tensor) -> Tensor:
    """a bᵀ without a gradient, by oneDNN where that is faster."""
    faster = onednn_is_faster(a.dtype)
    return _onednn(a, b) if faster else F.linear(a, b)


@functools.cache
def onednn_is_faster(
    dtype: torch.dtype, packed: tuple[int, int] | None = None
) -> bool:
    """Whether oneDNN's product is faster than torch's own, timed once.

    MKL, which torch takes for products in fp32 on x86, has its fastest
    kernels for some processors only. (In bf16 torch calls oneDNN by itself,
    so it gains from packed matrices alone.) Takes up to 50 ms.

    Args:
        dtype: the numbers of the product.
        packed: the shape of a matrix to be packed. What is gained depends on
            it: on some processors only large ones gain.
    """
    if not has_onednn(dtype):
        return False
    rows, shape = INFERENCE_ROWS, packed
    if shape is None:
        rows, shape = TRAINING_ROWS, TRAINING_SHAPE
    x, weight = (
        torch.ones(n, shape[1], dtype=dtype) for n in (rows, shape[0])
    )
    theirs = _pack(weight) if packed else weight
    ways = (lambda: F.linear(x, weight), lambda: _onednn(x, theirs))
    seconds: list[list[float]] = [[], []]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # other programs do not count in its own time
    for _ in range(10):  # in turns; the least disturbed count
        for way, found in zip(ways, seconds, strict=True):
            start = time.thread_time()
            way()
            found.append(time.thread_time() - start)
    torch.set_num_threads(threads)
    return min(seconds[0]) >= MIN_SPEEDUP * min(seconds[1])


def has_onednn(dtype: torch.dtype) -> bool:
    """Whether torch has oneDNN's operators for numbers of this type, on x86.

    The operators are private, so a later torch may lack them. They were tried
    on builds with MKL, which are for x86 alone.
    """
    backends, mkldnn = torch.backends, torch.ops.mkldnn
    x86 = backends.mkl.is_available() and backends.mkldnn.is_available()
    if not x86 or not all(hasattr(mkldnn, name) for name in OPERATORS):
        return False
    if dtype == torch.bfloat16:
        return mkldnn._is_mkldnn_bf16_supported()
    return dtype == torch.float32


def _onednn(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a bᵀ + bias, without a gradient."""
    return torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")


@torch.no_grad()
def _pack(weight: Tensor) -> Tensor:
    """A copy of a matrix in oneDNN's own order."""
    return torch.ops.mkldnn._reorder_linear_weight(weight, INFERENCE_ROWS)


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
