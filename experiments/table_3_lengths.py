"""How long are the translations of table 3's variants?

Part of a difference in BLEU may be a difference in length: who writes too few
words pays a penalty. The table keeps neither weights nor outputs, so a few
of the variants are trained once more with the first seed and translate the
development set greedily, as after each epoch of the table. The words they
write, and the BLEU without the penalty, are stored beside the table.
"""

from collections.abc import Iterator

from experiments import store, table_3
from experiments.lab import Analysis, RunContext, splits_for
from transformer_course.decoding.translate import translate
from transformer_course.device import machine
from transformer_course.evaluation.bleu import (
    bleu_counts,
    bleu_of_counts,
    bleu_without_penalty,
)
from transformer_course.training import checkpoint

VARIANTS = ("base", "dropout-0", "post-norm")
"""Variants whose lengths are stored; ``--only`` names others."""


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


def analyse(context: RunContext) -> Iterator[str]:
    """Train the variants, and count what they write."""
    rows, seed = {}, table_3.EXPERIMENT.seeds[0]
    names = table_3.EXPERIMENT.smoke_variants if context.smoke else VARIANTS
    outputs = context.outputs / EXPERIMENT.name
    table_3.EXPERIMENT.cells(context)  # refuses unknown variants
    for name in context.only or names:
        variant = table_3.VARIANTS[name]
        folder = variant.train(seed, outputs, context.smoke)
        loaded = checkpoint.load(folder.chosen(), build=variant.build)
        dev = splits_for(loaded.details, context).dev
        written = translate(loaded.model, loaded.tokenizer, dev.src)
        rows[name] = lengths(written, dev.tgt)
        yield f"{name} {rows[name]}"
    chosen = ("--only", *context.only) if context.only else ()
    about = {
        "command": " ".join([EXPERIMENT.command, *chosen]),
        "machine": machine(),
        "seed": seed,
        "split": "dev",
        "rows": rows,
    }
    path = context.stored(table_3.EXPERIMENT.name) / "lengths.json"
    store.write_json(path, about, indent=1)


EXPERIMENT = Analysis(
    name="table-3-lengths",
    chapter="15_translation",
    analyse=analyse,
    adds_to=("table-3",),
    takes=("only",),
)
