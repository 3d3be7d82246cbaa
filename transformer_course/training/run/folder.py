"""A run's folder: begun, gone on with, read, its checkpoints chosen from."""

import contextlib
import json
import math
import shutil
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transformer_course import files
from transformer_course.console import quoted
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.device import joined, machine
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    CourseError,
)
from transformer_course.training import checkpoint, shipped
from transformer_course.training.config import Experiment
from transformer_course.training.tasks.table import experiment_of

Record = dict[str, Any]
"""A line of ``metrics.jsonl``."""
FREE = ("epochs", "device", "save_every", "files")
"""Settings that may change when a training goes on: files may have moved."""
NUMBERS = ("step", "epoch", "quality")
"""What is read of a record, besides its kind."""
CHECKPOINTS = ("average", "best", "last")
"""What a finished run leaves, in the order in which it is preferred."""


@dataclass(frozen=True)
class RunFolder:
    """Where a run is, or shall be."""

    path: Path

    @property
    def metrics(self) -> Path:
        """A JSON record a line."""
        return self.path / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """A folder for each."""
        return self.path / "checkpoints"

    @property
    def tokenizer(self) -> Path:
        """The run's own; each checkpoint has a copy."""
        return self.path / "tokenizer.model"

    @property
    def begun(self) -> bool:
        """Whether a run is there, with its settings."""
        return (self.path / "experiment.json").exists()

    @property
    def has_last(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return _is_checkpoint(self.checkpoints / "last")

    def settings(self) -> dict[str, Any]:
        """The settings that the run began with.

        Raises:
            CheckpointError: they cannot be read.
        """
        path = self.path / "experiment.json"
        try:
            settings = files.read_json(path)
            experiment_of(settings)  # which says what is wrong with them
            return settings
        except (OSError, ValueError, CourseError) as error:
            raise CheckpointError(
                f"{path} is damaged ({type(error).__name__}: {error}): begin "
                "the run anew under another name."
            ) from error

    def check(self, experiment: Experiment, resume: bool) -> None:
        """See that a run may begin here, or go on.

        Raises:
            ConfigError: what is here is in the way, or began with other
                settings.
            CheckpointError: there is nothing to go on with.
        """
        if resume:
            self._check_resumed(experiment)
        else:
            self._check_new(experiment)

    def _check_new(self, experiment: Experiment) -> None:
        """See that a run may begin here.

        Raises:
            ConfigError: one is here already, or other files are.
        """
        if self.begun:
            if change := self._changed(experiment):
                raise ConfigError(
                    f"{self.path} holds a run already, which began with "
                    f"{change}: give another --name."
                )
            raise ConfigError(
                f"{self.path} holds a run already: add --resume to go on "
                "with it, or give another --name."
            )
        if self.path.is_dir() and any(self.path.iterdir()):
            raise ConfigError(
                f"{self.path} holds files, and is no run that was begun: "
                "nothing there is overwritten. Give another --name, or empty "
                "that folder."
            )

    def _check_resumed(self, experiment: Experiment) -> None:
        """See that the run here may go on with these settings.

        Raises:
            ConfigError: it began with others.
            CheckpointError: there is none, or its files do not belong
                together.
        """
        if not self.begun:
            raise CheckpointError(
                f"there is no run in {self.path} to go on with: leave out "
                "--resume to begin one."
            )
        if change := self._changed(experiment):
            raise ConfigError(
                f"the run began with {change}: resume with the settings it "
                "began with, or give another --name."
            )

    def _changed(self, experiment: Experiment) -> str:
        """The first setting that differs from the run's and may not, in
        words; "" if none.

        The number of epochs is free unless the rate cools down: it would
        decide, in hindsight, in which epochs the rate should have fallen.
        """
        cooldown = experiment.train.cooldown
        free = {*FREE} - {"epochs"} if cooldown else FREE
        change = changed_setting(self.settings(), experiment, free)
        if change.startswith("train.epochs "):
            change += f" (with a cool-down of {cooldown}, the end is fixed)"
        return change

    def load_tokenizer(self) -> Tokenizer | None:
        """The run's tokenizer; None for a run without one.

        Raises:
            TokenizerError: it is damaged.
        """
        if not self.tokenizer.exists():
            return None
        return Tokenizer.load(self.tokenizer)

    def begin(
        self,
        experiment: Experiment,
        tokenizer: Tokenizer | None,
        how_parted: str = "",
    ) -> None:
        """Write settings and tokenizer; a new folder has both, or is not
        there yet.

        Args:
            experiment: the settings.
            tokenizer: None where there is no text.
            how_parted: the text into training, development and test set,
                where the package has done it.
        """
        place = self.path
        if not self.begun:
            place = self.path.with_name(f".{self.path.name}.new")
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
        if tokenizer is not None:
            files.write_atomic(
                place / "tokenizer.model", tokenizer.model_proto
            )
        before = self.settings().get("machine") if self.begun else None
        settings = asdict(experiment) | {"machine": joined(before, machine())}
        if how_parted:
            settings["split"] = how_parted
        text = json.dumps(settings, indent=1, ensure_ascii=False)
        files.write_atomic(place / "experiment.json", f"{text}\n")
        if place != self.path:
            place.replace(self.path)  # an empty folder may be there

    def records(self) -> list[Record]:
        """The records of ``metrics.jsonl``; a line that a kill has cut short
        is left out."""
        if not self.metrics.exists():
            return []
        lines = self.metrics.read_text("utf-8", "replace").splitlines()
        return [record for line in lines if (record := _record(line))]

    def forget_after(self, step: int, epoch: int) -> None:
        """Drop the records that a kill has left beyond a checkpoint."""
        kept = [r for r in self.records() if _is_done(r, step, epoch)]
        lines = [json.dumps(r, ensure_ascii=False) + "\n" for r in kept]
        if self.metrics.exists():
            files.write_atomic(self.metrics, "".join(lines))

    def chosen(self) -> Path | None:
        """The checkpoint that is best by the development set.

        The best epoch and the average of the last ones are compared by what
        the run recorded of them. Where it recorded neither, the average is
        taken if there is one, else the best, else the last; None if there
        are none.
        """
        quality = self._recorded_quality()
        there = [self.checkpoints / name for name in CHECKPOINTS]
        return max(
            filter(_is_checkpoint, there),
            key=lambda path: quality.get(path.name, -math.inf),
            default=None,
        )

    def _recorded_quality(self) -> dict[str, float]:
        """:func:`quality_of` the best epoch and the average, if recorded."""
        found: dict[str, float] = {}
        for record in self.records():
            if record["kind"] == "average":
                found["average"] = quality_of(record)
            elif record["kind"] == "epoch":
                so_far = found.get("best", -math.inf)
                found["best"] = max(so_far, quality_of(record))
        return found

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A full disk or a missing permission is the user's to put right.

        Raises:
            CheckpointError: something could not be written.
        """
        try:
            yield
        except BrokenPipeError:  # of what prints, not of what is stored
            raise
        except OSError as error:
            rest = "no run is there. Choose another --output-dir."
            if self.begun:
                there = "the last" if self.has_last else "no"
                rest = (
                    f"{there} checkpoint is there. Free some space, then go "
                    "on with --resume."
                )
            raise CheckpointError(
                f"{self.path} could not be written ({error}); {rest}"
            ) from error


def settings_of(place: Path) -> dict[str, Any]:
    """The settings of a training, from a stored run or from outputs/NAME.

    Raises:
        CourseError: what is there was not made by ``transformer-course
            train``, or is damaged.
    """
    if (place / "experiment.json").is_file():
        settings = _whole(place / "experiment.json")
        settings.pop("machine", None)
        return settings
    path = place / "run.json"
    if not path.is_file():
        raise CourseError(
            f"{place} holds no training: give a folder of outputs/, or one "
            "of experiments/results/ that transformer-course train has made "
            "(it has a run.json)."
        )
    about = _whole(path)
    if not str(about.get("command")).startswith("transformer-course train"):
        raise CourseError(
            f"{place} was made by {about.get('command')!r}, and not by "
            "transformer-course train, which alone can be repeated: "
            "experiments/results/README.md says how it is made today."
        )
    if "settings" not in about:
        raise _damaged(path, "no settings in it")
    return about["settings"]


def _whole(path: Path) -> dict[str, Any]:
    try:
        return files.read_json(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise _damaged(path, why) from error


def _damaged(path: Path, why: object) -> CourseError:
    return CourseError(
        f"{path} cannot be read ({why}): put a whole copy of it there."
    )


def chosen_checkpoint(folder: str | Path) -> Path | None:
    """:meth:`RunFolder.chosen` of a folder that may be a run's."""
    return RunFolder(Path(folder)).chosen()


def find(path: Path) -> Path:
    """The checkpoint to use: the folder itself, or one of a run's.

    Where there is no such path, it may be the name of a model that comes with
    the course (:mod:`~.shipped`).

    Raises:
        CheckpointError: there is none; the runs that lie near are named.
    """
    if (model := shipped.find(path)) is not None:
        return model
    chosen = chosen_checkpoint(path)
    if chosen is not None:
        return chosen
    try:
        return checkpoint.existing(path)
    except CheckpointError as error:
        near = _runs_near(path) or shipped.hint(path)
        raise CheckpointError(f"{error}{near}") from error


def _runs_near(path: Path) -> str:
    """Where runs are, for someone who has named another folder."""
    for folder in (path, path.parent):
        runs = sorted(p.parent for p in folder.glob("*/checkpoints"))
        if runs := [quoted(run) for run in runs if run != path]:
            return f" Runs are in {', '.join(runs)}."
    return ""


def quality_of(record: Record) -> float:
    """What checkpoints are chosen by, of a record of the metrics; more is
    better, and a record without it is worst."""
    return record.get("quality", -math.inf)


def changed_setting(
    old: dict[str, Any], now: Experiment, free: Collection[str]
) -> str:
    """The first setting that has changed, in words; "" if none.

    Args:
        old: what was stored.
        now: the settings given.
        free: names that may change.
    """
    before = experiment_of(old)
    if before.task != now.task:
        return f"task {before.task}, but {now.task} is given now"
    for part in ("data", "model", "train"):
        stored = asdict(getattr(before, part))
        given = asdict(getattr(now, part))
        for key in sorted(stored.keys() | given.keys()):
            was, is_now = stored.get(key), given.get(key)
            if was != is_now and key not in free:
                return f"{part}.{key} {was}, but {is_now} is given now"
    return ""


def _is_checkpoint(folder: Path) -> bool:
    try:
        checkpoint.existing(folder)
    except CheckpointError:
        return False
    return True


def _record(line: str) -> Record | None:
    """The record of a line; None if the line is not complete."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "kind" in record else None


def _is_done(record: Record, step: int, epoch: int) -> bool:
    """Whether a checkpoint of this step and epoch knows of a record."""
    if record["kind"] == "step":
        return record["step"] <= step
    return record.get("epoch", epoch + 1) <= epoch
