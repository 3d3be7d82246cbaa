"""Metrics of a training: metrics.jsonl, TensorBoard, the progress bar."""

import json
import os
import sys
import time

from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from transformer_course.checkpoints.find import Record
from transformer_course.console import visible
from transformer_course.training.loop import Progress
from transformer_course.training.loss import LossSums
from transformer_course.training.run.folder import RunFolder

BOARD_EVERY = 20
"""Steps between two points of TensorBoard's curves."""


class Recorder:
    """Writes metrics; a context manager.

    Args:
        folder: the run's.
        steps: number of steps of the training.
        progress: where the training begins.
        quiet: print nothing.
    """

    def __init__(
        self,
        folder: RunFolder,
        steps: int,
        progress: Progress,
        quiet: bool = False,
    ):
        self.quiet = quiet
        self._started, self._tokens = time.monotonic(), 0
        folder.drop_records_after(progress.step, progress.epoch)
        self._metrics = folder.metrics.open("a", encoding="utf-8")
        self._board = SummaryWriter(
            folder.path / "tensorboard", purge_step=progress.step + 1
        )
        self._bar = tqdm(
            total=steps,
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

    def step(self, progress: Progress, sums: LossSums, rate: float) -> None:
        """Record a step."""
        means, tokens = sums.means(), int(sums.tokens)
        self._tokens += tokens
        record = {"kind": "step", "step": progress.step, **means}
        self._write(record | {"tokens": tokens, "lr": rate})
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

    def validation(
        self, title: str, record: Record, samples: list[dict[str, str]]
    ) -> None:
        """Record and print an evaluation on the development set."""
        self._write(record | {"samples": samples})
        for key, value in record.items():
            if isinstance(value, float):
                # the average is made at the step of the last epoch
                tag = f"{record['kind']}/{key}"
                self._board.add_scalar(tag, value, record["step"])
        lines = [format_sample(sample) for sample in samples]
        self._board.add_text("samples", "\n\n".join(lines), record["step"])
        self._board.flush()
        metrics = ", ".join(
            f"{key.removeprefix('dev_')} {value:.4g}"
            for key, value in record.items()
            if key.startswith("dev_") and key != "dev_loss"
        )
        if not self.quiet:
            self._bar.write(f"{title}: dev {metrics}\n" + "\n".join(lines))

    def exclude(self, seconds: float) -> None:
        """Exclude time from the speed that is shown."""
        self._started += seconds

    def flush(self) -> None:
        """Write the metrics to the disk."""
        self._metrics.flush()
        os.fsync(self._metrics.fileno())

    def _write(self, record: Record) -> None:
        self._metrics.write(json.dumps(record, ensure_ascii=False) + "\n")


def format_sample(sample: dict[str, str]) -> str:
    """The input and the first output of a sample, on two lines."""
    src, tgt, output, *_ = sample.values()
    if "probability" in sample:
        output += f" ({sample['probability']}), was {tgt}"
    return f"{visible(src)}\n→ {visible(output)}"
