"""Losses: cross entropy with label smoothing, R-Drop (chapter 12).

Padding counts nowhere: neither in a sum nor in a number of tokens.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.batches.pairs import AnyBatch, Batch
from transformer_course.training.config import SequenceLossConfig


class LossSums(NamedTuple):
    """Sums over the real target tokens of one or more batches."""

    loss: Tensor
    """Label-smoothed cross entropy, in nats, summed; R-Drop adds to it."""
    nll: Tensor
    """Cross entropy without smoothing, in nats, summed."""
    correct: Tensor
    """Number of tokens whose most probable prediction is right."""
    tokens: Tensor
    """Number of real target tokens."""

    def __add__(self, other: "LossSums") -> "LossSums":
        return LossSums(*(a + b for a, b in zip(self, other, strict=True)))

    def means(self) -> dict[str, float]:
        """Loss and nll in nats per target token, and accuracy."""
        tokens = max(int(self.tokens), 1)
        return {
            "loss": self.loss.item() / tokens,
            "nll": self.nll.item() / tokens,
            "accuracy": self.correct.item() / tokens,
        }


LossFunction = Callable[[nn.Module, AnyBatch], LossSums]
"""The loss of a batch under a model."""


def label_smoothed_loss(
    logits: Float[Tensor, "batch target vocab"],
    tgt_out: Int[Tensor, "batch target"],
    smoothing: float = 0.0,
    pad_id: int = 0,
) -> LossSums:
    """Cross entropy of target tokens, label-smoothed.

    The target distribution gives the right token 1 - ε, and spreads ε evenly
    over the vocabulary, as ``F.cross_entropy(label_smoothing=ε)`` does
    (Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4).

    Args:
        logits: one row of unnormalised log-probabilities per target token.
        tgt_out: the right tokens.
        smoothing: ε.
        pad_id: the token that counts nowhere.

    Returns:
        Sums, to be divided by the number of real tokens.
    """
    real = tgt_out != pad_id
    log_probs = F.log_softmax(logits[real].float(), dim=-1)  # (tokens, vocab)
    right = tgt_out[real]
    nll = F.nll_loss(log_probs, right, reduction="sum")
    uniform = -log_probs.mean(dim=-1).sum()
    loss = smoothed(nll, uniform, smoothing)
    correct = (log_probs.argmax(dim=-1) == right).sum()
    return LossSums(loss, nll.detach(), correct, real.sum())


def smoothed(nll: Tensor, uniform: Tensor, smoothing: float) -> Tensor:
    """(1 - ε) nll + ε uniform, where ε = 0 allows an infinite ``uniform``."""
    if not smoothing:
        return nll
    return (1 - smoothing) * nll + smoothing * uniform


def classification_loss(
    logits: Float[Tensor, "items classes"],
    labels: Int[Tensor, " items"],
    smoothing: float = 0.0,
) -> LossSums:
    """Cross entropy of classes, label-smoothed.

    Args:
        logits: one row of unnormalised log-probabilities for each item.
        labels: the right classes.
        smoothing: ε, as in :func:`label_smoothed_loss`.

    Returns:
        Sums, to be divided by the number of items.
    """
    logits = logits.float()
    nll = F.cross_entropy(logits, labels, reduction="sum")
    loss = F.cross_entropy(
        logits, labels, reduction="sum", label_smoothing=smoothing
    )
    correct = (logits.argmax(dim=-1) == labels).sum()
    count = torch.tensor(len(labels), device=logits.device)
    return LossSums(loss, nll.detach(), correct, count)


def symmetric_kl(
    logits: Float[Tensor, "batch target vocab"],
    others: Float[Tensor, "batch target vocab"],
    tgt_out: Int[Tensor, "batch target"],
    pad_id: int = 0,
) -> Float[Tensor, ""]:
    """Mean of KL(p, q) and KL(q, p) for two predictions of the same tokens.

    Liang et al. 2021, equation 2.

    Args:
        logits: of one pass.
        others: of a second pass, under another draw of dropout.
        tgt_out: the right tokens, for the places of padding.
        pad_id: the token that counts nowhere.

    Returns:
        Nats, summed over the real tokens.
    """
    real = tgt_out != pad_id
    first = F.log_softmax(logits[real].float(), dim=-1)  # (tokens, vocab)
    second = F.log_softmax(others[real].float(), dim=-1)
    # KL(p, q) + KL(q, p) = Σ (p - q) (log p - log q); 0 where p = q = 0
    difference = (first - second).masked_fill(first == second, 0)
    return ((first.exp() - second.exp()) * difference).sum() / 2


def batch_loss(
    model: nn.Module, batch: Batch, smoothing: float = 0.0
) -> LossSums:
    """Cross entropy of each target token given the true ones before it.

    Teacher forcing: the decoder reads ``tgt_in``, the target without its last
    token, and predicts ``tgt_out``, the target without its first.
    """
    logits = model(*batch.inputs)
    pad_id = model.config.pad_id
    return label_smoothed_loss(logits, batch.tgt_out, smoothing, pad_id)


def r_drop_loss(
    model: nn.Module, batch: Batch, config: SequenceLossConfig
) -> LossSums:
    """Cross entropy of two passes, plus ``config.r_drop`` times their
    divergence.

    R-Drop (Liang et al. 2021, section 2.2): each pass has its own draw of
    dropout.

    Returns:
        Sums over both passes; every target token counts twice.
    """
    twice = batch.repeat(2)
    logits = model(*twice.inputs)
    pad_id = model.config.pad_id
    smoothing = config.label_smoothing
    sums = label_smoothed_loss(logits, twice.tgt_out, smoothing, pad_id)
    divergence = symmetric_kl(*logits.chunk(2), batch.tgt_out, pad_id)
    return sums._replace(loss=sums.loss + config.r_drop * divergence)


def compute_loss(
    model: nn.Module,
    batch: Batch,
    config: SequenceLossConfig = SequenceLossConfig(),
) -> LossSums:
    """The loss of a translator or a language model.

    Label-smoothed cross entropy; in training mode with R-Drop, where the
    settings ask for it.
    """
    if config.r_drop and model.training:
        return r_drop_loss(model, batch, config)
    return batch_loss(model, batch, config.label_smoothing)
