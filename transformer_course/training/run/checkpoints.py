"""The checkpoints of a run: last, best, the last epochs, their average."""

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from transformer_course.checkpoints import checkpoint
from transformer_course.training.config import Experiment
from transformer_course.training.loop import Progress, resume_state
from transformer_course.training.run.prepare import Prepared, complete


@dataclass(frozen=True)
class Checkpoints:
    """Saves the checkpoints of a run, and removes old ones."""

    folder: Path
    experiment: Experiment
    prepared: Prepared
    optimizer: torch.optim.Optimizer

    def save(self, name: str, resume: checkpoint.Resume | None = None) -> None:
        """Save the weights under a name."""
        checkpoint.save(
            self.folder / name,
            self.prepared.model,
            self.prepared.tokenizer,
            details(self.experiment),
            resume,
        )

    def save_last(self, progress: Progress) -> None:
        """Save everything that resuming needs."""
        model, optimizer = self.prepared.model, self.optimizer
        self.save("last", resume_state(model, optimizer, progress))

    def save_epoch(self, progress: Progress, value: float) -> None:
        """Save an epoch, as the best one too if ``value`` is the greatest."""
        if progress.best is None or value > progress.best:
            progress.best = value
            self.save("best")
        if keep := self.experiment.train.average_last:
            self.save(_of_epoch(progress.epoch))
            old = self.folder / _of_epoch(progress.epoch - keep)
            shutil.rmtree(old, ignore_errors=True)
        # at the end: a run resumed from here does not save the others again
        self.save_last(progress)

    def average(self, progress: Progress) -> list[int]:
        """Give the model the mean weights of the last epochs.

        Returns:
            These epochs. None where there are fewer than two, and the weights
            stay as they are.
        """
        number = min(self.experiment.train.average_last, progress.epoch)
        if number < 2:
            return []
        epochs = list(range(progress.epoch - number + 1, progress.epoch + 1))
        folders = [self.folder / _of_epoch(epoch) for epoch in epochs]
        checkpoint.average(folders, self.prepared.model)
        return epochs


def details(experiment: Experiment) -> dict[str, Any]:
    """What a checkpoint says of its training: the task and the data."""
    data = complete(experiment).data
    return {"task": experiment.task, **asdict(data)}


def _of_epoch(number: int) -> str:
    return f"epoch-{number:03d}"
