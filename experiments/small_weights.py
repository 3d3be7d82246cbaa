"""What do weights in eight and four bits take, give and cost?

*product*: a matrix times one token's vector, as when one text is written, on
one thread, in seconds of the processor. The matrix is larger than the
processor's cache. *by hand* makes floats of all weights and multiplies;
*compiled* is the same sum in one loop by ``torch.compile``, *kernel* an
operator of PyTorch that reads the small weights (with activations in bf16).
*quality*: a small translator of the built-in grammar, just learned and so
never rounded before, with all matrices rounded: its loss on the development
set, and how many of its translations change. (The models
that the course ships are stored in eight bits. To round one of them to the
same eight bits changes nothing.)
"""

import copy
import functools
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from experiments.timing import run_in_subprocess, seconds, undisturbed
from experiments.translators import Training, follow, settings_of
from transformer_course.checkpoints.int8 import quantized
from transformer_course.decoding.translate import translate
from transformer_course.training.loop import evaluate
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.prepare import Prepared

ROWS, COLUMNS, GROUP = 16384, 4096, 32
TIMES = 5
SENTENCES = 100
LEARNER = Training("the preset grammar", base=PRESETS["grammar"])
"""The translator that is rounded."""

Product = Callable[[Tensor], Tensor]


class Question(NamedTuple):
    """A way to multiply, or to round."""

    kind: str
    way: str
    bits: int


def in_groups(weight: Tensor, bits: int, group: int) -> tuple[Tensor, Tensor]:
    """Whole numbers, and a scale for each group of columns of a row."""
    parts = weight.unflatten(1, (-1, group))
    largest = 2 ** (bits - 1) - 1
    scale = parts.abs().amax(dim=2, keepdim=True).clamp(min=1e-30) / largest
    return (parts / scale).round().to(torch.int8), scale


def two_in_a_byte(numbers: Tensor) -> Tensor:
    """Numbers from -7 to 7: the first half of each group in the low bits."""
    low, high = (numbers + 8).to(torch.uint8).chunk(2, dim=2)
    return low | (high << 4)


def from_bytes(packed: Tensor) -> Tensor:
    """The inverse of :func:`two_in_a_byte`, as floats."""
    return torch.cat([packed & 15, packed >> 4], dim=2).float() - 8


def summed_8(x: Tensor, numbers: Tensor, scale: Tensor) -> Tensor:
    """The product, read from bytes in one loop once it is compiled."""
    return (numbers.float() * x).sum(1) * scale[:, 0]


