"""What does a decoder read beyond the length that it was trained on?

SmolLM2 was trained on texts of up to 8,192 tokens. Here it reads 16,384, with
its rotary positions as they are and scaled in three ways, in bf16 and without
any further training; ``halves`` begins anew at 8,192, as if nothing stood
before. By seed there is one text, of the language reference that comes with
Python (PSF licence), into which eight pass keys have been written at even
distances. The keys are drawn by the seed. Stored are, of each variant:

- ``nats``: the loss of a token of the text, by position, in parts of 512;
- ``digits``: after each 4,096 tokens, of each key so far the number of its
  five digits that the model continues rightly, given those before it.
"""

import dataclasses
import platform
import random
from pydoc_data.topics import topics

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor

from experiments.answers import load
from experiments.lab import Experiment, Record, RunContext
from transformer_course.data.byte_bpe import ByteBPE
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.transformer import DecoderCache

TRAINED, LENGTH = 8192, 16384
TEXTS = (("types", "specialnames"), ("compound", "string-methods"))
"""Topics of the language reference, by seed."""
NAMES = ("Anna", "Boris", "Clara", "David", "Emma", "Frank", "Greta", "Henry")
EVERY = LENGTH // len(NAMES)
"""Tokens from one pass key to the next; the first is in the middle of them."""
ASKED = 4096
"""Tokens after which the model is asked for all keys so far."""
PART = 512
"""Tokens whose loss is stored together."""
VARIANTS = {
    "none": "positions as in the training",
    "linear": "position interpolation",
    "ntk": "a larger base (NTK-aware)",
    "yarn": "YaRN",
    "halves": "as in the training, begun anew at 8,192",
}


def text_of(
    tokenizer: ByteBPE, seed: int
) -> tuple[Int[Tensor, " length"], Bool[Tensor, " length"], list[str]]:
    """A text with its pass keys, where it is text, and the keys."""
    draw = random.Random(seed)
    keys = [str(draw.randrange(10_000, 100_000)) for _ in NAMES]
    text = "\n\n".join(topics[name] for name in TEXTS[seed])
    rest, ids, plain = tokenizer.encode(text), [], []
    for i, (name, key) in enumerate(zip(NAMES, keys, strict=True)):
        note = tokenizer.encode(
            f"\n\nThe pass key of {name} is {key}. Remember it. "
            f"{key} is the pass key of {name}.\n\n"
        )
        before = i * EVERY + EVERY // 2 - len(ids)
        ids += rest[:before] + note
        plain += [True] * before + [False] * len(note)
        rest = rest[before:]
    ids += rest
    plain += [True] * len(rest)
    return torch.tensor(ids[:LENGTH]), torch.tensor(plain[:LENGTH]), keys


def read(
    model: ModernLanguageModel,
    ids: Int[Tensor, " length"],
    cache: DecoderCache,
) -> Tensor:
    """The last states of new tokens."""
    return model.norm(model.stream(ids[None], cache))[0]


def right_digits(
    model: ModernLanguageModel,
    tokenizer: ByteBPE,
    keys: list[str],
    cache: DecoderCache,
) -> list[int]:
    """Of each key, how many digits are the likeliest, given those before."""
    ids = tokenizer.encode("\n\n")
    digits = []
    for name, key in zip(NAMES, keys, strict=False):
        ids += tokenizer.encode(f"The pass key of {name} is {key}")
        digits += range(len(ids) - len(key), len(ids))
        ids += tokenizer.encode(".\n")
    length, ids = cache.length, torch.tensor(ids)
    states = read(model, ids, cache)
    cache.cut(length)
    digits = torch.tensor(digits)
    best = model.to_logits(states[digits - 1]).argmax(dim=-1)
    return (best == ids[digits]).view(len(keys), -1).sum(dim=1).tolist()


@torch.no_grad()
def measure(variant: str, seed: int, context: RunContext) -> Record:
    """Read a text once, then ask at its end and at earlier places."""
    model, tokenizer = load(context)
    model = model.bfloat16()
    assert context.smoke or model.config.max_length == TRAINED
    if variant not in ("none", "halves"):
        model.config = dataclasses.replace(
            model.config,
            max_length=LENGTH,
            rope_scaling=variant,
            rope_factor=LENGTH / TRAINED,
        )
    ids, plain, keys = text_of(tokenizer, seed)
    length, losses, digits = context.limit(LENGTH, ASKED), [], {}
    step = TRAINED if variant == "halves" else LENGTH
    for start in range(0, length, step):
        cache = model.new_cache()
        end = min(start + step, length)
        states = read(model, ids[start:end], cache)
        wanted = ids[start + 1 : end + 1]
        for some, of in zip(states.split(256), wanted.split(256), strict=True):
            logits = model.to_logits(some[: len(of)]).float()
            losses.append(F.cross_entropy(logits, of, reduction="none"))
        for so_far in range(end, start, -ASKED):
            cache.cut(so_far - start)
            asked = keys[: so_far // EVERY]
            digits[so_far] = right_digits(model, tokenizer, asked, cache)
    losses = F.pad(torch.cat(losses), (1, 0))  # of the token, not before it
    plain[0] = False
    parts = zip(
        losses[:length].split(PART), plain[:length].split(PART), strict=True
    )
    return {
        "nats": [round(float(loss[here].mean()), 4) for loss, here in parts],
        "digits": digits,
    }


EXPERIMENT = Experiment(
    name="long-context",
    chapter="22_since_2017",
    variants={name: name for name in VARIANTS},
    measure=measure,
    seeds=(0, 1),
    settings=lambda: {
        "python": platform.python_version(),
        "texts": TEXTS,
        "trained": TRAINED,
        "length": LENGTH,
        "every": EVERY,
        "asked": ASKED,
        "part": PART,
        "about": VARIANTS,
    },
    smoke_variants=("yarn",),
)
