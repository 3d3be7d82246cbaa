"""How well does text by diffusion keep to a grammar, in how many steps?

Three models of one size learn the English of the built-in grammar, in equally
many steps: a decoder that predicts the next word; masked diffusion of whole
sentences; and diffusion block by block. All learn at one rate, which was not
tuned for any of them.

Sentences have up to nine words. Of ten places, those behind the full stop hold
the id of the end.

Reported are nats of a sentence that was held out (an upper bound where the
order is not fixed), and of sentences that the models draw the share that the
grammar can say (``grammatical``), how many are different, and how often the
network was called for them.
"""

from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.grammatical import can_say
from experiments.lab import Experiment, Record, RunContext
from transformer_course.data.corpora import load_corpus
from transformer_course.data.tokenizer import EOS
from transformer_course.models.block_diffusion import (
    MASK,
    block_mask,
    diffusion_loss,
    unmask,
    write_blocks,
)
from transformer_course.models.config import LanguageModelConfig
from transformer_course.models.transformer import LanguageModel

PLACES, BLOCK = 10, 5
STEPS, ROWS, WARMUP, RATE = 2000, 64, 50, 6e-3
SEEDS = (0, 1, 2, 3, 4)
DRAWN = 100
"""Sentences that are drawn in each way."""
COUNTS = (1, 2, 3, 5, 10)
"""Steps for all places of a sentence."""
BLOCK_COUNTS = (1, 2, 3, 5)
"""Steps for those of a block."""
TEMPERATURES = (1.0, 0.7)
SIZES = {
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 256,
    "n_layers": 2,
    "max_length": PLACES,
    "dropout": 0.0,
    "norm_first": True,
    "position": "sinusoidal",
}
KINDS = {"decoder": 0, "whole": PLACES, "blocks": BLOCK}
"""Places of a block; 0 for the decoder."""


@cache
def data() -> tuple[list[str], Tensor, Tensor]:
    """Words by their ids, and rows of ids to learn from and to test with."""
    corpus = load_corpus("grammar")
    train, test = corpus.train.src, corpus.test.src
    words = sorted({word for line in train for word in line.split()})
    number = {word: i for i, word in enumerate(words, EOS + 1)}
    train, test = (
        [line for line in lines if len(line.split()) < PLACES]
        for lines in (train, test)
    )
    rows = (
        torch.tensor(
            [
                [number[w] for w in line.split()]
                + [EOS] * (PLACES - len(line.split()))
                for line in lines
            ]
        )
        for lines in (train, test)
    )
    return ["", "", "", *words], *rows


def texts(ids: Tensor) -> list[str]:
    """The words of each row, up to its end."""
    words, _, _ = data()
    rows = [row[: (*row, EOS).index(EOS)] for row in ids.tolist()]
    return [" ".join(words[i] for i in row) for row in rows]


def next_loss(model: LanguageModel, ids: Tensor) -> Tensor:
    """Nats of a row, by the decoder; of the ends the first one counts."""
    before = F.pad(ids[:, :-1], (1, 0), value=MASK)
    ended = (before == EOS).int()
    wanted = ids.masked_fill(ended.bool(), 0)
    logits = model.decode(before, mask=block_mask(ids.size(1), 1))
    nats = F.cross_entropy(
        logits.flatten(0, 1), wanted.flatten(), ignore_index=0, reduction="sum"
    )
    return nats / len(ids)


@torch.no_grad()
def bound(model: LanguageModel, ids: Tensor, size: int) -> Tensor:
    """The mean of :func:`diffusion_loss`, with each number of masks once."""
    total = 0.0
    for end in range(size, ids.size(1) + 1, size):
        rows, start = ids[:, :end], end - size
        seen = block_mask(end, size)
        for masks in range(1, size + 1):
            order = torch.rand(len(ids), size).argsort(dim=1)
            masked = F.pad(order < masks, (start, 0))
            logits = model.decode(rows.masked_fill(masked, MASK), mask=seen)
            nats = F.cross_entropy(logits.mT, rows, reduction="none")
            total += (masked * nats).sum(dim=1).mean() / masks
    return total


