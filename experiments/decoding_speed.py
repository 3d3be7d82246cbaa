"""How fast does a decoder read a prompt, and write token after token?

On one thread, in seconds of the processor; in each round all variants take
turns. *smollm2* is a decoder of SmolLM2's sizes, *small* one of the course's;
what they write depends on no weights, so these are drawn. *decode* writes
behind a context of so many positions, whose keys and values are drawn too.
The cache grows by ``torch.cat``, or its memory is reserved ahead; *static* is
reserved whole and always read whole, under a mask, so that shapes stay;
*compiled* is that by ``torch.compile``, layer by layer. *prefill* reads a
prompt in one call, *batch* writes so many texts at a time.
"""

import functools
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.lab import Experiment, Record, RunContext
from experiments.timing import undisturbed
from transformer_course.decoding.search import last_logits
from transformer_course.models.attention import KVCache
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.positional_encoding import rotate, rotations

SIZES = {
    "small": ModernConfig(max_length=4096),
    "smollm2": ModernConfig(
        vocab_size=49152,
        d_model=576,
        n_heads=9,
        n_kv_heads=3,
        d_ff=1536,
        n_layers=30,
        max_length=8192,
        rope_base=100_000.0,
    ),
}
STEPS = {"small": 64, "smollm2": 6}
"""Tokens that are written and timed in a round, after two that are not."""
WARM, ROUNDS = 2, 5
CONTEXTS = (256, 2048)
BATCHES = (1, 4, 16, 32)
PROMPT = 512

Step = Callable[[Tensor, int], Tensor]
"""From the newest tokens and their position to the logits."""


class Question(NamedTuple):
    """A way of writing, or of reading."""

    size: str
    way: str
    """prefill, cat, reserved, static, compiled."""
    context: int
    batch: int = 1


def filled(model: ModernLanguageModel, asked: Question):
    """A cache that holds a context."""
    cache = model.new_cache()
    for kept in cache.layers:
        if asked.way == "cat":
            kept.own = KVCache()
        kept.own.extend(*context_of(model.config, asked))
    return cache


def context_of(config: ModernConfig, asked: Question) -> tuple[Tensor, Tensor]:
    """Drawn keys and values of a layer."""
    shape = asked.batch, config.n_kv_heads, asked.context, config.d_head
    return torch.randn(2, *shape).unbind()


def growing(model: ModernLanguageModel, asked: Question) -> Step:
    """By the package, with a cache that grows."""
    cache = filled(model, asked)

    def step(ids: Tensor, position: int) -> Tensor:
        cache.cut(position)  # of the round before
        return model.decode(ids, cache)

    return step


def static(model: ModernLanguageModel, asked: Question) -> Step:
    """With a cache whose shape stays."""
    write = static_writer(model, asked)
    return lambda ids, position: write(ids, torch.tensor([position]))


def static_writer(
    model: ModernLanguageModel, asked: Question
) -> Callable[[Tensor, Tensor], Tensor]:
    """The same, given the position as a tensor; later ones are masked."""
    config, size = model.config, asked.context + WARM + STEPS[asked.size]
    caches = []
    for _ in model.layers:
        room = [
            F.pad(part, (0, 0, 0, size - asked.context))
            for part in context_of(config, asked)
        ]
        caches.append(room)
    of_layer = static_layer
    if asked.way == "compiled":
        of_layer = torch.compile(static_layer, dynamic=False)

    places = torch.arange(size)

    def write(ids: Tensor, at: Tensor) -> Tensor:
        turns = rotations(at, config.d_head, config.rope_base)
        mask = (places <= at)[None]
        x = model.embedding(ids)
        for layer, (keys, values) in zip(model.layers, caches, strict=True):
            x = of_layer(layer, x, turns, keys, values, at, mask)
        return model.to_logits(model.norm(x))

    return write


def static_layer(layer, x, turns, keys, values, at, mask) -> Tensor:
    """A layer of ``models.modern`` for one token, as tensors alone."""
    attention, y = layer.attention, layer.norm_1(x)
    query, key, value = (
        to(y).unflatten(-1, (-1, attention.d_head)).transpose(1, 2)
        for to in (attention.to_query, attention.to_key, attention.to_value)
    )
    keys.index_copy_(2, at, rotate(key, turns))
    values.index_copy_(2, at, value)
    output = F.scaled_dot_product_attention(
        rotate(query, turns), keys, values, mask, enable_gqa=True
    )
    x = x + attention.to_output(output.transpose(1, 2).flatten(2))
    return x + layer.feed_forward(layer.norm_2(x))


@functools.cache
def model_of(size: str) -> ModernLanguageModel:
    """A decoder whose weights are drawn."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return ModernLanguageModel(SIZES[size]).eval()


@functools.cache
def prepared(asked: Question) -> Step:
    """What writes a token."""
    make = static if asked.way in ("static", "compiled") else growing
    return make(model_of(asked.size), asked)


def read(asked: Question) -> Record:
    """Tokens of a prompt that are read in a second."""
    model = model_of(asked.size)
    ids = torch.randint(3, 8000, (asked.batch, asked.context))
    last_logits(model, ids[:, :WARM], cache=model.new_cache())
    start = time.process_time()
    last_logits(model, ids, cache=model.new_cache())
    return {"rate": rate(ids.numel(), start)}


def written(asked: Question, steps: int) -> Record:
    """Tokens a second; the last logits, which do not depend on the way."""
    step = prepared(asked)
    newest = torch.ones(asked.batch, 1, dtype=torch.long)
    for i in range(WARM + steps):
        if i == WARM:
            start = time.process_time()
        logits = step(newest, asked.context + i)
        newest = logits[:, -1:].argmax(dim=-1)
    return {
        "rate": rate(steps * asked.batch, start),
        "largest": float(f"{logits.max():.4g}"),
    }


def rate(tokens: int, start: float) -> float:
    """Tokens a second since ``start``, rounded."""
    return float(f"{tokens / (time.process_time() - start):.4g}")


@torch.inference_mode()
def measure(asked: Question, seed: int, context: RunContext) -> Record:
    """One way, once."""
    about = undisturbed(context.smoke)
    if asked.way == "prefill":
        return {**about, **read(asked)}
    return {**about, **written(asked, context.limit(STEPS[asked.size]))}


def questions() -> dict[str, Question]:
    """All of them, by name."""
    found = {
        f"decode/{size} {context} {way}": Question(size, way, context)
        for size in SIZES
        for context in CONTEXTS
        for way in ("cat", "reserved", "static", "compiled")
    }
    for size in SIZES:
        found[f"prefill/{size}"] = Question(size, "prefill", PROMPT)
    for n in BATCHES:
        name = f"batch/smollm2 {n}"
        found[name] = Question("smollm2", "reserved", CONTEXTS[0], n)
    return found


EXPERIMENT = Experiment(
    name="decoding-speed",
    chapter="21_speed",
    variants=questions(),
    measure=measure,
    seeds=tuple(range(ROUNDS)),
    settings=lambda: {
        "steps": STEPS,
        "prompt": PROMPT,
        "sizes": {
            name: {
                "d_model": config.d_model,
                "n_layers": config.n_layers,
                "vocab_size": config.vocab_size,
            }
            for name, config in SIZES.items()
        },
    },
    smoke_variants=("decode/small 256 cat", "decode/small 256 static"),
)
