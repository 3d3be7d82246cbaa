"""The tasks there are, by name."""

from transformer_course.config import AnyModelConfig
from transformer_course.errors import ConfigError
from transformer_course.tasks.language_modelling import LanguageModelling
from transformer_course.tasks.next_sentence import NextSentence
from transformer_course.tasks.task import Task
from transformer_course.tasks.translation import Translation

TASKS: dict[str, Task] = {
    task.name: task
    for task in (Translation(), NextSentence(), LanguageModelling())
}


def find_task(name: str) -> Task:
    """A task by its name.

    Raises:
        ConfigError: there is none; those there are are named.
    """
    if name not in TASKS:
        raise ConfigError(
            f"there is no task {name!r}; there are: {', '.join(TASKS)}."
        )
    return TASKS[name]


def task_of(config: AnyModelConfig) -> Task:
    """The first task that trains models of this kind: for a model that does
    not say what it was trained for.

    Raises:
        ConfigError: no task does.
    """
    for task in TASKS.values():
        if type(config) in task.models:
            return task
    raise ConfigError(f"no task trains a {type(config).__name__}.")
