"""A training from its first step, or its last checkpoint, to its end."""

import contextlib
import time
from pathlib import Path

from torch import nn

from transformer_course.console import log
from transformer_course.device import pick_device
from transformer_course.errors import CheckpointError, ConfigError, Interrupted
from transformer_course.models.optimize import optimize
from transformer_course.training import checkpoint, distributed
from transformer_course.training.config import Experiment
from transformer_course.training.loop import (
    Progress,
    evaluate,
    fit,
    make_optimizer,
    restore,
)
from transformer_course.training.loss import LossSums
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
) -> Path:
    """Train an experiment in ``output_dir/NAME``, or resume it.

    Under ``torchrun``, every process calls this; the main one alone writes.

    Args:
        experiment: the settings.
        output_dir: the run's folder is made in here; what the training
            starts from is looked for here too.
        resume: continue a run that was stopped.
        quiet: print nothing.
        build: makes the model from its config.

    Returns:
        The folder.

    Raises:
        CorpusError: the text cannot be had, or is not that which a run
            began with.
        ConfigError: the folder holds a run already, or other files (without
            ``resume``), or a run with other settings (with it); settings
            that do not go together.
        CheckpointError: nothing to resume, or a checkpoint that could not be
            read or written.
        DivergedError: the loss is not a number any more; the checkpoints
            from before that are complete.
        Interrupted: Ctrl-C; the state has been saved.
    """
    folder = RunFolder(Path(output_dir) / experiment.name)
    device = pick_device(experiment.train.device)
    with distributed.process_group(device) as device, folder.writing():
        main = distributed.is_main_process()
        quiet = quiet or not main
        begun = folder.settings() if folder.begun else None
        experiment = identified(experiment, begun)
        folder.check(experiment, resume)
        if not quiet:
            log(f"{folder.path}: preparing ...")
        tokenizer = folder.load_tokenizer() if resume else None
        resumed = resume and folder.has_last
        prepared = prepare(experiment, tokenizer, output_dir, resumed, build)
        model = optimize(prepared.model.to(device))
        optimizer = make_optimizer(model, experiment.train)
        progress = Progress()
        if resumed:
            last = folder.checkpoints / "last"
            progress = _restore(last, model, optimizer, build)
            _check_epochs(folder, experiment, progress)
        distributed.wait()  # all have read the folder
        if not quiet:
            text = _beginning(folder, experiment, prepared, progress, resume)
            print(text, flush=True)
        if main:
            split = prepared.task.how_parted(prepared.splits)
            folder.begin(experiment, prepared.tokenizer, split)
        distributed.seed_per_rank()
        kept = Retention(folder.checkpoints, experiment, prepared, optimizer)
        with contextlib.ExitStack() as stack:
            recorder = None
            if main:
                recorder = Recorder(
                    folder, experiment, prepared, progress, quiet
                )
                stack.enter_context(recorder)
            stop = StopSignal(recorder.say if recorder else None)
            stack.enter_context(stop)

            def on_step(
                progress: Progress, sums: LossSums, rate: float
            ) -> None:
                if main:
                    recorder.step(progress, sums, rate)
                stopped = distributed.any_process(stop.asked)
                save = progress.step % experiment.train.save_every == 0
                if main and (save or stopped):
                    recorder.flush()
                    kept.last(progress)
                if stopped:
                    # torchrun ends all processes as soon as one has left
                    distributed.wait()
                    raise Interrupted(
                        f"stopped after step {progress.step}, and saved. Go "
                        "on with the same command and --resume."
                    )

            def on_epoch(progress: Progress, means: dict[str, float]) -> None:
                if main:
                    started = time.monotonic()
                    found = _validate(prepared, experiment)
                    recorder.epoch(progress, means, found)
                    recorder.not_training(time.monotonic() - started)
                    recorder.flush()
                    kept.after_epoch(progress, found["quality"])
                distributed.wait()

            fit(
                model,
                optimizer,
                prepared.batches,
                experiment.train,
                progress,
                on_step,
                on_epoch,
                distributed.data_parallel(model, prepared.task.loss),
            )
            if main and (epochs := kept.average(progress)):
                found = _validate(prepared, experiment)
                recorder.average(progress, epochs, found)
                kept.keep_average()
    return folder.path


def _validate(prepared: Prepared, experiment: Experiment) -> Record:
    """Scores on the development set, and samples."""
    task, model = prepared.task, prepared.model
    text = prepared.tokenizer, prepared.splits.dev
    means = evaluate(model, prepared.dev_batches, experiment.train, task.loss)
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
    """The first line of output: what is trained, and from which step."""
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
    """Raise a ConfigError if a run has had more epochs than are asked for."""
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
    """Load the weights and the state of the training."""
    try:
        saved = checkpoint.load(last, build=build)
        if saved.resume is None:
            raise CheckpointError(f"{last} holds no state to go on from.")
        checkpoint.fill(model, checkpoint.weights_of(saved.model), last)
        return restore(saved.resume, model, optimizer)
    except CheckpointError as error:
        raise CheckpointError(
            f"{error} A training goes on from {last} alone; if that cannot be "
            "put right, begin anew under another --name. The other "
            f"checkpoints in {last.parent} can still be used."
        ) from error
