"""Teacher forcing: what a model is trained on and judged by (chapter 12).

Every token is predicted from the true ones before it. That is the same for
whatever writes text, with a source or without one: a batch knows what its
model is called with (``Batch.inputs``).
"""

from collections.abc import Callable, Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.batches.pairs import AnyBatch, Batch
from transformer_course.models.mode import evaluating
from transformer_course.training.config import TrainConfig
from transformer_course.training.loss import (
    Score,
    disagreement,
    label_smoothed_score,
)

ScoreOfBatch = Callable[[nn.Module, AnyBatch, float], Score]
"""From a model, a batch and the label smoothing to a score."""


def predict(
    model: nn.Module, batch: Batch
) -> Float[Tensor, "batch target vocab"]:
    """Logits for each target token, from the true ones before it."""
    return model(*batch.inputs)


def score_batch(
    model: nn.Module, batch: Batch, smoothing: float = 0.0
) -> Score:
    """Predict each target token from the true ones before it, and compare.

    The decoder reads ``tgt_in``, the target without its last token, and is
    judged on ``tgt_out``, the target without its first: shifted by one.
    """
    logits = predict(model, batch)
    pad_id = model.config.pad_id
    return label_smoothed_score(logits, batch.tgt_out, smoothing, pad_id)


def score_twice(model: nn.Module, batch: Batch, config: TrainConfig) -> Score:
    """Predict each token under two draws of dropout, and pull them together.

    R-Drop (Liang et al. 2021, section 2.2): to the cross entropy of both
    passes comes how far they lie apart, times ``config.r_drop``.

    Returns:
        The score of both passes; every target token counts twice.
    """
    twice = batch.repeat(2)
    logits = predict(model, twice)
    pad_id = model.config.pad_id
    smoothing = config.label_smoothing
    score = label_smoothed_score(logits, twice.tgt_out, smoothing, pad_id)
    apart = disagreement(*logits.chunk(2), batch.tgt_out, pad_id)
    return score._replace(loss=score.loss + config.r_drop * apart)


def training_score(
    model: nn.Module, batch: Batch, config: TrainConfig
) -> Score:
    """What an update makes smaller: smoothed, and doubled under R-Drop."""
    if config.r_drop:
        return score_twice(model, batch, config)
    return score_batch(model, batch, config.label_smoothing)


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    batches: Iterable[AnyBatch],
    smoothing: float = 0.0,
    score: ScoreOfBatch = score_batch,
) -> dict[str, float]:
    """Means over all batches, without dropout.

    Args:
        model: put into evaluation mode meanwhile.
        batches: on any device.
        smoothing: of the labels.
        score: of one batch; loss, nll and accuracy over real tokens by
            default.
    """
    device = next(model.parameters()).device
    with evaluating(model):
        scores = [score(model, b.to(device), smoothing) for b in batches]
    return sum(scores[1:], scores[0]).means()
