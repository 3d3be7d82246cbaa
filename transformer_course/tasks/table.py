"""The tasks there are, by name."""

from typing import Any

from transformer_course.config import AnyModelConfig
from transformer_course.data.corpora import find
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


def task_of(
    config: AnyModelConfig, details: dict[str, Any] | None = None
) -> Task:
    """The task that a model was trained for.

    Args:
        config: of the model.
        details: what its checkpoint says of the training. One from before
            tasks had names says its corpus, which with the model decides;
            where nothing is said, it is the first task with such models.

    Raises:
        ConfigError: there is no such task.
        CorpusError: the corpus is not known.
    """
    details = details or {}
    if "task" in details:
        return find_task(details["task"])
    corpus = find(details["corpus"]) if "corpus" in details else None
    for task in TASKS.values():
        if type(config) in task.models and (not corpus or task.takes(corpus)):
            return task
    on = f" on {corpus.name}" if corpus else ""
    raise ConfigError(f"no task trains a {type(config).__name__}{on}.")
