"""SFT, LoRA, DPO and GRPO, alike for each model of chapter 23.

An experiment says what a model learns from, and which answers are right; the
functions of :data:`METHODS` teach it.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

from experiments.lab import Record
from transformer_course.training.config import LoopConfig
from transformer_course.training.loop import fit, make_optimizer
from transformer_course.training.loss import LossFunction, batch_loss
from transformer_course.training.post_training import (
    Ids,
    LoRA,
    Pairs,
    Rollouts,
    add_lora,
    answer_batch,
    draw_answers,
    group_loss,
    merge_lora,
    preference_loss,
)

DRAWN = 8
"""Answers drawn to a prompt."""


@dataclass
class PostTraining:
    """A model, what it learns from, and how its training went."""

    model: nn.Module
    seed: int
    shown: list[tuple[Ids, Ids]]
    """Prompts with right answers, for SFT and LoRA."""
    prompts: list[Ids]
    """Prompts to which DPO and GRPO draw answers."""
    is_right: Callable[[int, Ids], bool]
    """Whether an answer to the prompt of that number is right."""
    rates: dict[str, float]
    """Highest learning rate of each method."""
    rows: int
    """Answers, or pairs, of an update."""
    groups: int
    """Prompts of an update of GRPO."""
    longest: int
    """Most tokens of a drawn answer."""
    loss_fn: LossFunction = batch_loss
    """Of SFT and LoRA."""
    curve: list[float] = field(default_factory=list)
    """The loss of each update; of GRPO the mean reward."""

    def fit(self, method: str, batches, loss_fn: LossFunction) -> None:
        """Train with the course's own loop, once through the batches."""
        config = LoopConfig(
            epochs=1,
            peak_rate=self.rates[method],
            schedule="cosine",
            warmup=0.1,
            beta2=0.999,
            epsilon=1e-8,
        )
        self.model.train()
        fit(
            self.model,
            make_optimizer(self.model, config),
            batches,
            config,
            on_step=lambda progress, sums, rate: self.curve.append(
                round(sums.means()["loss"], 4)
            ),
            loss_fn=loss_fn,
        )
        self.model.eval()


class Fixed:
    """Batches of rows in their order.

    Args:
        rows: of all batches.
        size: rows of a batch.
        batch: from some rows to a batch.
    """

    def __init__(self, rows: list, size: int, batch: Callable):
        starts = range(0, len(rows), size)
        self.batches = [batch(rows[i : i + size]) for i in starts]

    def __len__(self) -> int:
        return len(self.batches)

    def epoch(self, number: int):
        """The batches, the same in each epoch."""
        return iter(self.batches)


def sft(run: PostTraining, method: str = "sft") -> None:
    """Right answers are shown, and all weights learn."""
    batches = Fixed(run.shown, run.rows, answer_batch)
    run.fit(method, batches, run.loss_fn)


def lora(run: PostTraining) -> None:
    """Right answers are shown, and LoRA learns."""
    add_lora(run.model)
    sft(run, "lora")


def dpo(run: PostTraining) -> None:
    """Pairs of a right and a wrong answer, which the model has drawn.

    Each answer is in one pair at most.
    """
    add_lora(run.model)
    generator = torch.Generator().manual_seed(run.seed)
    rows = []
    for i, prompt in enumerate(run.prompts):
        more = DRAWN, run.longest, generator
        [drawn] = draw_answers(run.model, [prompt], *more)
        right = [a for a in drawn if run.is_right(i, a)]
        wrong = [a for a in drawn if not run.is_right(i, a)]
        rows += [(prompt, *pair) for pair in zip(right, wrong, strict=False)]
    random.Random(run.seed).shuffle(rows)

    def pairs(some: list) -> Pairs:
        chosen = answer_batch([(row[0], row[1]) for row in some])
        return Pairs(chosen, answer_batch([(row[0], row[2]) for row in some]))

    if rows:
        run.fit("dpo", Fixed(rows, run.rows, pairs), preference_loss)


def grpo(run: PostTraining) -> None:
    """Groups of answers, each with the reward that the program gives."""
    add_lora(run.model)
    rollouts = Rollouts(
        run.model,
        run.prompts,
        lambda i, answer: float(run.is_right(i, answer)),
        at_once=run.groups,
        count=DRAWN,
        length=run.longest,
        seed=run.seed,
        deviations=True,
    )
    run.fit("grpo", rollouts, group_loss)
    run.curve = [round(mean, 4) for mean in rollouts.rewards]


METHODS: dict[str, Callable[[PostTraining], None] | None] = {
    "untouched": None,
    "sft": sft,
    "lora": lora,
    "dpo": dpo,
    "grpo": grpo,
}


def taught(
    method: Callable[[PostTraining], None] | None, run: PostTraining
) -> Record:
    """Teach a model, and merge LoRA where there is any: seconds and curve."""
    begun = time.process_time()
    if method is not None:
        method(run)
    seconds = round(time.process_time() - begun, 2)
    if any(isinstance(part, LoRA) for part in run.model.modules()):
        merge_lora(run.model)
    return {"seconds": seconds, "curve": run.curve}
