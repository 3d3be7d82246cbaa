"""A training from its first step, or its last checkpoint, to its end."""

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from torch import nn

from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import Record
from transformer_course.console import log
from transformer_course.device import pick_device
from transformer_course.errors import CheckpointError, ConfigError, Interrupted
from transformer_course.training import distributed
from transformer_course.training.config import Experiment
from transformer_course.training.loop import (
    Progress,
    evaluate,
    fit,
    make_optimizer,
    restore,
    warmup_steps,
)
from transformer_course.training.loss import LossSums
from transformer_course.training.run.checkpoints import Checkpoints
from transformer_course.training.run.folder import RunFolder
from transformer_course.training.run.prepare import (
    Prepared,
    complete,
    prepare,
)
from transformer_course.training.run.recorder import Recorder
from transformer_course.training.run.stopping import StopSignal
from transformer_course.training.tasks.task import selection_value


def run(
    experiment: Experiment,
    output_dir: Path = Path("outputs"),
    resume: bool = False,
    quiet: bool = False,
    build: checkpoint.Build = checkpoint.build,
    optimize: Callable[[nn.Module], nn.Module] | None = None,
    losses: Mapping[Callable, Callable] | None = None,
) -> Path:
    """Train an experiment in ``output_dir/NAME``, or resume it.

    Under ``torchrun``, every process calls this; the main one alone writes and
    prints.

    Args:
        experiment: the settings.
        output_dir: the run's folder is made in here; ``start_from`` is looked
            for here too.
        resume: continue a run that was stopped.
        quiet: print nothing.
        build: makes the model from its config.
        optimize: changes its layers, such as :func:`~.optimize.optimize`.
        losses: what takes the place of a task's loss, such as
            :data:`~.chunked_loss.LESS_MEMORY`.

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
    with (
        distributed.process_group(device) as device,
        contextlib.ExitStack() as stack,
    ):
        main = distributed.rank() == 0
        if not main:
            quiet = True
            nowhere = stack.enter_context(open(os.devnull, "w"))
            stack.enter_context(contextlib.redirect_stderr(nowhere))
        begun = folder.settings() if folder.begun else None
        experiment = complete(experiment, begun)
        folder.check(experiment, resume)
        if not quiet:
            log(f"{folder.path}: preparing ...")
        tokenizer = None
        if resume:
            tokenizer = checkpoint.load_tokenizer(folder.path)
        resumed = resume and folder.has_last
        prepared = prepare(experiment, tokenizer, output_dir, resumed, build)
        task, train = prepared.task, experiment.train
        loss_fn = partial(
            (losses or {}).get(task.loss, task.loss), config=experiment.loss
        )
        model = prepared.model.to(device)
        if optimize:
            model = optimize(model)
        optimizer = make_optimizer(model, train)
        progress = Progress()
        if resumed:
            last = folder.checkpoints / "last"
            progress = _restore(last, model, optimizer, build)
            _check_epochs(folder, experiment, progress)
        distributed.wait()  # all have read the folder
        if not quiet:
            text = _beginning(folder, experiment, prepared, progress, resume)
            print(text, flush=True)
        stop = StopSignal(quiet)
        if main:
            stack.enter_context(folder.locked())
            folder.check(experiment, resume)  # nobody has begun it meanwhile
            split = getattr(prepared.splits, "how", "")
            folder.begin(experiment, prepared.tokenizer, split)
            steps = train.epochs * len(prepared.batches)
            recorder = Recorder(folder, steps, progress, quiet)
            stack.enter_context(recorder)
        checkpoints = Checkpoints(
            folder.checkpoints, experiment, prepared, optimizer
        )
        distributed.seed_per_rank()
        stack.enter_context(stop)

        def on_step(progress: Progress, sums: LossSums, rate: float) -> None:
            if main:
                recorder.step(progress, sums, rate)
            stopped = distributed.any_process(stop.asked)
            if main and (stopped or progress.step % train.save_every == 0):
                recorder.flush()
                checkpoints.save_last(progress)
            if stopped:
                # torchrun ends all processes as soon as one has left
                distributed.wait()
                raise Interrupted(
                    f"stopped after step {progress.step}, and saved. Go on "
                    "with the same command and --resume."
                )

        def on_epoch(progress: Progress, means: dict[str, float]) -> None:
            if main:
                started = time.monotonic()
                record = {"kind": "epoch", "epoch": progress.epoch}
                record |= {"step": progress.step}
                record |= {f"train_{k}": v for k, v in means.items()}
                if hasattr(prepared.batches, "padding_share"):
                    record["padding_share"] = prepared.batches.padding_share
                value = validate(f"epoch {progress.epoch}", record)
                checkpoints.save_epoch(progress, value)
                recorder.exclude(time.monotonic() - started)
            distributed.wait()

        def validate(title: str, record: Record) -> float:
            found = evaluate(model, prepared.dev_batches, loss_fn)
            text = prepared.tokenizer, prepared.splits.dev
            metrics = found | task.metrics(model, *text, found)
            value = selection_value(task, metrics)
            record |= {f"dev_{k}": v for k, v in metrics.items()}
            record |= {"selection_metric": value}
            recorder.validation(title, record, task.samples(model, *text))
            recorder.flush()
            return value

        fit(
            model,
            optimizer,
            prepared.batches,
            train,
            progress,
            on_step,
            on_epoch,
            distributed.data_parallel(model, loss_fn),
        )
        if main and (epochs := checkpoints.average(progress)):
            record = {"kind": "average", "epochs": epochs}
            validate("average", record | {"step": progress.step})
            checkpoints.save("average")
    return folder.path


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
    train, steps = experiment.train, len(prepared.batches)
    epochs, warmup = train.epochs, warmup_steps(train, train.epochs * steps)
    rate = f"{train.peak_rate:g}" if train.peak_rate else "the paper's"
    text = (
        f"{folder.path}: {weights:,} weights on {device}, "
        f"{len(prepared.splits.train):,} {prepared.task.examples}, "
        f"{epochs} epochs of {steps:,} steps, peak rate {rate} after "
        f"{warmup:,} steps, then {train.schedule}"
    )
    if warmup > epochs * steps:
        text += "; that is never: --train.warmup 0.1 reaches it after a tenth"
    if not resume:
        return text
    if progress.epoch < epochs:
        return f"{text}; going on after step {progress.step:,}"
    if train.fixed_end:
        return f"{text}; all are done"
    return f"{text}; all are done, a larger --train.epochs would go on"


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
