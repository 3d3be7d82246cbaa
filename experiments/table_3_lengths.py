"""How long are the translations of table 3's variants?

Part of a difference in BLEU may be a difference in length: who writes too few
words pays a penalty. A grid keeps neither weights nor outputs, so a few of the
variants are trained once more with the first seed and translate the
development set greedily, as after each epoch of the grid. The words they
write, and the BLEU without the penalty, are stored beside the table.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from experiments import table_3
from experiments.lab import Bench, Reading, splits_for
from transformer_course import runs
from transformer_course.decoding.translate import translate
from transformer_course.device import machine
from transformer_course.evaluation.bleu import (
    bleu_counts,
    bleu_of_counts,
    bleu_without_penalty,
)
from transformer_course.training import checkpoint
from transformer_course.training.grid import BASE, Cell, train
from transformer_course.training.run import chosen_checkpoint

VARIANTS = (BASE, "dropout-0", "post-norm")
"""Those whose lengths are stored; ``--only`` names others."""


def lengths(written: list[str], references: list[str]) -> dict[str, float]:
    """Words of all translations and references, and BLEU with and without
    its brevity penalty."""
    counts = bleu_counts(written, references)
    words, expected = counts[:, :2].sum(axis=0).tolist()
    return {
        "words": words,
        "reference_words": expected,
        "bleu": round(bleu_of_counts(counts), 2),
        "bleu_without_penalty": round(bleu_without_penalty(counts), 2),
    }


def read(bench: Bench) -> Iterator[str]:
    """Train the variants, and count what they write."""
    grid, outputs = table_3.GRID, Path("outputs")
    names = VARIANTS
    if bench.smoke:
        grid, outputs = table_3.EXPERIMENT.shortened(), bench.stored("outputs")
        names = tuple(grid.all_variants)
    names = bench.only or names
    grid = dataclasses.replace(
        grid, name=EXPERIMENT.name, seeds=grid.seeds[:1]
    )
    folder = outputs / grid.name
    scratch = folder / "runs"
    train(grid, outputs, scratch, only=names, keep=True, quiet=bench.smoke)
    rows = {}
    for name in names:
        loaded = checkpoint.load(
            chosen_checkpoint(folder / Cell(name, grid.seeds[0]).name),
            build=grid.all_variants[name].build,
        )
        dev = splits_for(loaded.details, bench).dev
        written = translate(loaded.model, loaded.tokenizer, dev.src)
        rows[name] = lengths(written, dev.tgt)
        yield f"{name} {rows[name]}"
    chosen = ("--only", *bench.only) if bench.only else ()
    about = {
        "command": " ".join([EXPERIMENT.command, *chosen]),
        "machine": machine(),
        "seed": grid.seeds[0],
        "split": "dev",
        "rows": rows,
    }
    path = bench.stored(table_3.EXPERIMENT.name) / "lengths.json"
    runs.write_json(path, about, indent=1)


EXPERIMENT = Reading(
    name="table-3-lengths",
    chapter="15_translation",
    read=read,
    adds_to=("table-3",),
    takes=("only",),
)
