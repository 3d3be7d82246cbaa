"""Writes down what happens in a training: metrics, board, progress bar."""

import json
import os
import sys
import time
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from transformer_course.training.config import Experiment
from transformer_course.training.loop import Progress
from transformer_course.training.loss import LossSums
from transformer_course.training.run.folder import Record, RunFolder
from transformer_course.training.run.prepare import Prepared

BOARD_EVERY = 20
"""Steps between two points of the board's curves."""


class Recorder:
    """A context manager; it decides nothing, and saves no weights.

    Args:
        folder: the run's.
        experiment: the settings.
        prepared: for the length of an epoch, and how samples are told.
        progress: where the training begins.
        quiet: print nothing.
    """

    def __init__(
        self,
        folder: RunFolder,
        experiment: Experiment,
        prepared: Prepared,
        progress: Progress,
        quiet: bool = False,
    ):
        self.prepared = prepared
        self.quiet = quiet
        self._started, self._tokens = time.monotonic(), 0
        folder.forget_after(progress.step, progress.epoch)
        self._metrics = folder.metrics.open("a", encoding="utf-8")
        self._board = SummaryWriter(
            folder.path / "tensorboard", purge_step=progress.step + 1
        )
        self._bar = tqdm(
            total=experiment.train.epochs * len(prepared.batches),
            initial=progress.step,
            unit="step",
            disable=quiet,
            dynamic_ncols=True,
            mininterval=1.0 if sys.stderr.isatty() else 30.0,
        )

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *error) -> None:
        self._bar.close()
        self._metrics.close()
        self._board.close()

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.write(text)

    def step(self, progress: Progress, sums: LossSums, rate: float) -> None:
        """Record a step."""
        means = sums.means()
        tokens = int(sums.tokens)
        self._tokens += tokens
        self._write(
            kind="step", step=progress.step, **means, tokens=tokens, lr=rate
        )
        speed = self._tokens / (time.monotonic() - self._started)
        self._bar.set_postfix_str(
            f"epoch {progress.epoch + 1} loss {means['loss']:.3f} "
            f"{speed:,.0f} tokens/s",
            refresh=False,
        )
        self._bar.update()
        if progress.step % BOARD_EVERY == 0:
            self._board.add_scalar("train/loss", means["loss"], progress.step)
            self._board.add_scalar("train/rate", rate, progress.step)

    def epoch(self, progress: Progress, train: dict, found: Record) -> None:
        """Record an epoch: its means in training, and its validation."""
        task = self.prepared.task
        self._scored(
            f"epoch {progress.epoch}",
            {
                "kind": "epoch",
                "epoch": progress.epoch,
                "step": progress.step,
                **{f"train_{k}": v for k, v in train.items()},
                **found,
                **task.batch_figures(self.prepared.batches),
            },
        )

    def average(
        self, progress: Progress, epochs: list[int], found: Record
    ) -> None:
        """Record the validation of averaged weights."""
        about = {"kind": "average", "epochs": epochs, "step": progress.step}
        self._scored("average", about | found)

    def not_training(self, seconds: float) -> None:
        """Leave time out of the speed that is shown."""
        self._started += seconds

    def flush(self) -> None:
        """See that what was recorded is on the disk."""
        self._metrics.flush()
        os.fsync(self._metrics.fileno())

    def _scored(self, name: str, record: Record) -> None:
        samples = record.pop("samples")
        record["samples"] = samples  # last: they are long
        self._write(**record)
        for key, value in record.items():
            if isinstance(value, float):
                self._board.add_scalar(f"epoch/{key}", value, record["step"])
        lines = [self.prepared.task.told(sample) for sample in samples]
        self._board.add_text("samples", "\n\n".join(lines), record["step"])
        self._board.flush()
        if self.quiet:
            return
        scores = ", ".join(
            f"{key.removeprefix('dev_')} {value:.4g}"
            for key, value in record.items()
            if key.startswith("dev_") and key != "dev_loss"
        )
        self._bar.write(f"{name}: dev {scores}\n" + "\n".join(lines))

    def _write(self, **record: Any) -> None:
        self._metrics.write(json.dumps(record, ensure_ascii=False) + "\n")
