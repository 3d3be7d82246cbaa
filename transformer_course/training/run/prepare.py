"""Data, model and batches of a training, made from its settings."""

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from transformer_course.batches.pairs import Batches
from transformer_course.checkpoints import checkpoint, pretrained
from transformer_course.checkpoints.find import find
from transformer_course.checks import from_dict
from transformer_course.data import own_text
from transformer_course.data.config import DataConfig
from transformer_course.data.corpora import corpus_of
from transformer_course.data.tokenizer import AnyTokenizer
from transformer_course.errors import CheckpointError, ConfigError
from transformer_course.models.bert import TextClassifier
from transformer_course.models.config import AnyModelConfig
from transformer_course.training.config import Experiment
from transformer_course.training.loop import set_seed
from transformer_course.training.tasks.table import find_task
from transformer_course.training.tasks.task import Task, check


class Prepared(NamedTuple):
    """Data, model and batches of a training."""

    tokenizer: AnyTokenizer | None
    """None where there is no text."""
    model: nn.Module
    """On the CPU, with its first weights."""
    batches: Batches
    """Of the training split."""
    dev_batches: list
    """Of the development split, in order."""
    splits: Any
    """train, dev, test."""
    task: Task


def complete(
    experiment: Experiment, begun: dict[str, Any] | None = None
) -> Experiment:
    """The settings with the corpus's languages, the files' sha256, classes.

    Args:
        experiment: the settings.
        begun: settings of the run that is resumed, whose digests are kept.

    Raises:
        CorpusError: no such corpus, or a file cannot be read.
    """
    data = experiment.data
    before = from_dict(DataConfig, begun["data"]) if begun else data
    task, found = find_task(experiment.task), {}
    if data.files is None or task.languages == 2:
        found["src"], found["tgt"] = corpus_of(data).direction(
            data.src, data.tgt
        )
    for files, sha256 in (("files", "sha256"), ("more", "more_sha256")):
        named = getattr(data, files)
        if named is not None and getattr(data, sha256) is None:
            known = getattr(before, sha256)
            found[sha256] = known or own_text.digests(named)
    data = dataclasses.replace(data, **found)
    return task.fitted(dataclasses.replace(experiment, data=data))


def prepare(
    experiment: Experiment,
    tokenizer: AnyTokenizer | None = None,
    output_dir: Path = Path("outputs"),
    resumed: bool = False,
    build: checkpoint.Build = checkpoint.build,
) -> Prepared:
    """Load the data, and build batches and a model with its first weights.

    The weights are drawn on the CPU from the seed, so that they are the same
    on every device.

    Args:
        experiment: the settings.
        tokenizer: a trained one; when None that of the checkpoint which the
            training starts from, or one trained on the training split.
        output_dir: where ``start_from`` is looked for first.
        resumed: the weights will come from the run itself: do not read
            ``start_from``, which may be gone.
        build: makes the model from its config.

    Raises:
        ConfigError: settings that do not go together.
        CorpusError: the corpus cannot be had.
        CheckpointError: ``start_from`` cannot be used.
    """
    task, train = find_task(experiment.task), experiment.train
    check(task, experiment)
    start = None
    if train.start_from is not None and not resumed:
        start = find_start(train.start_from, output_dir)
        tokenizer = tokenizer or start.tokenizer
    splits = task.load(experiment.data)
    found, batches = task.prepare(experiment, splits.train, tokenizer)
    if start and found is not tokenizer:
        raise CheckpointError(
            f"{train.start_from} has neither tokenizer.model nor vocab.txt: "
            "a training that starts from a checkpoint goes on with its "
            "tokenizer."
        )
    config = sized(experiment.model, found)
    set_seed(train.seed)
    model = build(config)
    if start:
        try:
            init_from(model, start.weights)
        except RuntimeError as error:
            raise ConfigError(
                f"the weights in {train.start_from} do not fit: they are of "
                f"{start.config}, and this training makes {config}. Train a "
                "model of the same kind and sizes; --from takes all sizes "
                "that both have."
            ) from error
    dev_batches = task.eval_batches(config, found, splits.dev)
    return Prepared(found, model, batches, dev_batches, splits, task)


def sized(
    config: AnyModelConfig, tokenizer: AnyTokenizer | None
) -> AnyModelConfig:
    """The config with the size of the vocabulary, if there is one."""
    if tokenizer is None:
        return config
    return dataclasses.replace(config, vocab_size=tokenizer.vocab_size)


def init_from(model: nn.Module, weights: checkpoint.Tensors) -> None:
    """Copy the weights of another model.

    A text classifier takes a whole encoder, and what there is of its own
    pooler and its map to classes; the rest of these it keeps.

    Raises:
        RuntimeError: the weights do not fit.
    """
    if isinstance(model, TextClassifier):
        own = model.state_dict()
        head = {k: v for k, v in own.items() if not k.startswith("bert.")}
        weights = head | {
            k: v
            for k, v in weights.items()
            if k in head or k.startswith("bert.")
        }
    model.load_state_dict(weights)


def find_start(name: str, output_dir: Path) -> pretrained.Start:
    """What a training starts from.

    A run of this name in ``output_dir``; where there is none, a folder with a
    run, a checkpoint or a published BERT, or a model that has a name.

    Raises:
        CheckpointError: there is none, or it is damaged.
    """
    folder, where = Path(name), ""
    if folder.name == name:
        where = f", and {output_dir} has none of that name"
        if (output_dir / name).exists():
            folder, where = output_dir / name, ""
    try:
        return pretrained.read_start(find(folder))
    except CheckpointError as error:
        raise CheckpointError(
            f"{error} The training was to start from there{where}: train that "
            f"model first (transformer-course train {folder.name}, if there "
            "is such a preset), name another folder by --train.start-from, or "
            "begin anew, under another --name, with --train.start-from None."
        ) from error
