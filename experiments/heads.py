"""How many heads, at one width?

All models have as many weights, and start from the same ones. One more has the
package's 4 heads, but splits and merges them by ``view`` alone. After the last
step each model is measured on the whole development set.
"""

from experiments.failures import inspect
from experiments.lab import Record
from experiments.translators import (
    BASE,
    Snapshot,
    Training,
    experiment_of,
    with_parts,
)
from transformer_course.decoding.translate import translate
from transformer_course.evaluation.bleu import corpus_bleu
from transformer_course.models.attention import MultiHeadAttention

WIDTH = BASE.model.d_model
COUNTS = (1, 2, 4, 8, 16, 32)


class ByView(MultiHeadAttention):
    """The right shapes, but a row of a head holds pieces of other tokens."""

    def _split(self, x):
        batch, length, _ = x.shape
        return x.view(batch, self.n_heads, length, self.d_head)

    def _merge(self, x):
        batch, _, length, _ = x.shape
        return x.reshape(batch, length, self.n_heads * self.d_head)


VARIANTS = {
    f"heads-{count}": Training(
        f"heads: {count}, each {WIDTH // count} wide", {"model.n_heads": count}
    )
    for count in COUNTS
} | {
    "view-only": Training(
        "4 heads, split and merged by view alone",
        build=with_parts(
            MultiHeadAttention, lambda c: ByView(c.d_model, c.n_heads)
        ),
    )
}


def inspect_all_of_dev(snapshot: Snapshot) -> Record:
    """Inspect as for failures, after the last step; BLEU on all of dev."""
    if not snapshot.last:
        return {}
    model, tokenizer = snapshot.prepared.model, snapshot.prepared.tokenizer
    dev = snapshot.prepared.splits.dev
    bleu = corpus_bleu(translate(model, tokenizer, dev.src), dev.tgt).value
    return inspect(snapshot) | {"bleu_all": round(bleu, 2)}


EXPERIMENT = experiment_of(
    "heads", "07_multi_head_attention", VARIANTS, inspect_all_of_dev
)
