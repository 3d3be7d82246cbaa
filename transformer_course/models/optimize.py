"""What is only for speed: nothing here changes what is learned (chapter 21).

Each part has a plain counterpart, which the chapters build and explain. A
training from the command line uses what is here, and so does a trained model
that is loaded for use; ``train.fit`` and the searches by themselves do not.
"""

import contextlib
import ctypes
import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import MethodType
from typing import TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from transformer_course.device import cpu_family
from transformer_course.models.attention import (
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
)

Found = TypeVar("Found")
Changed = list[tuple[nn.Module, str, Callable | None]]
"""Layers, the method that each has got anew, and what it had of its own."""
SIXTEEN_BITS = 2**16
FEW = 16
"""Queries, of which the plain form of attention is not slower, if nothing is
learned."""
SHORT = {torch.float32: 32, torch.bfloat16: 128}
"""Lengths up to which, on two threads, it is not slower with its way back
either, by precision. (The fused kernel is given fp32; see
``fused_attention``.) In longer texts its weights would take memory, too."""
MOST_OF_OLD_GLIBC = 2**25
"""Bytes: a threshold above it is refused by versions before 2.35."""
ZEN_5 = 26
"""AMD's first family that computes with 512 bits at once; Zen 4 takes two
halves, and so is as fast with the 256 bits that MKL gives it."""
MOST_AT_ONCE = 4
"""Batches on threads of their own. Python runs on one thread at a time, so
that many would wait for it. Tried on two; the limit is a guess."""
PACKED_FOR = 64
"""Rows that matrices are packed for. Others are answered as fast."""


def keep_freed_memory() -> None:
    """Tell glibc to keep freed blocks in place of giving them back.

    A training step asks for the same blocks again and again, and so does a
    search; this makes both some per cent faster on a CPU (chapter 21). It
    holds for the whole process, so only what owns that calls it: the
    commands. Elsewhere than on Linux with glibc it does nothing.
    """
    trim_threshold, mmap_threshold, most = -1, -3, 2**30
    try:
        libc = ctypes.CDLL("libc.so.6")
        if not libc.mallopt(mmap_threshold, most):
            libc.mallopt(mmap_threshold, MOST_OF_OLD_GLIBC)
        libc.mallopt(trim_threshold, most)
    except (OSError, AttributeError):
        return


@contextlib.contextmanager
def faster_layers(model: nn.Module) -> Iterator[None]:
    """:func:`use_faster_layers` for a while."""
    changed = use_faster_layers(model)
    try:
        yield
    finally:
        for layer, method, own in changed:
            if own is None:  # its class's is there again
                delattr(layer, method)
            else:
                setattr(layer, method, own)


def use_faster_layers(model: nn.Module) -> Changed:
    """Let a model's layers compute the same in cheaper ways.

    On a CPU dropout draws sixteen bits for a number in place of a float
    (:func:`dropout`), and few queries, or short texts, are answered without
    the fused kernel (:func:`attention`). Matrix products in full precision go
    to oneDNN (:func:`linear`) where it is faster: with gradients where
    :func:`onednn_is_twice_as_fast`, else where :func:`onednn_is_faster`.

    Returns:
        What was changed, to be put back.
    """
    changed: Changed = []
    for layer in model.modules():
        if type(layer) is nn.Dropout:
            name, way = "forward", MethodType(_dropped, layer)
        elif type(layer) is nn.Linear and onednn_is_faster():
            name, way = "forward", MethodType(_mapped, layer)
        elif type(layer) is MultiHeadAttention:
            name, way = "attend", attention
        else:
            continue
        changed.append((layer, name, vars(layer).get(name)))
        setattr(layer, name, way)
    return changed


def _dropped(layer: nn.Dropout, x: Tensor) -> Tensor:
    return dropout(x, layer.p) if layer.training else x


