"""How wrong the model is: cross entropy and accuracy over real tokens.

Chapter 12. Padding counts nowhere: neither in a sum nor in a count.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


class Score(NamedTuple):
    """Sums over the real target tokens of one or more batches."""

    loss: Tensor
    """Label-smoothed cross entropy, in nats, summed; R-Drop adds to it."""
    nll: Tensor
    """Cross entropy without smoothing, in nats, summed."""
    correct: Tensor
    """Tokens whose most probable prediction is right."""
    tokens: Tensor
    """Real target tokens."""

    def __add__(self, other: "Score") -> "Score":
        return Score(*(a + b for a, b in zip(self, other, strict=True)))

    def means(self) -> dict[str, float]:
        """Loss and nll in nats per target token, and accuracy."""
        tokens = max(int(self.tokens), 1)
        return {
            "loss": self.loss.item() / tokens,
            "nll": self.nll.item() / tokens,
            "accuracy": self.correct.item() / tokens,
        }


def label_smoothed_score(
    logits: Float[Tensor, "batch target vocab"],
    tgt_out: Int[Tensor, "batch target"],
    smoothing: float = 0.0,
    pad_id: int = 0,
) -> Score:
    """Compare logits with the tokens that should have come.

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
    loss = (1 - smoothing) * nll + smoothing * uniform
    correct = (log_probs.argmax(dim=-1) == right).sum()
    return Score(loss, nll.detach(), correct, real.sum())


def class_score(
    logits: Float[Tensor, "items classes"],
    right: Int[Tensor, " items"],
    smoothing: float = 0.0,
) -> Score:
    """Compare logits with the right classes, of which all count.

    Args:
        logits: one row of unnormalised log-probabilities for each item.
        right: the classes.
        smoothing: ε, as in :func:`label_smoothed_score`.

    Returns:
        Sums, to be divided by the number of items.
    """
    logits = logits.float()
    nll = F.cross_entropy(logits, right, reduction="sum")
    loss = F.cross_entropy(
        logits, right, reduction="sum", label_smoothing=smoothing
    )
    correct = (logits.argmax(dim=-1) == right).sum()
    count = torch.tensor(len(right), device=logits.device)
    return Score(loss, nll.detach(), correct, count)


def disagreement(
    logits: Float[Tensor, "batch target vocab"],
    others: Float[Tensor, "batch target vocab"],
    tgt_out: Int[Tensor, "batch target"],
    pad_id: int = 0,
) -> Float[Tensor, ""]:
    """How far two predictions of the same tokens lie apart.

    The mean of both Kullback–Leibler divergences, as in R-Drop (Liang et al.
    2021, equation 2).

    Args:
        logits: of one pass.
        others: of another, under other dropout.
        tgt_out: the right tokens; they only tell where padding is.
        pad_id: the token that counts nowhere.

    Returns:
        In nats, summed over the real tokens.
    """
    real = tgt_out != pad_id
    first = F.log_softmax(logits[real].float(), dim=-1)  # (tokens, vocab)
    second = F.log_softmax(others[real].float(), dim=-1)
    # KL(p, q) + KL(q, p) = Σ (p - q) (log p - log q)
    return ((first.exp() - second.exp()) * (first - second)).sum() / 2
