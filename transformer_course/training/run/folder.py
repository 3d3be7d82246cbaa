"""The folder of a run: its settings, its metrics, its best checkpoint."""

import json
import shutil
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from transformer_course import files
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import (
    Record,
    is_checkpoint,
    read_records,
)
from transformer_course.data.tokenizer import AnyTokenizer
from transformer_course.device import joined, machine
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    CourseError,
)
from transformer_course.models.config import CustomConfig
from transformer_course.training.config import Experiment
from transformer_course.training.tasks.table import (
    experiment_from_dict,
    experiment_to_dict,
)

FREE = ("epochs", "device", "save_every", "files", "file")
"""Settings that may change on resuming: files may have moved."""
CODE = "my_transformer.py"
"""The copy of the user's own model."""
TRAIN = "transformer-course train"


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run, which may not be there yet."""

    path: Path

    @property
    def metrics(self) -> Path:
        """The file with a JSON record a line."""
        return self.path / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The folder with a folder for each checkpoint."""
        return self.path / "checkpoints"

    @property
    def begun(self) -> bool:
        """Whether the folder holds a run."""
        return (self.path / "experiment.json").exists()

    @property
    def has_last(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return is_checkpoint(self.checkpoints / "last")

    def locked(self) -> AbstractContextManager:
        """Keep other processes from training in this folder.

        The lock ends with the process, whatever ends that.

        Raises:
            ConfigError: one is training here.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        place = self.path.with_name(f".{self.path.name}.lock")
        try:
            return FileLock(place, timeout=0).acquire()
        except Timeout as error:
            raise ConfigError(
                f"{self.path} is being trained by another process: wait for "
                "it, stop it, or give another --name."
            ) from error

    def settings(self) -> dict[str, Any]:
        """The settings that the run began with, and its machines.

        Raises:
            CheckpointError: they cannot be read.
        """
        path = self.path / "experiment.json"
        try:
            settings = files.read_json(path)
            experiment_from_dict(settings)  # checks them
            return settings
        except (OSError, ValueError, CourseError) as error:
            raise CheckpointError(
                f"{path} is damaged ({type(error).__name__}: {error}): begin "
                "the run anew under another name."
            ) from error

    def check(self, experiment: Experiment, resume: bool) -> None:
        """Check that a run can begin here or, with ``resume``, go on.

        Raises:
            ConfigError: other files are here, a run that would be
                overwritten, or one with other settings.
            CheckpointError: there is no run to resume.
        """
        if not self.begun:
            if resume:
                raise CheckpointError(
                    f"there is no run in {self.path} to go on with: leave "
                    "out --resume to begin one."
                )
            if self.path.is_dir() and any(self.path.iterdir()):
                raise ConfigError(
                    f"{self.path} holds files, and is no run of this course: "
                    "nothing there is overwritten. Give another --name, or "
                    "empty that folder."
                )
        elif change := self._changed(experiment):
            raise ConfigError(
                f"{self.path} holds a run already; the run began with "
                f"{change}: give the settings it began with, or another "
                "--name."
            )
        elif not resume:
            raise ConfigError(
                f"{self.path} holds a run already: add --resume to go on "
                "with it, or give another --name."
            )

    def _changed(self, experiment: Experiment) -> str:
        """The first setting that differs from the run's and is not free.

        Where the rate falls towards the last epoch, their number is not free.
        """
        free = {*FREE} - {"epochs"} if experiment.train.fixed_end else FREE
        change = changed_setting(self.settings(), experiment, free)
        if change.startswith("train.epochs "):
            change += " (the rate falls towards the end, which is fixed)"
        return change

    def begin(
        self,
        experiment: Experiment,
        tokenizer: AnyTokenizer | None,
        split: str,
    ) -> None:
        """Write settings and tokenizer; a new folder appears with both.

        Args:
            experiment: the settings.
            tokenizer: None where there is no text.
            split: description of how the package has split the data.
        """
        place, machines = self.path, machine()
        if self.begun:
            machines = joined(self.settings().get("machine"), machines)
        else:
            place = self.path.with_name(f".{self.path.name}.new")
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            checkpoint.save_tokenizer(place, tokenizer)
            if isinstance(experiment.model, CustomConfig):
                files.write_atomic(place / CODE, experiment.model.code)
        settings = experiment_to_dict(experiment) | {"machine": machines}
        if split:
            settings["split"] = split
        text = json.dumps(settings, indent=1, ensure_ascii=False)
        files.write_atomic(place / "experiment.json", f"{text}\n")
        if place != self.path:
            place.replace(self.path)  # an empty folder may be there

    def records(self) -> list[Record]:
        """The records of ``metrics.jsonl``, without incomplete lines."""
        return read_records(self.metrics)

    def drop_records_after(self, step: int, epoch: int) -> None:
        """Drop the records that are later than a checkpoint."""
        lines = [
            json.dumps(record, ensure_ascii=False) + "\n"
            for record in self.records()
            if record.get("step", 0) <= step
            and record.get("epoch", 0) <= epoch
            and record["kind"] in ("step", "epoch")
        ]
        if self.metrics.exists():
            files.write_atomic(self.metrics, "".join(lines))


def settings_of(place: Path) -> dict[str, Any]:
    """The settings of a training, from a stored run or from outputs/NAME.

    Raises:
        CourseError: the folder was not made by ``transformer-course train``,
            or is damaged.
    """
    for name in ("experiment.json", "run.json"):
        path = place / name
        if not path.is_file():
            continue
        try:
            about = files.read_json(path)
        except (OSError, ValueError) as error:
            raise CourseError(
                f"{path} cannot be read ({error}): put a complete copy of it "
                "there."
            ) from error
        if name == "experiment.json":
            return {k: v for k, v in about.items() if k != "machine"}
        if str(about.get("command")).startswith(TRAIN) and "settings" in about:
            return about["settings"]
        raise CourseError(
            f"{place} was made by {about.get('command')!r}, but only what "
            f"{TRAIN} has made can be repeated: "
            "experiments/results/README.md says how it is made today."
        )
    raise CourseError(
        f"{place} holds no training: give a folder of outputs/, or one of "
        f"experiments/results/ that {TRAIN} has made (it has a run.json)."
    )


def changed_setting(
    old: dict[str, Any], now: Experiment, free: Collection[str]
) -> str:
    """The first setting that has changed, in words; "" if none.

    Args:
        old: stored settings.
        now: the settings given.
        free: names that may change.
    """
    before = experiment_to_dict(experiment_from_dict(old))
    given = experiment_to_dict(now)
    if before["task"] != given["task"]:
        return f"task {before['task']}, but {given['task']} is given now"
    for part in ("data", "model", "train", "loss"):
        for key in before[part] | given[part]:
            was, is_now = before[part].get(key), given[part].get(key)
            if was != is_now and key == "code":
                return (
                    f"other code of {CODE}, of which the run's folder has a "
                    "copy"
                )
            if was != is_now and key not in free:
                return f"{part}.{key} {was}, but {is_now} is given now"
    return ""
