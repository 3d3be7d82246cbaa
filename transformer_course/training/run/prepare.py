"""What a training needs, made from its settings."""

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from transformer_course.batches.pairs import Batches
from transformer_course.checks import from_dict
from transformer_course.data import own_text
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.errors import CheckpointError, ConfigError
from transformer_course.models.config import AnyModelConfig
from transformer_course.training import checkpoint
from transformer_course.training.config import DataConfig, Experiment
from transformer_course.training.loop import set_seed
from transformer_course.training.run.folder import find
from transformer_course.training.tasks.table import find_task
from transformer_course.training.tasks.task import Task


class Prepared(NamedTuple):
    """What a training needs, made from an experiment's settings."""

    tokenizer: Tokenizer | None
    """None where there is no text."""
    model: nn.Module
    """On the CPU, with its first weights."""
    batches: Batches
    """To learn from."""
    dev_batches: list
    """To choose checkpoints by."""
    splits: Any
    """What the batches were made of: train, dev, test."""
    task: Task
    """What is learned."""


def identified(
    experiment: Experiment, begun: dict[str, Any] | None = None
) -> Experiment:
    """The settings with the digests of what text stands in files.

    Args:
        experiment: the settings.
        begun: those of the run that goes on: its text is to be learned.

    Raises:
        CorpusError: a file cannot be read.
    """
    before = experiment.data
    if begun:
        before = from_dict(DataConfig, begun["data"])
    found = {}
    for files, sha256 in (("files", "sha256"), ("more", "more_sha256")):
        named = getattr(experiment.data, files)
        if named is not None and getattr(experiment.data, sha256) is None:
            known = getattr(before, sha256)
            found[sha256] = known or own_text.digests(named)
    data = dataclasses.replace(experiment.data, **found)
    return dataclasses.replace(experiment, data=data)


def prepare(
    experiment: Experiment,
    tokenizer: Tokenizer | None = None,
    output_dir: Path = Path("outputs"),
    resumed: bool = False,
    build: checkpoint.Build = checkpoint.build,
) -> Prepared:
    """Corpus → tokenizer → batches and a model with its first weights.

    The weights are made on the CPU from the seed, so that they are the same
    on every device.

    Args:
        experiment: the settings.
        tokenizer: a trained one; when None that of the checkpoint which the
            training starts from, or one learned from the training text.
        output_dir: where what the training starts from is looked for first.
        resumed: the weights will come from the run itself, so that what it
            once started from need not be there any more.
        build: from a config to the model, with its first weights.

    Raises:
        ConfigError: settings that do not go together; a model for which the
            memory is too small.
        CorpusError: the corpus cannot be had.
        CheckpointError: what the training starts from cannot be used.
    """
    task, train = find_task(experiment.task), experiment.train
    task.check(experiment)
    start = None
    if train.start_from is not None and not resumed:
        start = _start(train.start_from, output_dir)
    splits = task.load(experiment.data)
    if tokenizer is None and start:
        tokenizer = start.tokenizer
    if tokenizer is None:
        tokenizer = task.learn_tokenizer(experiment, splits.train)
        _check_needed(start, tokenizer, train.start_from)
    config = task.sized(experiment.model, tokenizer)
    _check_memory(config, build)
    set_seed(train.seed)
    model = build(config)
    if start:
        _begin_with(task, model, start, train.start_from)
    return Prepared(
        tokenizer,
        model,
        task.batches(experiment, tokenizer, splits.train),
        task.scored_batches(config, tokenizer, splits.dev),
        splits,
        task,
    )


class _NoInitialization(TorchFunctionMode):
    """Skip drawing the weights: on the meta device, torch would import its
    compiler for it, which takes two seconds."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is nn.init.normal_:
            return kwargs["tensor"]
        return function(*args, **kwargs)


def _check_memory(config: AnyModelConfig, build: checkpoint.Build) -> None:
    """Raise a ConfigError if the model cannot be trained in the free memory.

    Each weight has a gradient and two moments of Adam beside it.
    """
    try:
        with torch.device("meta"), _NoInitialization():
            model = build(config)
    except (OverflowError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(
            f"no model can be made with these sizes ({reason}): choose "
            "smaller ones."
        ) from error
    needed = 4 * sum(p.nbytes for p in model.parameters())
    free = psutil.virtual_memory().available
    if needed > free:
        raise ConfigError(
            f"training the model takes {needed / 1e9:,.1f} GB of memory, of "
            f"which {free / 1e9:,.1f} are free: choose a smaller one."
        )


def _start(named: str, output_dir: Path) -> checkpoint.Checkpoint:
    """The checkpoint that a training starts from.

    A name is looked for among the runs first. Where none has it, it is taken
    as any command takes it: as a folder, or as a model that comes with the
    course.

    Raises:
        CheckpointError: there is none, in which case how to make one is
            said; or it is damaged.
    """
    folder, where = Path(named), ""
    if folder.name == named:
        where = f", and {output_dir} has none of that name"
        if (output_dir / named).exists():
            folder, where = output_dir / named, ""
    try:
        chosen = find(folder)
    except CheckpointError as error:
        raise CheckpointError(
            f"{error} The training was to start from there{where}: train that "
            f"model first (transformer-course train {folder.name}, if there "
            "is such a preset), name another folder by --train.start-from, or "
            "begin anew, under another --name, with --train.start-from None."
        ) from error
    return checkpoint.load(chosen)


def _check_needed(
    start: checkpoint.Checkpoint | None,
    learned: Tokenizer | None,
    named: str | None,
) -> None:
    """See that no start without a tokenizer goes on with a new one."""
    if start and learned:
        raise CheckpointError(
            f"{named} has no tokenizer.model: a training that starts from a "
            "checkpoint goes on with its tokenizer."
        )


def _begin_with(
    task: Task, model: nn.Module, start: checkpoint.Checkpoint, named: str
) -> None:
    """Copy the weights of another training into the model."""
    try:
        task.begin_with(model, start.model)
    except RuntimeError as error:
        raise ConfigError(
            f"the weights in {named} do not fit these settings: its model "
            f"is {start.model.config}. Give the same sizes."
        ) from error