@torch.no_grad()
def next_words(model: LanguageModel, rows: int, temperature: float) -> Tensor:
    """Sentences from the decoder, word by word."""
    ids, kept = torch.full((rows, 1), MASK), model.new_cache()
    for _ in range(PLACES):
        logits = model.decode(ids[:, -1:], kept)[:, -1] / temperature
        drawn = torch.multinomial(logits.softmax(dim=-1), 1)
        ids = torch.cat([ids, drawn], dim=1)
    return ids[:, 1:]


def judged(ids: Tensor, calls: float) -> Record:
    """What there is to say of sentences that were drawn."""
    found = texts(ids)
    return {
        "calls": round(calls, 2),
        "right": round(sum(map(can_say, found)) / len(found), 4),
        "distinct": round(len(set(found)) / len(found), 4),
        "words": round(sum(len(t.split()) for t in found) / len(found), 2),
    }


def drawn_by(size: int, model: LanguageModel, rows: int) -> dict[str, Record]:
    """Sentences drawn in all ways that a kind of model has."""
    empty = torch.full((rows, PLACES), MASK)
    if size == 0:
        found = {}
        for temperature in TEMPERATURES:
            ids = next_words(model, rows, temperature)
            calls = sum(len(t.split()) + 1 for t in texts(ids)) / rows
            found[f"temperature {temperature:g}"] = judged(ids, calls)
        return found
    if size == PLACES:
        found = {}
        for count in COUNTS:
            for order in ("certain", "any"):
                *_, ids = unmask(model, empty, count, None, order == "certain")
                found[f"{order} {count}"] = judged(ids, count)
        return found
    return {
        f"blocks {count}": block_by_block(size, model, empty, count)
        for count in BLOCK_COUNTS
    }


def block_by_block(
    size: int, model: LanguageModel, empty: Tensor, count: int
) -> Record:
    """As :func:`judged`; the call that fills the cache is counted."""
    ids = write_blocks(model, empty, size, count, EOS)
    blocks = [len(t.split()) // size + 1 for t in texts(ids)]
    calls = sum(count * n + n - 1 for n in blocks) / len(blocks)
    return judged(ids, calls)


def loss_of(size: int) -> Callable[[LanguageModel, Tensor], Tensor]:
    """What a kind of model learns by."""
    if size == 0:
        return next_loss
    return lambda model, ids: diffusion_loss(model, ids, size)


def measure(size: int, seed: int, context: RunContext) -> Record:
    """Train, test, and draw."""
    words, train, test = data()
    torch.manual_seed(seed)
    model = LanguageModel(LanguageModelConfig(vocab_size=len(words), **SIZES))
    optimizer = torch.optim.Adam(
        model.parameters(), betas=(0.9, 0.98), fused=True
    )
    loss_fn = loss_of(size)
    for step in range(context.limit(STEPS)):
        up, down = (step + 1) / WARMUP, 1 - step / STEPS
        optimizer.param_groups[0]["lr"] = RATE * min(up, down)
        loss = loss_fn(model, train[torch.randint(len(train), (ROWS,))])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()
    test = test[: context.limit(len(test))]
    with torch.no_grad():
        nats = bound(model, test, size) if size else next_loss(model, test)
    found = {"nats": round(float(nats), 3)}
    found["drawn"] = drawn_by(size, model, context.limit(DRAWN))
    if size == PLACES:
        found["film"] = film_of(model)
    return found


def film_of(model: LanguageModel) -> list[list[str]]:
    """A sentence in five steps; a mask is an empty word, an end a dot."""
    words, _, _ = data()
    shown = ["", "", "·", *words[EOS + 1 :]]
    frames = unmask(model, torch.full((1, PLACES), MASK), 5)
    return [[shown[i] for i in ids[0].tolist()] for ids in frames]


EXPERIMENT = Experiment(
    name="diffusion",
    chapter="22_since_2017",
    variants=KINDS,
    measure=measure,
    seeds=SEEDS,
    settings=lambda: {
        "places": PLACES,
        "block": BLOCK,
        "steps": STEPS,
        "rows": ROWS,
        "rate": RATE,
        "drawn": DRAWN,
        "sizes": SIZES,
    },
    smoke_variants=("decoder", "blocks"),
)
