"""Score several trainings that translate together, and store it under runs/.

    python -m tools.store_ensemble enja-ensemble \\
        outputs/enja-longer/checkpoints/average \\
        outputs/enja-seed-1/checkpoints/average outputs/enja-gru

Where the folder of a training is named, those of its weights are taken that
do better on the development set greedily, as the command line does. The
length penalty is chosen on the development set too.
"""

import shlex
import sys
from pathlib import Path

from tools.store_run import CREDIT, scored
from transformer_course import runs
from transformer_course.data.corpora import load_corpus
from transformer_course.device import machine
from transformer_course.score import corpus_bleu
from transformer_course.text_model import TextModel
from transformer_course.translate import translate


def main() -> None:
    """Take the stored run's name and the folders from the command line."""
    name, *folders = sys.argv[1:]
    first, *others = (TextModel.load(Path(f), "cpu") for f in folders)
    loaded = first.beside(others)
    model, tokenizer = loaded.model, loaded.tokenizer
    corpus, src, tgt = map(loaded.details.get, ("corpus", "src", "tgt"))
    splits = load_corpus(corpus, src=src, tgt=tgt)
    greedy = corpus_bleu(
        translate(model, tokenizer, splits.dev.src), splits.dev.tgt
    )
    found = scored("ensemble", model, tokenizer, splits, tgt)
    about = {
        "settings": {"models": folders},
        "command": shlex.join(
            ["python", "-m", "tools.store_ensemble", *sys.argv[1:]]
        ),
        "machine": machine(),
        "results": {
            "dev_bleu_greedy": round(greedy.value, 2),
            "dev_bleu_of_the_beam": {"ensemble": found.dev_bleu},
            "split": "test",
            "rows": found.rows,
            "samples": found.samples,
            "credit": CREDIT,
            "parameters": sum(p.numel() for p in model.parameters()),
        },
    }
    folder = runs.folder(name)
    runs.write_json(folder / "run.json", about, indent=1)
    runs.write_arrays(folder / "counts.npz", found.counts)
    for record in ("epochs", "steps"):  # it was not trained
        runs.write_text(folder / f"{record}.jsonl", "")
    print(found.dev_bleu)
    for row in found.rows:
        print(row["weights"], row["beam"], row["sentences"], row["bleu"])


if __name__ == "__main__":
    main()
