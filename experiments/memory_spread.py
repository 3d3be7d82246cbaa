"""Do the encoder's words differ, and does the decoder need that they do?

Of the weights that a training chose, on all development sentences: how much
the encoder's vectors differ from word to word, as a share of their size, which
is chapter 08's measure; and the loss, once as it is and once with the mean of
its sentence in the place of each vector. The results are in
``experiments/results/memory-spread/NAME.json``.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from experiments import store
from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    checkpoint_of,
    each_of,
    made_of_checkpoint,
    splits_for,
    tiny_run,
)
from transformer_course.batches.pairs import AnyBatch, Batch
from transformer_course.checkpoints import checkpoint
from transformer_course.data.tokenizer import PAD
from transformer_course.models.masks import padding_mask
from transformer_course.models.mode import eval_mode
from transformer_course.training.loop import evaluate
from transformer_course.training.loss import LossSums, label_smoothed_loss
from transformer_course.training.tasks.table import task_of


class Spread(NamedTuple):
    """Spread of the vectors of a sentence."""

    deviation: float
    """Standard deviation from word to word: the mean over the vectors'
    components and the sentences. The gain of the encoder's last norm, which
    is trained, scales it."""
    size: float
    """Root mean square of all components."""

    @property
    def share(self) -> float:
        """The deviation over the size: 0 if all words of a sentence are one
        vector, near 1 if they have nothing in common."""
        return self.deviation / self.size


@torch.inference_mode()
def spread_of(model: nn.Module, sources: Iterable[Tensor]) -> Spread:
    """Measure the memory of these batches of source ids.

    Args:
        model: put into evaluation mode meanwhile.
        sources: (sentence, length) each, padded.
    """
    apart, squares = [], []
    with eval_mode(model):
        for src in sources:
            for row, vectors in zip(src, model.encode(src), strict=True):
                real = vectors[row != PAD]
                apart.append(real.std(dim=0).mean())
                squares.append(real.square().mean())
    size = torch.stack(squares).mean().sqrt()
    return Spread(float(torch.stack(apart).mean()), float(size))


def loss_from_means(model: nn.Module, batch: Batch) -> LossSums:
    """Loss of a decoder that reads the mean of each sentence alone."""
    mask = padding_mask(batch.src)
    memory, real = model.encode(batch.src), mask[:, 0, 0, :, None]
    mean = (memory * real).sum(dim=1, keepdim=True)
    mean = mean / real.sum(dim=1, keepdim=True)
    logits = model.decode(batch.tgt_in, mean.expand_as(memory), mask)
    return label_smoothed_loss(logits, batch.tgt_out)


def measured(model: nn.Module, batches: list[AnyBatch]) -> Record:
    """Record of a model: the spread, and both losses."""
    spread = spread_of(model, [batch.src for batch in batches])
    own = evaluate(model, batches)
    means = evaluate(model, batches, loss_fn=loss_from_means)
    return {
        "share": round(spread.share, 4),
        "deviation": round(spread.deviation, 4),
        "dev_nll": round(own["nll"], 4),
        "dev_nll_of_means": round(means["nll"], 4),
    }


def inspect(folder: Path, context: RunContext) -> Iterator[str]:
    """Measure a training, and store what was found.

    Raises:
        CourseError: the run has no checkpoint.
    """
    chosen = checkpoint_of(folder)
    loaded = checkpoint.load(chosen)
    model, tokenizer = loaded.model, loaded.tokenizer
    dev = splits_for(loaded.details, context).dev
    task = task_of(model.config, loaded.details)
    found = {
        **made_of_checkpoint("memory-spread", chosen, context),
        "split": "dev",
        "sentences": len(dev),
        **measured(model, task.eval_batches(model.config, tokenizer, dev)),
    }
    store.write_json(context.folder / f"{folder.name}.json", found, indent=1)
    yield f"{folder.name}: {found}"


EXPERIMENT = Analysis(
    name="memory-spread",
    chapter="08_add_and_norm",
    analyse=each_of(inspect),
    inputs=("outputs/enja",),
    smoke_inputs=lambda scratch: [tiny_run(scratch, "tiny")],
)
