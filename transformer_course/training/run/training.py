"""A training from its first step, or its last checkpoint, to its end."""

import contextlib
import io
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from transformer_course.console import tell
from transformer_course.device import pick_device
from transformer_course.errors import CheckpointError, ConfigError, Interrupted
from transformer_course.models.optimize import faster_layers, keep_freed_memory
from transformer_course.training import checkpoint
from transformer_course.training.config import Experiment
from transformer_course.training.distributed import ALONE, Team
from transformer_course.training.loop import (
    Progress,
    fit,
    make_optimizer,
    restore,
)
from transformer_course.training.loss import Score
from transformer_course.training.run.folder import Record, RunFolder
from transformer_course.training.run.prepare import (
    Prepared,
    identified,
    prepare,
)
from transformer_course.training.run.recorder import Recorder
from transformer_course.training.run.retention import Retention
from transformer_course.training.run.stopping import StopSignal


def run(
    experiment: Experiment,
    output_dir: Path = Path("outputs"),
    resume: bool = False,
    quiet: bool = False,
    build: checkpoint.Build = checkpoint.build,
    team: Team = ALONE,
) -> Path:
    """Train an experiment in ``output_dir/NAME``, or go on with it.

    Args:
        experiment: the settings.
        output_dir: the run's folder is made in here; what the training
            starts from is looked for here too.
        resume: go on with a run that was stopped.
        quiet: print nothing.
        build: from a config to the model, with its first weights.
        team: the processes that train together, each of which calls this.
            The first one writes; the others compute, and wait for it.

    Returns:
        The folder.

    Raises:
        CorpusError: the text cannot be had, or is not that which a run
            began with.
        ConfigError: the folder holds a run already, or other files (without
            ``resume``), or a run with other settings (with it); another
            process trains there; settings that do not go together.
        CheckpointError: nothing to go on with, or a checkpoint that could
            not be read or written.
        DivergedError: the loss is not a number any more; the checkpoints
            from before that are whole.
        Interrupted: Ctrl-C; the state has been saved.
        TeamError: another process of the team has ended.
    """
    folder = RunFolder(Path(output_dir) / experiment.name)
    device = team.place(pick_device(experiment.train.device))
    quiet = quiet or not team.is_first
    begun = folder.settings() if folder.begun else None
    experiment = identified(experiment, begun)
    folder.check(experiment, resume)
    tokenizer = folder.load_tokenizer() if resume else None
    goes_on = resume and folder.has_last
    keep_freed_memory()
    if not quiet:
        tell(f"{folder.path}: preparing ...")
    with contextlib.nullcontext() if team.is_first else _unheard():
        prepared = prepare(experiment, tokenizer, output_dir, goes_on, build)
    model = prepared.model.to(device)
    optimizer = make_optimizer(model, experiment.train)
    held = folder.held() if team.is_first else contextlib.nullcontext()
    with folder.writing(), held:
        folder.check(experiment, resume)  # nobody has begun it meanwhile
        progress = Progress()
        if goes_on:
            last = folder.checkpoints / "last"
            progress = _restore(last, model, optimizer, build)
            _check_epochs(folder, experiment, progress)
        tokenizer = prepared.tokenizer
        team.check_same(
            model, experiment, progress, tokenizer and tokenizer.sha256
        )
        team.draw_apart()
        if not quiet:
            begin = _beginning(folder, experiment, prepared, progress, resume)
            print(begin, flush=True)
        if team.is_first:
            how_parted = prepared.task.how_parted(prepared.splits)
            folder.begin(experiment, tokenizer, how_parted)
        parts = folder, experiment, prepared, optimizer, progress, quiet, team
        around = _writing(*parts) if team.is_first else _following(team)
        with around as calls, faster_layers(model):
            fit(
                model,
                optimizer,
                prepared.batches,
                experiment.train,
                progress,
                calls.on_step,
                calls.on_epoch,
                prepared.task.objective,
                team=team,
            )
            calls.finish(progress)
    return folder.path


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """What a process warns of is not told: the first one tells the same."""
    with contextlib.redirect_stderr(io.StringIO()):
        yield


@contextlib.contextmanager
def _writing(
    folder: RunFolder,
    experiment: Experiment,
    prepared: Prepared,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    quiet: bool,
    team: Team,
) -> Iterator["_Around"]:
    """What goes on around the steps where the run is written down."""
    with (
        Recorder(folder, experiment, prepared, progress, quiet) as recorder,
        StopSignal(recorder.say if team.size == 1 else None) as stop,
    ):
        kept = Retention(
            folder.checkpoints,
            experiment,
            prepared,
            optimizer,
            recorder.flush,
        )
        yield _Around(experiment, prepared, recorder, kept, stop, team)


