"""Does an encoder learn hidden words sooner with other positions?

The preset ``aozora-bert`` for its first steps, with BERT's learned positions
and with rotary ones. Of the words that are asked for, those behind [MASK] are
judged apart from those that stayed: to repeat what stands there needs no
context. The yardstick is the entropy of single pieces, which is what a model
reaches that only knows how frequent each is.
"""

import dataclasses
import math
from collections import Counter
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from transformer_course.batches.masked import MaskedBatch
from transformer_course.data.aozora import Chapter, Work
from transformer_course.data.aozora.authors import WorkSplits, works
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.models.mode import eval_mode
from transformer_course.training.checkpoint import build
from transformer_course.training.config import Experiment as Settings
from transformer_course.training.config import changed_experiment
from transformer_course.training.loop import fit, make_optimizer, set_seed
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.prepare import sized
from transformer_course.training.tasks.table import find_task

STEPS = 800
"""Updates of each training."""
EVERY = 50
"""Updates whose losses are stored as one mean."""
WORKS = 30
"""Works that are learned from: more than the steps can read."""
LENGTH = 128
"""Tokens of a row."""


def settings_for(position: str, seed: int, context: RunContext) -> Settings:
    """The preset with these positions, and a seed."""
    changes: dict[str, Any] = {
        "model.position": position,
        "model.max_length": LENGTH,
        "train.seed": seed,
        "train.warmup": 400,
        "train.epochs": 99,
    }
    if context.smoke:
        changes |= {"model.d_model": 16, "model.d_ff": 16, "model.n_heads": 2}
    return changed_experiment(PRESETS["aozora-bert"], changes)


def text_for(context: RunContext) -> WorkSplits:
    """The works; in a smoke test a few lines that need no file."""
    if context.smoke:
        chapter = Chapter(
            "", tuple(f"{a}は{b}。" for a in "犬猫" for b in "白黒")
        )
        small = [Work("a", "b", (chapter,))] * 2
        return WorkSplits(small, small, small)
    train, dev, test = works()
    return WorkSplits(train[:WORKS], dev, test)


def entropy(tokenizer: Tokenizer, text: list[Work]) -> float:
    """Entropy of single pieces, in nats."""
    counts = Counter(
        i
        for work in text
        for sentence in work.sentences
        for i in tokenizer.encode(sentence)
    )
    total = counts.total()
    return -sum(n / total * math.log(n / total) for n in counts.values())


@torch.inference_mode()
def answered(
    model: nn.Module, batches: list[MaskedBatch]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of each chosen word: its nll, what was guessed, what is right, and what
    the model read in its place."""
    parts = []
    with eval_mode(model):
        for batch in batches:
            logits, _ = model(batch.ids, batch.segments, batch.chosen)
            right, shown = batch.words[batch.chosen], batch.ids[batch.chosen]
            nll = F.cross_entropy(logits, right, reduction="none")
            parts.append((nll, logits.argmax(dim=-1), right, shown))
    nll, guessed, right, shown = (
        torch.cat(column) for column in zip(*parts, strict=True)
    )
    return nll, guessed, right, shown


def by_fate(
    model: nn.Module, batches: list[MaskedBatch], mask_id: int
) -> dict[str, float]:
    """The nll of chosen words, by what became of them."""
    nll, _, right, shown = answered(model, batches)
    return {
        name: round(nll[chosen].mean().item(), 4)
        for name, chosen in (
            ("hidden", shown == mask_id),
            ("kept", shown == right),
        )
        if chosen.any()
    }


@dataclasses.dataclass(frozen=True)
class Position:
    """A way to tell a token's place."""

    name: str

    def measure(self, seed: int, context: RunContext) -> Record:
        """Train for some steps, and judge by the development works."""
        settings = settings_for(self.name, seed, context)
        task, splits = find_task(settings.task), text_for(context)
        tokenizer, batches = task.prepare(settings, splits.train)
        set_seed(seed)
        model = build(sized(settings.model, tokenizer))
        losses: list[tuple[float, int]] = []
        fit(
            model,
            make_optimizer(model, settings.train),
            batches,
            settings.train,
            on_step=lambda _, sums, __: losses.append(
                (sums.nll.item(), int(sums.tokens))
            ),
            loss_fn=task.loss,
            steps=context.limit(STEPS),
        )
        dev = task.eval_batches(model.config, tokenizer, splits.dev)
        return {
            "every": EVERY,
            "nll": means(losses),
            "entropy": round(entropy(tokenizer, splits.dev), 4),
            "dev": by_fate(model, dev, tokenizer.mask_id),
        }


def means(losses: list[tuple[float, int]]) -> list[float]:
    """Nats per chosen word, of so many updates each."""
    parts = [losses[i : i + EVERY] for i in range(0, len(losses), EVERY)]
    return [
        round(sum(s for s, _ in part) / sum(n for _, n in part), 4)
        for part in parts
    ]


EXPERIMENT = Experiment(
    name="masked-positions",
    chapter="18_bert",
    variants={name: Position(name) for name in ("learned", "rotary")},
    measure=Position.measure,
)
