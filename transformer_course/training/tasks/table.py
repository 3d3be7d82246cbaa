"""All tasks by name."""

from dataclasses import asdict
from typing import Any

from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.kinds import (
    find_task_kind,
    task_kind_of,
)
from transformer_course.checks import from_dict, require_fits
from transformer_course.data.config import DataConfig
from transformer_course.errors import ConfigError
from transformer_course.models.config import AnyModelConfig
from transformer_course.training.config import Experiment, LoopConfig
from transformer_course.training.tasks.classification import (
    ImageClassification,
    TextClassification,
)
from transformer_course.training.tasks.pre_training import PreTraining
from transformer_course.training.tasks.task import Task
from transformer_course.training.tasks.writing import (
    LanguageModelling,
    NextSentence,
    Translation,
)

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Translation(),
        NextSentence(),
        LanguageModelling(),
        ImageClassification(),
        TextClassification(),
        PreTraining(),
    )
}


def find_task(name: str) -> Task:
    """A task by its name.

    Raises:
        ConfigError: there is none; those there are are named.
    """
    return TASKS[find_task_kind(name).name]


def task_of(
    config: AnyModelConfig, details: dict[str, Any] | None = None
) -> Task:
    """The task that a model was trained for: see
    :func:`~.kinds.task_kind_of`."""
    return TASKS[task_kind_of(config, details).name]


def experiment_to_dict(experiment: Experiment) -> dict[str, Any]:
    """The settings of an experiment for JSON, the model's type among them."""
    model = checkpoint.config_to_dict(experiment.model)
    return asdict(experiment) | {"model": model}


def experiment_from_dict(settings: dict[str, Any]) -> Experiment:
    """The inverse of :func:`experiment_to_dict`.

    A setting that is not given has its default; other keys of the experiment
    itself, such as the machine, are left out.

    Raises:
        ConfigError: a part is missing, or a setting is unknown or has a value
            that it cannot have.
    """
    for part in ("name", "data", "model", "train", "task", "loss"):
        if part not in settings:
            raise ConfigError(
                f"these are not the settings of a training: {part} is not "
                "there."
            )
        kind = str if part in ("name", "task") else dict
        require_fits(part, settings[part], kind)
    task = find_task(settings["task"])
    return Experiment(
        settings["name"],
        from_dict(DataConfig, settings["data"]),
        checkpoint.config_from_dict(settings["model"]),
        from_dict(LoopConfig, settings["train"]),
        task.name,
        from_dict(task.loss_config, settings["loss"]),
    )
