"""How long the translations of table 3's variants are (chapter 15).

    python -m tools.measure_lengths base layers-1 dropout-0 post-norm

Part of a difference in BLEU may be a difference in length: who writes too few
words pays a penalty. A grid keeps neither weights nor outputs, so the variants
named are trained once more with the first seed, in
``outputs/table-3-lengths/``, and translate the development set greedily, as
after each epoch of the grid. ``runs/table-3/lengths.json`` gets the words they
write and the BLEU without the penalty.
"""

import sys
from pathlib import Path

from experiments.table_3 import GRID
from transformer_course import checkpoint, runs
from transformer_course.data.corpora import load_corpus
from transformer_course.device import machine
from transformer_course.experiment import chosen_checkpoint, keep_freed_memory
from transformer_course.grid import BASE, Cell, Grid, train
from transformer_course.score import (
    bleu_counts,
    bleu_of_counts,
    bleu_without_penalty,
)
from transformer_course.translate import translate

NAME = "table-3-lengths"


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


def main() -> None:
    """Take the variants from the command line."""
    names = sys.argv[1:]
    if unknown := set(names) - set(GRID.all_variants):
        sys.exit(
            f"error: table 3 has no variant {', '.join(sorted(unknown))}; it "
            f"has: {', '.join(GRID.all_variants)}."
        )
    variants = {n: v for n, v in GRID.variants.items() if n in names}
    grid = Grid(NAME, GRID.base, variants, seeds=GRID.seeds[:1])
    outputs = Path("outputs")
    keep_freed_memory()
    train(grid, outputs, outputs / NAME / "runs", keep=True)
    data = grid.base.data
    dev = load_corpus(data.corpus, src=data.src, tgt=data.tgt).dev
    rows = {}
    for name in [BASE, *variants]:
        cell = Cell(name, grid.seeds[0])
        loaded = checkpoint.load(
            chosen_checkpoint(outputs / NAME / cell.name),
            build=grid.all_variants[name].build,
        )
        written = translate(loaded.model, loaded.tokenizer, dev.src)
        rows[name] = lengths(written, dev.tgt)
        print(name, rows[name], flush=True)
    about = {
        "command": "python -m tools.measure_lengths " + " ".join(names),
        "machine": machine(),
        "seed": grid.seeds[0],
        "split": "dev",
        "rows": rows,
    }
    runs.write_json(runs.folder(GRID.name) / "lengths.json", about, indent=1)


if __name__ == "__main__":
    main()