def _mapped(layer: nn.Linear, x: Tensor) -> Tensor:
    learns = torch.is_grad_enabled() and not onednn_is_twice_as_fast()
    way = F.linear if learns else linear
    return way(x, layer.weight, layer.bias)


def pack_weights(model: nn.Module) -> None:
    """Keep each matrix in the order in which oneDNN reads it, too.

    Each product brings its matrix into that order anew. With few rows, as
    while text is written, this takes longer than the arithmetic. A packed
    matrix is a copy: it takes as much memory again, a weight that changes
    later is not seen, and the model can no longer be copied. So only what
    owns a trained model calls this: the commands. With gradients, and
    elsewhere than on a CPU, nothing changes.
    """
    for layer in model.modules():
        if type(layer) is nn.Linear and _can_be_packed(layer.weight):
            with torch.no_grad():
                packed = torch.ops.mkldnn._reorder_linear_weight(
                    layer.weight, PACKED_FOR
                )
            layer.forward = partial(_packed, layer, packed, layer.forward)


def _can_be_packed(weight: Tensor) -> bool:
    """Whether such products are oneDNN's: all of those in bf16, and in full
    precision where it is faster. Tried on x86 alone."""
    x86 = platform.machine() in ("x86_64", "AMD64")
    if weight.device.type != "cpu" or not x86:
        return False
    if not torch.backends.mkldnn.is_available():
        return False
    if weight.dtype == torch.bfloat16:
        return torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return weight.dtype == torch.float32 and onednn_is_faster()


def _packed(
    layer: nn.Linear,
    weight: Tensor,
    plain: Callable[[Tensor], Tensor],
    x: Tensor,
) -> Tensor:
    """A layer's answer from its packed matrix, where that may be taken."""
    same = x.dtype == weight.dtype and x.device.type == "cpu"
    narrow = torch.is_autocast_enabled("cpu")
    if torch.is_grad_enabled() or narrow or not same or not x.numel():
        return plain(x)
    return product(x, weight, layer.bias)


def batches_at_once() -> int:
    """How many batches :func:`side_by_side` searches at a time."""
    return min(torch.get_num_threads(), MOST_AT_ONCE)