@contextlib.contextmanager
def _following(team: Team) -> Iterator["_Following"]:
    """What goes on around the steps in the other processes of a team."""
    with StopSignal() as stop:
        yield _Following(stop, team)


@dataclass(frozen=True)
class _Following:
    """Waits wherever the first process has something to do by itself."""

    stop: StopSignal
    team: Team

    def on_step(self, progress: Progress, *_) -> None:
        """Stop after the same step as the others."""
        if self.team.any(self.stop.asked):
            self.team.wait()
            raise _stopped(progress)

    def on_epoch(self, *_) -> None:
        """Wait until the epoch has been validated and saved."""
        self.team.wait()

    finish = on_epoch


@dataclass(frozen=True)
class _Around:
    """What happens after each step and each epoch, and at the end."""

    experiment: Experiment
    prepared: Prepared
    recorder: Recorder
    kept: Retention
    stop: StopSignal
    team: Team

    def on_step(self, progress: Progress, score: Score, rate: float) -> None:
        """Record a step; save now and then, and when asked to stop."""
        self.recorder.step(progress, score, rate)
        if self.team.any(self.stop.asked):
            self.kept.last(progress)
            self.team.wait()
            raise _stopped(progress)
        self.kept.after_step(progress)

    def on_epoch(self, progress: Progress, train: dict[str, float]) -> None:
        """Validate, show samples, keep the best and the last weights."""
        started = time.monotonic()
        found = self._validate()
        self.recorder.epoch(progress, train, found)
        self.recorder.not_training(time.monotonic() - started)
        self.kept.after_epoch(progress, found["quality"])
        self.team.wait()

    def finish(self, progress: Progress) -> None:
        """Average the last epochs, and score the average too."""
        if epochs := self.kept.average(progress):
            self.recorder.average(progress, epochs, self._validate())
            self.kept.keep_average()
        self.team.wait()

    def _validate(self) -> Record:
        """Scores on the development set, and samples."""
        task, model = self.prepared.task, self.prepared.model
        text = self.prepared.tokenizer, self.prepared.splits.dev
        smoothing = self.experiment.train.label_smoothing
        means = task.evaluate(model, self.prepared.dev_batches, smoothing)
        metrics = means | task.metrics(model, *text, means)
        return {
            **{f"dev_{name}": value for name, value in metrics.items()},
            "quality": task.quality(metrics),
            "samples": task.samples(model, *text),
        }


def _stopped(progress: Progress) -> Interrupted:
    """What a user is told who has stopped a training."""
    return Interrupted(
        f"stopped after step {progress.step}, and saved. Go on with the same "
        "command and --resume."
    )


def _beginning(
    folder: RunFolder,
    experiment: Experiment,
    prepared: Prepared,
    progress: Progress,
    resume: bool,
) -> str:
    """What is trained, and from where on."""
    weights = sum(p.numel() for p in prepared.model.parameters())
    device = next(prepared.model.parameters()).device
    per_epoch = len(prepared.batches)
    epochs = experiment.train.epochs
    text = (
        f"{folder.path}: {weights:,} weights on {device}, "
        f"{len(prepared.splits.train):,} {prepared.task.examples}, "
        f"{epochs} epochs of {per_epoch:,} steps"
    )
    if not resume:
        return text
    if progress.epoch >= epochs and experiment.train.cooldown:
        return f"{text}; all are done"
    if progress.epoch >= epochs:
        return f"{text}; all are done, a larger --train.epochs would go on"
    return f"{text}; going on after step {progress.step:,}"


def _check_epochs(
    folder: RunFolder, experiment: Experiment, progress: Progress
) -> None:
    """See that a run is not said to have fewer epochs than it has had.

    Raises:
        ConfigError: fewer are asked for.
    """
    asked, done = experiment.train.epochs, progress.epoch
    if asked < done:
        raise ConfigError(
            f"{folder.path} has trained for {done} epochs already, and "
            f"--train.epochs {asked} asks for fewer: give {done} or more, or "
            "train anew under another --name."
        )


def _restore(
    last: Path, model: nn.Module, optimizer, build: checkpoint.Build
) -> Progress:
    try:
        saved = checkpoint.load(last, build=build)
        if saved.resume is None:
            raise CheckpointError(f"{last} holds no state to go on from.")
        weights = checkpoint.weights_of(saved.model)
        checkpoint.fill(model, weights, last)
        return restore(saved.resume, model, optimizer)
    except CheckpointError as error:
        raise CheckpointError(
            f"{error} A training goes on from {last} alone; if that cannot be "
            "put right, begin anew under another --name. The other "
            f"checkpoints in {last.parent} can still be used."
        ) from error
