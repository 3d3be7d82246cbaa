"""Compare numbers of heads at one width: runs/heads.

    python tools/compare_heads.py            all that is missing
    python tools/compare_heads.py heads-1    these parts

Corpus, model, seeds and steps are those of ``train_failures.py``: the preset
``grammar``, half as wide. Only the number of heads differs, so all models have
as many weights, and start from the same ones. One more has the package's 4
heads, but splits and merges them by ``view`` alone. After the last step each
model is measured on the whole development set. What is there already under
``runs/heads/`` is not trained again: delete a file to have it anew.
"""

import sys

from train_failures import (
    STEPS,
    Variant,
    look,
    train_missing,
    write_settings,
)

from transformer_course import runs
from transformer_course.attention import MultiHeadAttention
from transformer_course.experiment import Prepared, keep_freed_memory
from transformer_course.score import corpus_bleu
from transformer_course.train import Progress
from transformer_course.translate import translate

WIDTH = 64
COUNTS = (1, 2, 4, 8, 16, 32)


def split_by_view(self: MultiHeadAttention, x):
    """The right shape, but a row of a head holds pieces of other tokens."""
    batch, length, _ = x.shape
    return x.view(batch, self.n_heads, length, self.d_head)


def merge_by_view(self: MultiHeadAttention, x):
    """The inverse of :func:`split_by_view`."""
    batch, _, length, _ = x.shape
    return x.reshape(batch, length, self.n_heads * self.d_head)


VARIANTS = {
    f"heads-{count}": Variant(
        f"heads: {count}, each {WIDTH // count} wide",
        model={"n_heads": count},
    )
    for count in COUNTS
} | {
    "view-only": Variant(
        "4 heads, split and merged by view alone",
        {
            (MultiHeadAttention, "_split"): split_by_view,
            (MultiHeadAttention, "_merge"): merge_by_view,
        },
    )
}


def look_at_the_end(prepared: Prepared, progress: Progress) -> dict:
    """As ``look``, after the last step only, and BLEU on all of dev."""
    if progress.step < STEPS:
        return {"step": progress.step}
    dev = prepared.splits.dev
    written = translate(prepared.model, prepared.tokenizer, dev.src)
    bleu = corpus_bleu(written, dev.tgt).value
    return look(prepared, progress) | {"bleu_all": round(bleu, 2)}


def main() -> None:
    """Train what is missing of the parts named, or of all."""
    folder = runs.folder("heads")
    write_settings(folder, "python tools/compare_heads.py", VARIANTS)
    keep_freed_memory()
    for name in sys.argv[1:] or VARIANTS:
        train_missing(folder / f"{name}.json", VARIANTS[name], look_at_the_end)


if __name__ == "__main__":
    main()
