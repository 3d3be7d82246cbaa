"""Training: the schedule, one step, and the loop (chapter 12).

This module knows models and batches, but neither files nor text: the loss
comes in as a function, and what is saved and printed is done by the functions
that it calls back.
"""

import contextlib
import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from transformer_course.batches.pairs import AnyBatch, Batches
from transformer_course.checkpoints.checkpoint import (
    Resume,
    not_finite,
    weights_of,
)
from transformer_course.device import random_state, set_random_state
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    DivergedError,
)
from transformer_course.models.mode import eval_mode
from transformer_course.models.modern_parts import mixtures
from transformer_course.training import distributed
from transformer_course.training.config import LoopConfig
from transformer_course.training.loss import (
    LossFunction,
    LossSums,
    batch_loss,
    compute_loss,
)
from transformer_course.training.optimizers import Schedule, cosine


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


SCHEDULES: dict[str, Callable[[int], Schedule]] = {
    "inverse_sqrt": lambda total: learning_rate,
    "cosine": cosine,
}
"""From the number of all steps to the schedule, by its name."""


def warmup_steps(config: LoopConfig, total: int) -> int:
    """The steps of the warm-up, where a share of ``total`` may be given."""
    if config.warmup >= 1:
        return int(config.warmup)
    return max(1, round(config.warmup * total))


def cooldown_factor(epoch: int, epochs: int, cooldown: int) -> float:
    """Factor of the learning rate in an epoch: 1, then linearly down.

    Zhai et al. 2022, section 3.5, lower the rate at each step; here it is
    constant within an epoch, whose number of steps may vary.

    Args:
        epoch: from 0.
        epochs: number of epochs of the training.
        cooldown: number of last epochs with a lower rate.
    """
    return min(1.0, (epochs - epoch) / (cooldown + 1))


def make_optimizer(model: nn.Module, config: LoopConfig) -> torch.optim.AdamW:
    """AdamW, which without decay is Adam; the rate is set at every step.

    Weight decay acts on matrices alone: biases and the gains of norms are
    left out, as Hugging Face's ``Trainer`` and most code do.

    Raises:
        ConfigError: all weights are frozen.
    """
    if not any(weight.requires_grad for weight in model.parameters()):
        raise ConfigError(
            "all weights of the model are frozen, as after merge_lora: "
            "model.requires_grad_() lets them learn."
        )
    matrices = [w for w in model.parameters() if w.dim() >= 2]
    vectors = [w for w in model.parameters() if w.dim() < 2]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": config.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
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


def train_step(
    model: nn.Module,
    batch: AnyBatch,
    optimizer: torch.optim.Optimizer,
    config: LoopConfig,
    loss_fn: LossFunction = compute_loss,
) -> LossSums:
    """One update of the weights.

    Args:
        model: in training mode.
        batch: on any device.
        optimizer: from :func:`make_optimizer`.
        config: precision and clipping.
        loss_fn: the loss to minimise.

    Returns:
        The sums of the batch before the update, over all processes.

    Raises:
        DivergedError: the loss is not a number.
    """
    device = next(model.parameters()).device
    batch = batch.to(device)
    optimizer.zero_grad(set_to_none=True)
    with autocast(device, config.bf16):
        sums = loss_fn(model, batch)
    total = distributed.all_reduce(sums)
    mean = total.loss / total.tokens
    if not torch.isfinite(mean):
        raise DivergedError(f"the loss is {mean.item()}: {DIVERGED}")
    # backward averages gradients over the processes; their sum is wanted
    (sums.loss * distributed.world_size() / total.tokens).backward()
    if config.clip:
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
    optimizer.step()
    for mixture in mixtures(model):
        mixture.balance()
    return total


DIVERGED = (
    "training has diverged. Lower the peak rate, lengthen the warm-up, or "
    "clip the gradient."
)


def check_finite(model: nn.Module) -> None:
    """See that an update has left all weights numbers.

    Raises:
        DivergedError: one is not; it is named.
    """
    if name := not_finite(weights_of(model)):
        raise DivergedError(f"{name} is not finite: {DIVERGED}")


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
    """Fields of :class:`~.loss.LossSums`, summed over the
    epoch under way."""
    best: float | None = None
    """Best quality on the development set so far; higher is better."""

    def count(self, sums: LossSums) -> None:
        """Add one more batch."""
        self.step += 1
        self.batch += 1
        new = torch.stack([part.float() for part in sums]).tolist()
        self.sums = [a + b for a, b in zip(self.sums, new, strict=True)]

    def means(self) -> dict[str, float]:
        """Loss, nll and accuracy over the epoch under way."""
        sums = torch.tensor(self.sums, dtype=torch.float64, device="cpu")
        return LossSums(*sums).means()

    def next_epoch(self) -> None:
        """Begin the next epoch."""
        self.epoch, self.batch, self.sums = self.epoch + 1, 0, [0.0] * 4


