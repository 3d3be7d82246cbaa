"""What does a translator lose without some of its heads?

A head is replaced by zero, or by what it hands on in the mean over training
sentences. Asked of a checkpoint in three ways, for both replacements:

- each head alone;
- all heads one after another, in the order of what they cost alone;
- all heads one after another, each time the one that then costs least.

Costs are nats per token on a part of the development set. Along both orders
the loss is stored at each step; at some of them a part of the test set is
translated greedily, and what BLEU counts in each sentence is stored, so that
intervals can be made. The order knows nothing of the test set.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from torch import Tensor

from experiments import store
from experiments.lab import Record, RunContext, made_of
from experiments.translations import analysis_of_heads
from transformer_course.batches.pairs import (
    Batch,
    encode_pairs,
    padded_batch,
)
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.translate import translate
from transformer_course.evaluation.bleu import bleu_counts, bleu_of_counts
from transformer_course.interpretation.hooks import (
    Head,
    cheapest_first,
    heads_of,
    mean_outputs,
    patch_heads,
)
from transformer_course.training.loop import evaluate

ASKED = 40
"""Development sentences that costs are measured on."""
MEAN_OF = 200
"""Training sentences that a head's mean is taken over."""
TRANSLATED = 500
"""Test sentences."""
EVERY = 6
"""Heads that go between two translations."""
PER_BATCH = 40
"""Sentences that are computed together."""


def batches_of(model, tokenizer, text: ParallelText) -> list[Batch]:
    """A text in batches of sentences of like length."""
    rows = encode_pairs(tokenizer, text, model.config.max_length)
    rows.sort(key=_size)
    starts = range(0, len(rows), PER_BATCH)
    return [padded_batch(rows[i : i + PER_BATCH]) for i in starts]


def _size(pair) -> tuple[int, int]:
    return len(pair[0]), len(pair[1])


def costs(
    model, batches: Sequence[Batch], others: dict[Head, Tensor | float]
) -> Callable[[Sequence[Head]], float]:
    """From heads to the loss without them, in nats per token."""

    def loss(gone: Sequence[Head]) -> float:
        with patch_heads(model, {head: others[head] for head in gone}):
            return evaluate(model, batches)["nll"]

    return loss


def ablation(
    model,
    tokenizer,
    others: dict[Head, Tensor | float],
    dev: Sequence[Batch],
    test: ParallelText,
) -> tuple[Record, dict[str, np.ndarray]]:
    """One way to replace heads: costs alone, both orders, translations."""
    heads, loss = list(others), costs(model, dev, others)
    alone = {head: loss([head]) for head in heads}
    by_cost = sorted(heads, key=alone.__getitem__)
    ranked = [(head, loss(by_cost[: i + 1])) for i, head in enumerate(by_cost)]
    orders = {"alone": ranked, "greedy": cheapest_first(heads, loss)}
    found: Record = {
        "alone": {str(head): round(cost, 4) for head, cost in alone.items()},
        "orders": {
            name: [[str(head), round(cost, 4)] for head, cost in steps]
            for name, steps in orders.items()
        },
        "bleu": {},
    }
    counts, known = {}, {}
    for name, steps in orders.items():
        found["bleu"][name] = {}
        for size in sizes(len(heads)):
            gone = frozenset(head for head, _ in steps[:size])
            if gone not in known:  # none and all are in both orders
                replaced = {head: others[head] for head in gone}
                known[gone] = counted_with(model, tokenizer, replaced, test)
            counts[f"{name}-{size}"] = known[gone].astype(np.uint16)
            bleu = round(bleu_of_counts(known[gone]), 2)
            found["bleu"][name][str(size)] = bleu
    return found, counts


def sizes(heads: int) -> list[int]:
    """Numbers of heads that are gone when it translates."""
    return [*range(0, heads, EVERY), heads]


def counted_with(
    model,
    tokenizer,
    replaced: dict[Head, Tensor | float],
    test: ParallelText,
) -> np.ndarray:
    """BLEU's counts of each translation, with these heads replaced."""
    with patch_heads(model, replaced):
        written = translate(model, tokenizer, test.src)
    return bleu_counts(written, test.tgt)


def analyse(
    model, tokenizer: Tokenizer, splits: Splits, context: RunContext
) -> Iterator[str]:
    """Ask one checkpoint, and store each way as it is done."""
    train, dev, test = (
        part.take(range(context.limit(min(size, len(part)))))
        for part, size in (
            (splits.train, MEAN_OF),
            (splits.dev, ASKED),
            (splits.test, TRANSLATED),
        )
    )
    means = mean_outputs(
        model, [batch.inputs for batch in batches_of(model, tokenizer, train)]
    )
    asked = batches_of(model, tokenizer, dev)
    ways = {"zero": dict.fromkeys(heads_of(model), 0.0), "mean": means}
    about = {
        **made_of("enja-ablation", context),
        "sentences": {"dev": len(dev), "test": len(test), "mean": len(train)},
        "whole": round(evaluate(model, asked)["nll"], 4),
    }
    for name, others in ways.items():
        path = context.folder / f"{name}.json"
        found, counts = ablation(model, tokenizer, others, asked, test)
        store.write_arrays(context.folder / f"{name}.npz", counts)
        store.write_json(path, about | found, indent=1)
        yield f"{name}: BLEU {found['bleu']}"


EXPERIMENT = analysis_of_heads("enja-ablation", analyse)
