"""All exercises, in the order of the chapters."""

from difflib import get_close_matches

from transformer_course.errors import CourseError
from transformer_course.exercises.catalogue import (
    add_and_norm,
    attention,
    evaluation,
    feed_forward,
    generation,
    masks,
    multi_head_attention,
    positional_encoding,
    score_functions,
    training,
    transformer,
)
from transformer_course.exercises.engine.exercise import Exercise

MODULES = (
    positional_encoding,
    attention,
    score_functions,
    masks,
    multi_head_attention,
    add_and_norm,
    feed_forward,
    transformer,
    training,
    generation,
    evaluation,
)
"""A module for each chapter that has exercises, in the order of the book."""

EXERCISES = {
    exercise.name: exercise
    for module in MODULES
    for exercise in module.EXERCISES
}


class NoSuchExercise(CourseError):
    """A name that no exercise has."""


def find(name: str) -> Exercise:
    """The exercise of this name.

    Raises:
        NoSuchExercise: there is none.
    """
    if name not in EXERCISES:
        all_names = ", ".join(EXERCISES)
        near = " or ".join(get_close_matches(name, EXERCISES))
        raise NoSuchExercise(
            f"no exercise is called {name!r}. "
            + (f"Is it {near}? " if near else f"There are: {all_names}. ")
            + "Give the function itself, under the name that the exercise "
            "gave it."
        )
    return EXERCISES[name]


def by_chapter() -> dict[str, list[Exercise]]:
    """The exercises of each chapter."""
    chapters: dict[str, list[Exercise]] = {}
    for exercise in EXERCISES.values():
        chapters.setdefault(exercise.chapter, []).append(exercise)
    return chapters
