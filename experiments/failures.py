"""What does a training show when its code is wrong?

The preset ``grammar``, half as wide, with a few lines changed: the target is
not shifted, a mask is inverted, padding counts in the loss, the warm-up is
left out.
"""

from collections.abc import Iterator

import torch

from experiments.lab import Record
from experiments.translators import (
    Snapshot,
    Training,
    causal_of,
    experiment_of,
    padding_of,
    with_masks,
)
from transformer_course.batches.pairs import (
    Batch,
    encode_pairs,
    padded_batch,
)
from transformer_course.models.masks import padding_mask
from transformer_course.models.transformer import Transformer
from transformer_course.training.config import LossConfig
from transformer_course.training.loss import (
    LossSums,
    batch_loss,
    label_smoothed_loss,
)
from transformer_course.training.run.prepare import Prepared

LENGTH = 28
"""Ids per sentence where all are padded to one length."""


# --- what is wrong -----------------------------------------------------------


def unshifted_loss(model, batch: Batch, config: LossConfig) -> LossSums:
    """The decoder reads the very tokens that it shall answer."""
    logits = model(batch.src, batch.tgt)
    return label_smoothed_loss(logits, batch.tgt, config.label_smoothing)


def loss_with_padding(model, batch: Batch, config: LossConfig) -> LossSums:
    """Padding counts as a token to be predicted: no id is left out."""
    logits = model(batch.src, batch.tgt_in)
    smoothing = config.label_smoothing
    return label_smoothed_loss(logits, batch.tgt_out, smoothing, pad_id=-1)


class PaddingInverted(Transformer):
    """The decoder looks at the source's padding while it learns."""

    def forward(self, src, tgt_in):
        """Logits for the token after each token of ``tgt_in``."""
        return self.decode(tgt_in, self.encode(src), ~padding_mask(src))


def padding_inverted(mask, whose: str):
    """True = ignore, where True = attend is expected."""
    if whose == "encoder":
        return ~mask
    if whose == "cross" or mask.size(-2) < mask.size(-1):
        return mask  # that of the source is the model's, which inverts it
    return causal_of(mask) & ~padding_of(mask)


def causal_inverted(mask, whose: str):
    """True = ignore: each token sees what comes after it."""
    return ~causal_of(mask) & padding_of(mask) if whose == "own" else mask


def rate_without_warmup(step: int, warmup: int, peak_rate: float) -> float:
    """At the peak from the first step; after the warm-up as it should be."""
    return peak_rate * min(1, (warmup / step) ** 0.5)


class OneLength:
    """Shuffled batches, all padded to one length, as tutorials often do."""

    def __init__(self, pairs, rows: int, seed: int):
        self.pairs, self.rows, self.seed = pairs, rows, seed
        self.filler = ([0] * LENGTH, [0] * LENGTH)  # widens a batch

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of one epoch."""
        generator = torch.Generator().manual_seed(self.seed + 1000 * number)
        order = torch.randperm(len(self.pairs), generator=generator).tolist()
        for start in range(0, len(order) - self.rows + 1, self.rows):
            chosen = [self.pairs[i] for i in order[start : start + self.rows]]
            batch = padded_batch([*chosen, self.filler])
            yield Batch(batch.src[:-1], batch.tgt[:-1])


def at_one_length(prepared: Prepared, experiment) -> Prepared:
    """Pad all training and development pairs to LENGTH."""
    tokenizer, splits = prepared.tokenizer, prepared.splits
    pairs = encode_pairs(tokenizer, splits.train, LENGTH)
    dev = encode_pairs(tokenizer, splits.dev, LENGTH)
    mean = sum(len(tgt) - 1 for _, tgt in pairs) / len(pairs)
    rows = int(experiment.data.token_budget / mean)  # as many real tokens
    return prepared._replace(
        batches=OneLength(pairs, rows, experiment.train.seed),
        dev_batches=list(OneLength(dev, min(50, len(dev)), 0).epoch(0)),
    )


# --- what is tried, and looked at --------------------------------------------

DEEP = {"model.n_layers": 4}

VARIANTS = {
    "correct": Training("nothing is changed"),
    "unshifted": Training("the target is not shifted", loss_fn=unshifted_loss),
    "padding-mask-inverted": Training(
        "the padding mask is inverted",
        build=with_masks(padding_inverted, PaddingInverted),
    ),
    "causal-mask-inverted": Training(
        "the causal mask is inverted", build=with_masks(causal_inverted)
    ),
    "one-length": Training(
        "all padded to one length; padding left out of the loss",
        data=at_one_length,
    ),
    "loss-over-padding": Training(
        "all padded to one length; padding counts in the loss",
        loss_fn=loss_with_padding,
        data=at_one_length,
    ),
    "shallow-no-warmup": Training(
        "2 layers, post-norm, no warm-up", schedule=rate_without_warmup
    ),
    "deep-warmup": Training("4 layers, post-norm, warm-up", DEEP),
    "deep-no-warmup": Training(
        "4 layers, post-norm, no warm-up", DEEP, schedule=rate_without_warmup
    ),
}


def inspect(snapshot: Snapshot) -> Record:
    """Scores as the author sees them; ``true_*`` is the right comparison.

    ``bleu`` is free running.
    """
    true = snapshot.means(batch_loss)
    return {
        **snapshot.means(),
        **{f"true_{key}": value for key, value in true.items()},
        **snapshot.written(),
    }


EXPERIMENT = experiment_of("failures", "12_training", VARIANTS, inspect)
