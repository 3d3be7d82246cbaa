"""Train with other feed-forward parts, and without: chapter 09's stored runs.

    python tools/compare_feed_forward.py               all that is missing
    python tools/compare_feed_forward.py width-4 ...   these variants

Corpus, seeds, steps and learning rate are those of ``train_failures.py``. What
is there already under ``runs/feed-forward/`` is not trained again.
"""

import sys

from torch import nn
from train_failures import (
    Variant,
    look_at_dev,
    train_missing,
    write_settings,
)

from transformer_course import runs, transformer
from transformer_course.experiment import keep_freed_memory
from transformer_course.layers import FeedForward
from transformer_course.transformer import DecoderLayer, EncoderLayer


class Skip(nn.Module):
    """In the place of an AddNorm: the stream goes on as it came."""

    def forward(self, x, sublayer):
        """``x``; the sub-layer is not asked."""
        return x


class AttentionOnlyEncoderLayer(EncoderLayer):
    """Self-attention, add and norm, nothing else."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.feed_forward = nn.Identity()
        self.add_norm_2 = Skip()


class AttentionOnlyDecoderLayer(DecoderLayer):
    """Causal self-attention and cross-attention, nothing else."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.feed_forward = nn.Identity()
        self.add_norm_3 = Skip()


class LinearFeedForward(FeedForward):
    """Two linear maps with no activation between them."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.activation = nn.Identity()


WITHOUT = {
    (transformer, "EncoderLayer"): AttentionOnlyEncoderLayer,
    (transformer, "DecoderLayer"): AttentionOnlyDecoderLayer,
}

VARIANTS = {
    "width-4": Variant("4 × d_model, as in the paper"),
    "none": Variant("no feed-forward part", WITHOUT),
    "none-deeper": Variant(
        "no feed-forward part, 5 layers in place of 2",
        WITHOUT,
        {"n_layers": 5},
    ),
    "none-wider": Variant(
        "no feed-forward part, d_model 92 in place of 64",
        WITHOUT,
        {"d_model": 92},
    ),
    "width-4-pre-norm": Variant(
        "4 × d_model, pre-norm", model={"norm_first": True}
    ),
    "none-deeper-pre-norm": Variant(
        "no feed-forward part, 5 layers, pre-norm",
        WITHOUT,
        {"n_layers": 5, "norm_first": True},
    ),
    "linear": Variant(
        "4 × d_model, no activation",
        {(transformer, "FeedForward"): LinearFeedForward},
    ),
    "width-1": Variant("1 × d_model", model={"d_ff": 64}),
    "width-2": Variant("2 × d_model", model={"d_ff": 128}),
    "width-8": Variant("8 × d_model", model={"d_ff": 512}),
}


def main() -> None:
    """Train what is missing of the variants named, or of all."""
    folder = runs.folder("feed-forward")
    write_settings(folder, "python tools/compare_feed_forward.py", VARIANTS)
    keep_freed_memory()
    for name in sys.argv[1:] or VARIANTS:
        train_missing(folder / f"{name}.json", VARIANTS[name], look_at_dev)


if __name__ == "__main__":
    main()
