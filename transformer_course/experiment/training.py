"""A training from its first step, or its last checkpoint, to its end."""

import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from transformer_course import checkpoint
from transformer_course.config import Experiment
from transformer_course.console import tell
from transformer_course.device import pick_device
from transformer_course.errors import CheckpointError, Interrupted
from transformer_course.experiment.folder import Record, RunFolder
from transformer_course.experiment.prepare import (
    Prepared,
    identified,
    prepare,
)
from transformer_course.experiment.recorder import Recorder
from transformer_course.experiment.retention import Retention
from transformer_course.experiment.stopping import StopSignal
from transformer_course.loss import Score
from transformer_course.speed import faster_layers, keep_freed_memory
from transformer_course.train import Progress, fit, make_optimizer, restore
from transformer_course.weights import check_fit, weights_of


def run(
    experiment: Experiment,
    output_dir: Path = Path("outputs"),
    resume: bool = False,
    quiet: bool = False,
    build: checkpoint.Build = checkpoint.build,
) -> Path:
    """Train an experiment in ``output_dir/NAME``, or go on with it.

    Args:
        experiment: the settings.
        output_dir: the run's folder is made in here; what the training
            starts from is looked for here too.
        resume: go on with a run that was stopped.
        quiet: print nothing.
        build: from a config to the model, with its first weights.

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
    """
    folder = RunFolder(Path(output_dir) / experiment.name)
    device = pick_device(experiment.train.device)
    begun = folder.settings() if folder.begun else None
    experiment = identified(experiment, begun)
    folder.check(experiment, resume)
    tokenizer = folder.load_tokenizer() if resume else None
    goes_on = resume and folder.has_last
    keep_freed_memory()
    if not quiet:
        tell(f"{folder.path}: preparing ...")
    prepared = prepare(experiment, tokenizer, output_dir, goes_on, build)
    model = prepared.model.to(device)
    optimizer = make_optimizer(model, experiment.train)
    with folder.writing(), folder.held():
        folder.check(experiment, resume)  # nobody has begun it meanwhile
        progress = Progress()
        if goes_on:
            last = folder.checkpoints / "last"
            progress = _restore(last, model, optimizer, build)
        if not quiet:
            begin = _beginning(folder, experiment, prepared, progress, resume)
            print(begin, flush=True)
        how_parted = prepared.task.how_parted(prepared.splits)
        folder.begin(experiment, prepared.tokenizer, how_parted)
        _train(folder, experiment, prepared, optimizer, progress, quiet)
    return folder.path


def _train(
    folder: RunFolder,
    experiment: Experiment,
    prepared: Prepared,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    quiet: bool,
) -> None:
    """Fit the model, with everything that goes on around it."""
    with (
        Recorder(folder, experiment, prepared, progress, quiet) as recorder,
        StopSignal(recorder.say) as stop,
        faster_layers(prepared.model),
    ):
        kept = Retention(
            folder.checkpoints,
            experiment,
            prepared,
            optimizer,
            recorder.flush,
        )
        around = _Around(experiment, prepared, recorder, kept, stop)
        fit(
            prepared.model,
            optimizer,
            prepared.batches,
            experiment.train,
            progress,
            around.on_step,
            around.on_epoch,
            prepared.task.objective,
        )
        around.finish(progress)


@dataclass(frozen=True)
class _Around:
    """What happens after each step and each epoch, and at the end."""

    experiment: Experiment
    prepared: Prepared
    recorder: Recorder
    kept: Retention
    stop: StopSignal

    def on_step(self, progress: Progress, score: Score, rate: float) -> None:
        """Record a step; save now and then, and when asked to stop."""
        self.recorder.step(progress, score, rate)
        if self.stop.asked:
            self.kept.last(progress)
            raise Interrupted(
                f"stopped after step {progress.step}, and saved. Go on with "
                "the same command and --resume."
            )
        self.kept.after_step(progress)

    def on_epoch(self, progress: Progress, train: dict[str, float]) -> None:
        """Validate, show samples, keep the best and the last weights."""
        started = time.monotonic()
        found = self._validate()
        self.recorder.epoch(progress, train, found)
        self.recorder.not_training(time.monotonic() - started)
        self.kept.after_epoch(progress, found["quality"])

    def finish(self, progress: Progress) -> None:
        """Average the last epochs, and score the average too."""
        if epochs := self.kept.average(progress):
            self.recorder.average(progress, epochs, self._validate())
            self.kept.keep_average()

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
    if progress.epoch >= epochs:
        return f"{text}; all are done, a larger --train.epochs would go on"
    return f"{text}; going on after step {progress.step:,}"


def _restore(
    last: Path, model: nn.Module, optimizer, build: checkpoint.Build
) -> Progress:
    try:
        saved = checkpoint.load(last, build=build)
        if saved.resume is None:
            raise CheckpointError(f"{last} holds no state to go on from.")
        check_fit(model, weights_of(saved.model), last)
        model.load_state_dict(saved.model.state_dict())
        return restore(saved.resume, model, optimizer)
    except CheckpointError as error:
        raise CheckpointError(
            f"{error} A training goes on from {last} alone; if that cannot be "
            "put right, begin anew under another --name. The other "
            f"checkpoints in {last.parent} can still be used."
        ) from error
