"""Training: the schedule, one step, and the loop (chapter 12).

This module knows models, batches and losses, but neither files nor text: what
is saved and printed is done by the functions that it calls back.
"""

import contextlib
import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.batches import Batch
from transformer_course.buckets import BucketedBatches, ResampledBatches
from transformer_course.checkpoint import Resume
from transformer_course.config import TrainConfig
from transformer_course.errors import CheckpointError, DivergedError
from transformer_course.loss import (
    Score,
    disagreement,
    label_smoothed_score,
)


def paper_peak_rate(d_model: int, warmup: int) -> float:
    """(d_model × warmup)^-½: where the paper's schedule peaks (5.3)."""
    return (d_model * warmup) ** -0.5


def learning_rate(step: int, warmup: int, peak_rate: float) -> float:
    """Rises in a straight line to the peak, then falls as 1/√step.

    Vaswani et al. 2017, section 5.3, equation 3, written by its peak.

    Args:
        step: from 1.
        warmup: the step of the peak.
        peak_rate: the rate there.
    """
    return peak_rate * min(step / warmup, (warmup / step) ** 0.5)


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Adam:
    """Adam with the paper's β2 and ε; the rate is set at every step."""
    return torch.optim.Adam(
        model.parameters(),
        betas=(0.9, config.beta2),
        eps=config.epsilon,
        fused=True,
    )


def set_seed(seed: int) -> None:
    """Fix torch's, numpy's and Python's random generators."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def autocast(device: torch.device, bf16: bool):
    """bf16 for matrix products when asked for; else nothing."""
    if not bf16:
        return contextlib.nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)


def predict(
    model: nn.Module, batch: Batch
) -> Float[Tensor, "batch target vocab"]:
    """Logits for each target token, from the true ones before it."""
    src = batch.src
    if getattr(model.config, "decoder_only", False):
        src = None
    return model(src, batch.tgt_in)


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


def train_step(
    model: nn.Module,
    batch: Batch,
    optimizer: torch.optim.Optimizer,
    config: TrainConfig,
) -> Score:
    """One update of the weights.

    Returns:
        The score of the batch before the update.

    Raises:
        DivergedError: the loss is not a number.
    """
    device = next(model.parameters()).device
    batch = batch.to(device)
    with autocast(device, config.bf16):
        if config.r_drop:
            score = score_twice(model, batch, config)
        else:
            score = score_batch(model, batch, config.label_smoothing)
    loss = score.loss / score.tokens
    if not torch.isfinite(loss):
        raise DivergedError(
            f"the loss is {loss.item()}: training has diverged. Lower the "
            "peak rate, lengthen the warm-up, or clip the gradient."
        )
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    if config.clip:
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
    optimizer.step()
    return score._replace(loss=score.loss.detach())


@torch.inference_mode()
def evaluate(
    model: nn.Module, batches: Iterable[Batch], smoothing: float = 0.0
) -> dict[str, float]:
    """Loss, nll and accuracy over real tokens, without dropout."""
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    scores = [score_batch(model, b.to(device), smoothing) for b in batches]
    model.train(was_training)
    return sum(scores[1:], scores[0]).means()


@dataclass
class Progress:
    """Where a training stands: enough to go on from there."""

    step: int = 0
    """Updates made."""
    epoch: int = 0
    """Epochs finished."""
    batch: int = 0
    """Batches used of the epoch under way."""
    sums: list[float] = field(default_factory=lambda: [0.0] * 4)
    """Fields of :class:`~transformer_course.loss.Score`, summed over the
    epoch under way."""
    best: float | None = None
    """Best quality on the development set so far; higher is better."""

    def count(self, score: Score) -> None:
        """Take one more batch into account."""
        self.step += 1
        self.batch += 1
        new = (part.item() for part in score)
        self.sums = [a + b for a, b in zip(self.sums, new, strict=True)]

    def means(self) -> dict[str, float]:
        """Loss, nll and accuracy over the epoch under way."""
        sums = torch.tensor(self.sums, dtype=torch.float64)
        return Score(*sums).means()

    def next_epoch(self) -> None:
        """Begin the next epoch."""
        self.epoch, self.batch, self.sums = self.epoch + 1, 0, [0.0] * 4


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: BucketedBatches | ResampledBatches,
    config: TrainConfig,
    progress: Progress | None = None,
    on_step: Callable[[Progress, Score, float], Any] | None = None,
    on_epoch: Callable[[Progress, dict[str, float]], Any] | None = None,
) -> Progress:
    """Train from where ``progress`` stands to the last epoch.

    Args:
        model: takes ``(src, tgt_in)`` and has a ``config``.
        optimizer: from :func:`make_optimizer`.
        batches: gives the batches of epoch n, always in the same order.
        config: how long and how fast.
        progress: where to begin; moved along. From the start when None.
        on_step: called after each update with the progress, the batch's
            score and the rate.
        on_epoch: called after each epoch with the progress and the means of
            its training scores.
    """
    progress = progress or Progress()
    peak = config.peak_rate
    peak = peak or paper_peak_rate(model.config.d_model, config.warmup)
    model.train()
    while progress.epoch < config.epochs:
        epoch = batches.epoch(progress.epoch)
        for batch in itertools.islice(epoch, progress.batch, None):
            rate = learning_rate(progress.step + 1, config.warmup, peak)
            for group in optimizer.param_groups:
                group["lr"] = rate
            score = train_step(model, batch, optimizer, config)
            progress.count(score)
            if on_step:
                on_step(progress, score, rate)
        train_means = progress.means()
        progress.next_epoch()
        if on_epoch:
            on_epoch(progress, train_means)
    return progress


def resume_state(
    model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress
) -> Resume:
    """All that an uninterrupted training would still have in memory."""
    tensors = {"rng.cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        tensors["rng.cuda"] = torch.cuda.get_rng_state()
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state[parameter].items():
            tensors[f"adam.{key}.{name}"] = value
    return Resume(tensors, vars(progress).copy())


def restore(
    resume: Resume, model: nn.Module, optimizer: torch.optim.Optimizer
) -> Progress:
    """Put back what :func:`resume_state` kept.

    Raises:
        CheckpointError: the state is not of this model.
    """
    tensors = dict(resume.tensors)
    torch.set_rng_state(tensors.pop("rng.cpu"))
    cuda_rng = tensors.pop("rng.cuda", None)
    if cuda_rng is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(cuda_rng)
    parameters = dict(model.named_parameters())
    for full_name, value in tensors.items():
        _, key, name = full_name.split(".", maxsplit=2)
        if name not in parameters:
            raise CheckpointError(
                f"the resume state speaks of {name}, which this model does "
                "not have: resume with the settings the run began with."
            )
        parameter = parameters[name]
        optimizer.state[parameter][key] = value.to(parameter.device)
    return Progress(**resume.values)
