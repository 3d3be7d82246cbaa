"""What goes to the process of a student's code: inputs, and no answer.

Functions that are part of an input, or that the notebook gives, are written
out themselves, as cloudpickle does it: there, nothing of the course has to be
imported.
"""

import ast
import inspect
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any

import cloudpickle

from course_exercises.engine.exercise import Exercise, Implementation
from tools.grading.assignment import AssignmentError, find_assignments
from tools.grading.attempt import Task

PACKAGE = "transformer_course"
THERE = "course_exercises.engine"
"""What both processes have: how something is tried."""


@cache
def packed(exercise: Exercise, replaced: tuple[Exercise, ...] = ()) -> bytes:
    """An exercise as a :class:`Task`, written by cloudpickle.

    Args:
        exercise: with all inputs that are to be tried.
        replaced: earlier ones, whose solutions stand in the place of what
            the student wrote.
    """
    solution = exercise.solution
    is_class = inspect.isclass(solution)
    task = Task(
        exercise.name,
        is_class,
        _bare_signature(solution.forward if is_class else solution),
        list(exercise.tried),
        exercise.run,
        given_modules(exercise.chapter),
        {other.name: other.solution for other in replaced},
    )
    return written(task, solution, *task.names.values())


def written(value: Any, *others: Implementation) -> bytes:
    """A value as cloudpickle writes it, with all that it uses of the course.

    Args:
        value: what is to be written.
        others: functions whose modules are written out too.
    """
    content = io.BytesIO()
    with _written_out(*others):
        _Writer(content).dump(value)
    return content.getvalue()


class _Writer(cloudpickle.Pickler):
    """Leaves out what the course's tests put around functions."""

    def reducer_override(self, value: Any) -> Any:
        """How a function is written: without checks of its annotations."""
        while _only_checks(value):
            value = value.__wrapped__
        return super().reducer_override(value)


def _only_checks(value: Any) -> bool:
    return (
        isinstance(value, FunctionType)
        and hasattr(value, "__wrapped__")
        and bool(re.search("jaxtyping|beartype", value.__code__.co_filename))
    )


def _bare_signature(function: Implementation) -> inspect.Signature:
    """Parameters and what they are if left out; no annotations."""
    parameters = inspect.signature(function).parameters.values()
    return inspect.Signature(
        [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    )


@cache
def given_modules(chapter: str) -> dict[str, dict[str, Any]]:
    """What a chapter's notebook imports of the package, by module and name.

    Checks, hints and solutions are not among it.
    """
    try:
        (assignment,) = find_assignments([chapter])
    except AssignmentError:  # a variant of a lecturer's own
        return {}
    given: dict[str, dict[str, Any]] = {}
    for node in ast.walk(ast.parse("\n\n".join(assignment.given))):
        if isinstance(node, ast.ImportFrom) and _is_given(node.module or ""):
            module = import_module(node.module)
            given.setdefault(node.module, {}).update(
                {
                    alias.name: getattr(module, alias.name)
                    for alias in node.names
                }
            )
    return given


def _is_given(module: str) -> bool:
    return module.startswith(f"{PACKAGE}.")


@contextmanager
def _written_out(*values: Any) -> Iterator[None]:
    """Let cloudpickle write out what stands in the course's modules."""
    names = {value.__module__ for value in values}
    names |= {name for name in sys.modules if _is_not_there(name)}
    for name in names:
        cloudpickle.register_pickle_by_value(sys.modules[name])
    try:
        yield
    finally:
        for name in names:
            cloudpickle.unregister_pickle_by_value(sys.modules[name])


def _is_not_there(name: str) -> bool:
    """Whether a module of the course is missing in the other process."""
    of_course = name.startswith((f"{PACKAGE}.", "course_exercises."))
    return of_course and not name.startswith(THERE)