def summed_4(x: Tensor, packed: Tensor, scale: Tensor) -> Tensor:
    """The same from half bytes."""
    first, second = x.unflatten(1, (-1, 2, GROUP // 2)).unbind(2)
    low, high = (packed & 15).float() - 8, (packed >> 4).float() - 8
    sums = (low * first + high * second).sum(2)
    return (sums * scale[:, :, 0]).sum(1)


def by_hand_8(x: Tensor, numbers: Tensor, scale: Tensor) -> Tensor:
    """Floats first, then a product."""
    return F.linear(x, numbers * scale)


def by_hand_4(x: Tensor, packed: Tensor, scale: Tensor) -> Tensor:
    """Floats first, then a product."""
    return F.linear(x, (from_bytes(packed) * scale).flatten(1))


def ways(weight: Tensor, asked: Question) -> tuple[Product, int]:
    """The product of one way, and the bytes of its weights."""
    if asked.bits == 32:
        return lambda x: F.linear(x, weight), weight.nbytes
    if asked.bits == 16:
        half = weight.bfloat16()
        return lambda x: F.linear(x.bfloat16(), half), half.nbytes
    if asked.bits == 8:
        numbers, scale = quantized(weight)
        by_hand, summed, small = by_hand_8, summed_8, numbers
    else:
        numbers, scale = in_groups(weight, 4, GROUP)
        by_hand, summed, small = by_hand_4, summed_4, two_in_a_byte(numbers)
    size = small.nbytes + scale.nbytes
    if asked.way == "kernel":
        return kernel(numbers, scale), size
    if asked.way == "compiled":
        by_hand = torch.compile(summed)
    return lambda x: by_hand(x, small, scale), size


def kernel(numbers: Tensor, scale: Tensor) -> Product:
    """PyTorch's own operators, as gpt-fast calls them."""
    if numbers.ndim == 2:
        scales = scale[:, 0].bfloat16()
        return lambda x: torch._weight_int8pack_mm(
            x.bfloat16(), numbers, scales
        )
    unsigned = (numbers + 8).flatten(1).int()
    packed = torch._convert_weight_to_int4pack_for_cpu(unsigned, 1)
    both = torch.stack([scale[:, :, 0].T, torch.zeros_like(scale[:, :, 0].T)])
    both = both.permute(1, 2, 0).contiguous().bfloat16()
    return lambda x: torch._weight_int4pack_mm_for_cpu(
        x.bfloat16(), packed, GROUP, both
    )


@torch.inference_mode()
def multiplied(asked: Question, rows: int) -> Record:
    """Milliseconds of the product, and bytes."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    weight, x = torch.randn(rows, COLUMNS) / 64, torch.randn(1, COLUMNS)
    product, size = ways(weight, asked)
    taken = seconds(partial(product, x), x.device, 0.0, TIMES)
    return {
        "milliseconds": float(f"{1000 * taken:.4g}"),
        "megabytes": round(size / 1e6, 1),
    }


@functools.cache
def learned(seed: int, context: RunContext) -> tuple[Prepared, list[str]]:
    """A translator in 32 bits with its data, and what it writes."""
    torch.set_num_threads(1)
    prepared = follow(LEARNER, seed, context).end.prepared
    return prepared, written(prepared.model, prepared, context)


def written(
    model: nn.Module, prepared: Prepared, context: RunContext
) -> list[str]:
    """Translations of test sentences."""
    texts = prepared.splits.test.src[: context.limit(SENTENCES)]
    return translate(model, prepared.tokenizer, texts)


def rounded(asked: Question, seed: int, context: RunContext) -> Record:
    """The loss of a rounded translator, and its translations."""
    prepared, before = learned(seed, context)
    model = copy.deepcopy(prepared.model)
    groups = {"group": GROUP, "row": None, "matrix": 0}.get(asked.way)
    for weight in model.parameters():
        if weight.ndim == 2 and asked.bits < 32:
            group = weight.size(1) if groups is None else groups
            parts = weight.data if group else weight.data.view(1, -1)
            group = group or weight.numel()
            numbers, scale = in_groups(parts, asked.bits, group)
            weight.data = (numbers * scale).view_as(weight)
    after = written(model, prepared, context)
    return {
        "nll": round(evaluate(model, prepared.dev_batches)["nll"], 4),
        "changed": sum(a != b for a, b in zip(before, after, strict=True)),
    }


def measure(asked: Question, seed: int, context: RunContext) -> Record:
    """One way, once."""
    if asked.kind == "product":
        about, rows = undisturbed(context.smoke), context.limit(ROWS, 64)
        return {**about, **run_in_subprocess(multiplied, asked, rows)}
    return rounded(asked, seed, context)


VARIANTS = {
    "product/32 bits": Question("product", "float", 32),
    "product/16 bits": Question("product", "float", 16),
    **{
        f"product/{bits} bits, {way}": Question("product", way, bits)
        for bits in (8, 4)
        for way in ("by hand", "compiled", "kernel")
    },
    "quality/32 bits": Question("quality", "float", 32),
    **{
        f"quality/{bits} bits, {way}": Question("quality", way, bits)
        for bits in (8, 4)
        for way in ("matrix", "row", "group")
    },
}

EXPERIMENT = Experiment(
    name="small-weights",
    chapter="21_speed",
    variants=VARIANTS,
    measure=measure,
    settings=lambda: {
        "rows": ROWS,
        "columns": COLUMNS,
        "group": GROUP,
        "sentences": SENTENCES,
        **settings_of({"quality": LEARNER}),
    },
    smoke_variants=("product/8 bits, kernel", "quality/4 bits, group"),
)
