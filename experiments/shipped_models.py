"""What do the models that come with the course score, and what do eight bits
cost?

Each model of ``transformer_course/shipped/`` beside the checkpoint that it was
exported from: both translate the test set, with the length penalty that the
model keeps.
``experiments/results/shipped-models/NAME.json`` has the scores of both, and
how many sentences they translate differently; ``counts.npz`` what BLEU counts
in each, for a paired comparison.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from experiments import store
from experiments.lab import Analysis, Record, RunContext, made_of, splits_for
from experiments.translations import (
    BEAMS,
    CREDIT,
    score_rows,
    smoke_inputs,
)
from transformer_course.checkpoints import checkpoint, int8
from transformer_course.checkpoints.checkpoint import weights_of
from transformer_course.checkpoints.find import find
from transformer_course.data.text import unseen
from transformer_course.decoding.search import DEFAULT_ALPHA
from transformer_course.decoding.translate import translate
from transformer_course.errors import ConfigError
from transformer_course.evaluation.bleu import bleu_counts

BITS = ("int8", "float32")
"""Formats of weights: of the model, and of what it was made from."""


def measured(
    model: Path, original: Path, context: RunContext
) -> tuple[Record, dict]:
    """Scores and counts of a model and of what it was exported from.

    Args:
        model: its folder.
        original: the checkpoint.
        context: how many sentences.

    Raises:
        ConfigError: the model was not made from it.
    """
    about = checkpoint.load(model)
    check_made_from(original, model)
    alpha = about.details.get("alpha", DEFAULT_ALPHA)
    splits = splits_for(about.details, context)
    text, new = splits.test, unseen(splits.test, splits.train)
    written, rows = {}, []
    counts = {f"{model.name}-unseen": np.isin(np.arange(len(text)), new)}
    for bits, folder in zip(BITS, (model, original), strict=True):
        loaded = checkpoint.load(folder)
        sides = loaded.model, loaded.tokenizer, text.src
        written[bits] = translate(*sides, BEAMS[-1], alpha)
        rows += score_rows(bits, BEAMS[-1], written[bits], text, new)
        found = bleu_counts(written[bits], text.tgt)
        counts[f"{model.name}-{bits}"] = found.astype(np.uint16)
    pairs = zip(*(written[bits] for bits in BITS), strict=True)
    size = sum(p.stat().st_size for p in model.iterdir())
    return {
        "weights": original.name,
        "weights_sha256": hashlib.sha256(
            (model / "model.safetensors").read_bytes()
        ).hexdigest(),
        "parameters": sum(p.numel() for p in about.model.parameters()),
        "megabytes": round(size / 1e6, 1),
        "alpha": alpha,
        "split": "test",
        "rows": rows,
        "differ": sum(one != other for one, other in pairs),
        "credit": CREDIT,
    }, counts


def check_made_from(original: Path, model: Path) -> None:
    """Raise a ConfigError unless a model is this checkpoint in eight bits."""
    whole, small = (
        weights_of(checkpoint.load(path).model) for path in (original, model)
    )
    made = int8.unpacked(int8.packed(whole))
    if not all(torch.equal(small[name], made[name]) for name in made):
        raise ConfigError(
            f"{model} was not made from {original}: give the checkpoint that "
            "was exported."
        )


def analyse(context: RunContext) -> Iterator[str]:
    """Measure pairs, a model and its original, and store what was found."""
    path = context.folder / "counts.npz"
    counts = store.arrays_in(path)  # also of models not measured now
    pairs = zip(context.inputs[::2], context.inputs[1::2], strict=True)
    for model, original in pairs:
        found, of_model = measured(model, find(original), context)
        about = {**made_of("shipped-models", context), "results": found}
        store.write_json(
            context.folder / f"{model.name}.json", about, indent=1
        )
        counts |= of_model
        yield f"{model.name}: {found['differ']} translations differ"
    store.write_arrays(path, counts)


def smoke_pair(scratch: Path) -> list[Path]:
    """A tiny translator in eight bits, and the whole one."""
    [output] = smoke_inputs(scratch)
    original = find(output)
    loaded = checkpoint.load(original)
    small = scratch / "small"
    parts = loaded.model, loaded.tokenizer, loaded.details
    checkpoint.save(small, *parts, eight_bits=True)
    return [small, original]


EXPERIMENT = Analysis(
    name="shipped-models",
    chapter="15_translation",
    analyse=analyse,
    inputs=(
        "transformer_course/shipped/en-ja",
        "outputs/enja-more-seed-1/checkpoints/best",
        "transformer_course/shipped/ja-en",
        "outputs/jaen-wide/checkpoints/average",
    ),
    smoke_inputs=smoke_pair,
)