def side_by_side(
    search: Callable[[Tensor], Found], batches: Sequence[Tensor]
) -> Iterator[Found]:
    """``map(search, batches)`` on a CPU, each batch on threads of its own.

    Threads that share a batch wait for one another after each operation, and
    a search consists of thousands of small ones. The last batches, too few
    for all threads, are shared all the same. The searches that run at once
    need their memory at once, and an error waits for those under way.

    Args:
        search: what is done with a batch; several threads call it at once,
            on a model that they share.
        batches: source ids.

    Yields:
        What was found for each batch, in their order.
    """
    at_once, threads = batches_at_once(), torch.get_num_threads()
    whole = len(batches) - len(batches) % at_once
    own = [threads // at_once]
    pool = ThreadPoolExecutor(at_once, "", torch.set_num_threads, own)
    try:
        yield from pool.map(search, batches[:whole])
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # for threads that start later
    yield from map(search, batches[whole:])


def attention(
    query: Float[Tensor, "batch heads query d_head"],
    key: Float[Tensor, "batch heads key d_head"],
    value: Float[Tensor, "batch heads key d_value"],
    mask: Bool[Tensor, "..."] | None,
) -> Float[Tensor, "batch heads query d_value"]:
    """:func:`~.attention.fused_attention`, or the plain
    form where that is faster: on a CPU, for few queries or short texts.

    The fused kernel takes blocks of queries, and wants full precision; with a
    cache there are only the newest tokens to ask, for many keys.
    """
    if torch.is_grad_enabled():
        longest = max(query.size(2), key.size(2))
        small = longest <= SHORT.get(query.dtype, 0)
    else:
        small = query.size(2) <= FEW
    if small and query.device.type == "cpu":
        return scaled_dot_product_attention(query, key, value, mask)[0]
    return fused_attention(query, key, value, mask)


def dropout(
    x: Float[Tensor, "*shape"], share: float
) -> Float[Tensor, "*shape"]:
    """``F.dropout`` in training, with sixteen random bits for a number.

    torch draws a float for each number on a CPU, which costs more than all
    the rest of dropout. The share is kept to 1/65,536.

    Args:
        x: on any device; elsewhere than on a CPU torch's own draws are made.
        share: of the numbers that become zero; the others are divided by
            1 - ``share``.
    """
    dropped = round(share * SIXTEEN_BITS)
    if x.device.type != "cpu" or dropped in (0, SIXTEEN_BITS):
        return F.dropout(x, share)
    fours = torch.empty(-(-x.numel() // 4), dtype=torch.int64)
    bits = fours.random_(-(2**63), None).view(torch.int16)
    keep = bits[: x.numel()].view(x.shape) >= dropped - SIXTEEN_BITS // 2
    return x * (keep.to(x.dtype) / (1 - dropped / SIXTEEN_BITS))


def onednn_is_twice_as_fast() -> bool:
    """Whether oneDNN's gain is worth its memory in training.

    oneDNN keeps half a megabyte of code for each shape of a product. Even
    with few numbers of rows (:func:`padded_size`), a training has three
    products for each matrix, and a search has one.
    """
    return onednn_is_faster() and (cpu_family() or 0) >= ZEN_5


def onednn_is_faster() -> bool:
    """Whether full precision is faster in oneDNN than in what torch takes.

    On x86 torch's products in fp32 go to MKL, which has its fastest kernels
    for Intel's processors only.
    """
    mkl = torch.backends.mkl.is_available()
    name = torch.cpu.get_capabilities().get("cpu_name", "")
    return mkl and torch.backends.mkldnn.is_available() and "AMD" in name


def linear(
    x: Float[Tensor, "*batch d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None,
) -> Float[Tensor, "*batch d_out"]:
    """``F.linear``, by oneDNN where it is in full precision on a CPU."""
    narrow = torch.is_autocast_enabled(x.device.type)
    full = x.dtype == torch.float32 and not narrow
    if x.device.type != "cpu" or not full or not x.numel():
        return F.linear(x, weight, bias)
    return _Product.apply(x, weight, bias)


def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a bᵀ + bias, by oneDNN and without a way back."""
    return torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")


class _Product(torch.autograd.Function):
    """x Wᵀ + b, and its gradients, by oneDNN, rows padded to few sizes."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        out = product(_padded(x), weight, bias)
        return _shaped(out, x.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        inputs, rows = _padded(x), _padded(grad)
        of_weight = product(rows.t(), inputs.t())
        of_bias = rows.sum(dim=0) if ctx.has_bias else None
        of_x = product(rows, weight.t())
        return _shaped(of_x, x.shape), of_weight, of_bias


def padded_size(rows: int) -> int:
    """``rows`` or the next larger of four sizes between powers of two.

    From 1,024 on these are 1,280, 1,536, 1,792 and 2,048; up to 8, each
    number is one.
    """
    step = 2 ** max(0, rows.bit_length() - 3)
    return -(-rows // step) * step


def _padded(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "rows d"]:
    """All rows, and zeros up to one of a few sizes.

    For each shape of a product oneDNN keeps half a megabyte of code, and a
    training has hundreds of them. Rows of zeros add nothing to a gradient.
    """
    rows = x.reshape(-1, x.size(-1))
    lacking = padded_size(len(rows)) - len(rows)
    return F.pad(rows, (0, 0, 0, lacking)) if lacking else rows


def _shaped(
    rows: Float[Tensor, "rows d"], shape: torch.Size
) -> Float[Tensor, "*batch d"]:
    """As many rows as are wanted, in their batch."""
    return rows[: shape[:-1].numel()].view(*shape[:-1], -1)
