"""Which checkpoints a run keeps: last, best, the last epochs, their mean."""

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from transformer_course.training import checkpoint
from transformer_course.training.config import Experiment
from transformer_course.training.loop import Progress, resume_state
from transformer_course.training.run.prepare import Prepared


@dataclass(frozen=True)
class Retention:
    """Saves what is to be kept, and drops what is not any more."""

    folder: Path
    """Of the checkpoints."""
    experiment: Experiment
    prepared: Prepared
    optimizer: torch.optim.Optimizer

    def after_epoch(self, progress: Progress, quality: float) -> None:
        """Keep the weights if they are the best, and those of the epoch."""
        is_best = progress.best is None or quality > progress.best
        if is_best:
            progress.best = quality
            self._save("best")
        if self.experiment.train.average_last:
            self._save(_of_epoch(progress.epoch))
            self._drop_old(progress.epoch)
        # at the end: a run that goes on from here does not make the others
        self.last(progress)

    def last(self, progress: Progress) -> None:
        """Save what a training needs to go on."""
        model, optimizer = self.prepared.model, self.optimizer
        self._save("last", resume_state(model, optimizer, progress))

    def average(self, progress: Progress) -> list[int]:
        """Give the model the mean weights of the last epochs.

        Returns:
            These epochs; none where fewer than two are kept, and the weights
            are as they were.
        """
        number = min(self.experiment.train.average_last, progress.epoch)
        if number < 2:
            return []
        epochs = list(range(progress.epoch - number + 1, progress.epoch + 1))
        folders = [self.folder / _of_epoch(epoch) for epoch in epochs]
        checkpoint.average(folders, self.prepared.model)
        return epochs

    def keep_average(self) -> None:
        """Save the averaged weights."""
        self._save("average")

    def _save(
        self, name: str, resume: checkpoint.Resume | None = None
    ) -> None:
        checkpoint.save(
            self.folder / name,
            self.prepared.model,
            self.prepared.tokenizer,
            details=details(self.experiment),
            resume=resume,
        )

    def _drop_old(self, epoch: int) -> None:
        kept = self.experiment.train.average_last
        old = self.folder / _of_epoch(epoch - kept)
        shutil.rmtree(old, ignore_errors=True)


def details(experiment: Experiment) -> dict:
    """What a checkpoint says of its training: the task, and the text."""
    return {"task": experiment.task, **asdict(experiment.data)}


def _of_epoch(number: int) -> str:
    return f"epoch-{number:03d}"
