"""All exercises, in the order of the chapters.

Whoever needs a single one imports its own file: this loads them all.
"""

import pkgutil
from difflib import get_close_matches
from importlib import import_module

from course_exercises import catalogue
from course_exercises.engine.exercise import Exercise
from transformer_course.errors import CourseError

SUBJECTS = [found.name for found in pkgutil.iter_modules(catalogue.__path__)]


def _exercises_on(subject: str) -> list[Exercise]:
    """The exercises of one folder."""
    folder = import_module(f"{catalogue.__name__}.{subject}")
    files = [
        import_module(f"{folder.__name__}.{found.name}")
        for found in pkgutil.iter_modules(folder.__path__)
    ]
    return [file.EXERCISE for file in files]


EXERCISES = {
    exercise.name: exercise
    for exercise in sorted(
        (one for subject in SUBJECTS for one in _exercises_on(subject)),
        key=lambda one: (one.chapter, one.place),
    )
}
"""By name.

:meta hide-value:
"""


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
