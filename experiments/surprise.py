"""How surprised is a model of Soseki, text by text?

:mod:`~experiments.text_runs` stores means. Here each held-out text keeps its
own sum, so that a chapter can draw texts anew and say how far chance goes: a
text is a sentence for a model of next sentences, a chapter for a language
model. Of a model of next sentences every token of the development work is
kept too, given its own source and given that of another pair.

``experiments/results/NAME/surprise.npz`` holds, for the parts dev and test:

``PART-nll``, ``PART-tokens``, ``PART-characters``
    of each text: nats, tokens (eos counted) and characters.
``own``, ``other``
    nats of each token of dev, text after text, given its own source or
    another pair's.
``source``, ``target``, ``other_source``
    whether these begin with 「, that is, whether somebody speaks.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from experiments import store
from experiments.lab import Analysis, RunContext, tiny_run
from experiments.text_runs import data_of, other_sources
from transformer_course.batches.pairs import (
    encode_pairs,
    encode_texts,
    padded_batch,
)
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import chosen_checkpoint
from transformer_course.data.text import ParallelText
from transformer_course.data.tokenizer import PAD, Tokenizer
from transformer_course.training.tasks.table import task_of
from transformer_course.training.tasks.task import Task
from transformer_course.training.tasks.writing import LanguageModelling

Nats = list[np.ndarray]
ROWS = 50
"""Texts, or blocks of texts, that are computed at once."""


@torch.no_grad()
def nats_of_rows(model, pairs: list) -> Nats:
    """Nats of each real target token, row by row."""
    found = []
    for start in range(0, len(pairs), ROWS):
        batch = padded_batch(pairs[start : start + ROWS])
        logits = model(*batch.inputs)
        nats = F.cross_entropy(
            logits.transpose(1, 2), batch.tgt_out, reduction="none"
        )  # (batch, target)
        real = batch.tgt_out != PAD
        found += [r[m].numpy() for r, m in zip(nats, real, strict=True)]
    return found


def blocks_of(
    task: Task, model, tokenizer: Tokenizer, text: ParallelText
) -> list[list]:
    """The ids of each text: a sentence, or the blocks of a chapter."""
    size = model.config.max_length
    texts = [text.take([i]) for i in range(len(text))]
    if isinstance(task, LanguageModelling):
        return [encode_texts(tokenizer, one.tgt, size) for one in texts]
    return [encode_pairs(tokenizer, one, size) for one in texts]


def nats_of_texts(
    task: Task, model, tokenizer: Tokenizer, text: ParallelText
) -> Nats:
    """Nats of each token, text by text; blocks of a text are joined."""
    blocks = blocks_of(task, model, tokenizer, text)
    rows = iter(nats_of_rows(model, [row for part in blocks for row in part]))
    return [np.concatenate([next(rows) for _ in part]) for part in blocks]


def characters(
    task: Task, model, tokenizer: Tokenizer, text: ParallelText
) -> list[int]:
    """Characters that were judged: a long sentence is cut off."""
    return [
        len(tokenizer.decode([i for _, tgt in part for i in tgt]))
        for part in blocks_of(task, model, tokenizer, text)
    ]


def speaks(sentences: list[str]) -> np.ndarray:
    """Whether each sentence begins with a quotation mark."""
    return np.array([sentence.startswith("「") for sentence in sentences])


def of_part(
    task: Task, model, tokenizer, text: ParallelText, name: str
) -> dict:
    """Sums of each text of a part."""
    nats = nats_of_texts(task, model, tokenizer, text)
    return {
        f"{name}-nll": np.array([n.sum() for n in nats], dtype=np.float32),
        f"{name}-tokens": np.array([len(n) for n in nats], dtype=np.int32),
        f"{name}-characters": np.array(
            characters(task, model, tokenizer, text), dtype=np.int32
        ),
    }


def of_sources(task: Task, model, tokenizer, dev: ParallelText) -> dict:
    """Every token of dev, by its own source and by another."""
    other = other_sources(dev)
    given = {"own": dev, "other": other}
    tokens = {
        name: np.concatenate(nats_of_texts(task, model, tokenizer, text))
        for name, text in given.items()
    }
    return {name: nats.astype(np.float16) for name, nats in tokens.items()} | {
        "source": speaks(dev.src),
        "target": speaks(dev.tgt),
        "other_source": speaks(other.src),
    }


def measure(output: Path) -> dict[str, np.ndarray]:
    """By the checkpoint that is best on the development work."""
    loaded = checkpoint.load(chosen_checkpoint(output))
    model, tokenizer = loaded.model.eval(), loaded.tokenizer
    task = task_of(model.config, loaded.details)
    splits = task.load(data_of(loaded.details))
    found = {}
    for name in ("dev", "test"):
        found |= of_part(task, model, tokenizer, getattr(splits, name), name)
    if task.kind.prompt_side == "src":
        found |= of_sources(task, model, tokenizer, splits.dev)
    return found


def analyse(context: RunContext) -> Iterator[str]:
    """Measure each training, and store what was found beside its scores."""
    for output in context.inputs:
        found = measure(output)
        store.write_arrays(context.stored(output.name) / "surprise.npz", found)
        nll, tokens = (found[f"dev-{key}"].sum() for key in ("nll", "tokens"))
        yield f"{output.name}: {nll / tokens:.4f} nats a token of dev"


EXPERIMENT = Analysis(
    name="surprise",
    chapter="16_soseki",
    analyse=analyse,
    inputs=("outputs/soseki-cpu", "outputs/soseki-lm"),
    smoke_inputs=lambda scratch: [tiny_run(scratch, "lm", "grammar-lm")],
    adds_to=("soseki-cpu", "soseki-lm"),
)
