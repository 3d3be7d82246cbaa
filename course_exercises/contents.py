"""All exercises, in the order of the chapters."""

from difflib import get_close_matches
from importlib import import_module

from course_exercises.engine.exercise import Exercise
from course_exercises.language import say
from course_exercises.names import MODULES
from transformer_course.errors import CourseError

EXERCISES: dict[str, Exercise] = {
    name: import_module(module).EXERCISE
    for modules in MODULES.values()
    for name, module in modules.items()
}
"""By name.

:meta hide-value:
"""


class NoSuchExercise(CourseError):
    """No exercise has this name."""


def find(name: str) -> Exercise:
    """Find an exercise by its name.

    Raises:
        NoSuchExercise: there is none.
    """
    if name not in EXERCISES:
        all_names = ", ".join(EXERCISES)
        near = say(" or ").join(get_close_matches(name, EXERCISES))
        raise NoSuchExercise(
            say("no exercise is called {name}. ", name=repr(name))
            + (
                say("Is it {near}? ", near=near)
                if near
                else say("There are: {names}. ", names=all_names)
            )
            + say(
                "Give the function itself, under the name that the exercise "
                "gave it."
            )
        )
    return EXERCISES[name]


def by_chapter() -> dict[str, list[Exercise]]:
    """List the exercises of each chapter."""
    return {
        chapter: [EXERCISES[name] for name in names]
        for chapter, names in MODULES.items()
    }