def fit(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    config: LoopConfig,
    progress: Progress | None = None,
    on_step: Callable[[Progress, LossSums, float], Any] | None = None,
    on_epoch: Callable[[Progress, dict[str, float]], Any] | None = None,
    loss_fn: LossFunction = compute_loss,
    steps: int | None = None,
    schedule: Schedule | None = None,
) -> Progress:
    """Train from where ``progress`` stands to the last epoch.

    Args:
        model: called with what a batch holds (``batch.inputs``).
        optimizer: from :func:`make_optimizer`.
        batches: gives the batches of epoch n, always in the same order.
        config: how long and how fast.
        progress: where to begin; moved along. From the start when None.
        on_step: called after each update with the progress, the batch's
            loss sums and the rate.
        on_epoch: called after each epoch with the progress and the means of
            its training losses.
        loss_fn: the loss to minimise.
        steps: end after this one, wherever the epoch is.
        schedule: from step, warm-up and peak rate to the rate; that of
            ``config`` when None.

    Raises:
        DivergedError: the loss is not a number, or an epoch ends with
            weights that are not.
    """
    progress = progress or Progress()
    total = config.epochs * len(batches)
    warmup = warmup_steps(config, total)
    peak = config.peak_rate or paper_peak_rate(model.config.d_model, warmup)
    schedule = schedule or SCHEDULES[config.schedule](total)
    model.train()
    while progress.epoch < config.epochs:
        epoch = batches.epoch(progress.epoch)
        factor = cooldown_factor(
            progress.epoch, config.epochs, config.cooldown
        )
        for batch in itertools.islice(epoch, progress.batch, None):
            rate = factor * schedule(progress.step + 1, warmup, peak)
            for group in optimizer.param_groups:
                group["lr"] = rate
            sums = train_step(model, batch, optimizer, config, loss_fn)
            progress.count(sums)
            if on_step:
                on_step(progress, sums, rate)
            if progress.step == steps:
                return progress
        check_finite(model)
        train_means = progress.means()
        progress.next_epoch()
        if on_epoch:
            on_epoch(progress, train_means)
    return progress


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    batches: Iterable[AnyBatch],
    loss_fn: LossFunction = batch_loss,
) -> dict[str, float]:
    """Means of loss, nll and accuracy over all batches, without dropout.

    Args:
        model: put into evaluation mode meanwhile.
        batches: on any device.
        loss_fn: the loss of one batch.
    """
    device = next(model.parameters()).device
    with eval_mode(model):
        found = [loss_fn(model, b.to(device)) for b in batches]
    return sum(found[1:], found[0]).means()


def resume_state(
    model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress
) -> Resume:
    """The state of the optimizer, the random generators and the progress."""
    device = next(model.parameters()).device
    tensors = {"rng.cpu": torch.get_rng_state()}
    if device.type != "cpu":
        tensors[f"rng.{device.type}"] = random_state(device)
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state[parameter].items():
            tensors[f"adam.{key}.{name}"] = value
    return Resume(tensors, vars(progress).copy())


def restore(
    resume: Resume, model: nn.Module, optimizer: torch.optim.Optimizer
) -> Progress:
    """Load the state that :func:`resume_state` returned.

    On a device of another kind than before, its random generator is left as
    it is, and dropout draws other numbers.

    Raises:
        CheckpointError: the state is of another model, or incomplete.
    """
    device = next(model.parameters()).device
    parameters = dict(model.named_parameters())
    try:
        for full_name, value in resume.tensors.items():
            if full_name.startswith("adam."):
                _, key, name = full_name.split(".", maxsplit=2)
                parameter = parameters[name]
                optimizer.state[parameter][key] = value.to(parameter.device)
        torch.set_rng_state(resume.tensors["rng.cpu"])
        state = resume.tensors.get(f"rng.{device.type}")
        if state is not None and device.type != "cpu":
            set_random_state(state, device)
        return Progress(**resume.values)
    except (LookupError, RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"the resume state is damaged or of another model ({error!r}): "
            "take another checkpoint."
        ) from error
