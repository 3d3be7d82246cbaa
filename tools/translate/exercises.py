"""The texts of the exercises, which are translated as pages are.

Their names are those of the exercises, ``exercises/06_masks`` for what a
chapter's notebook says, ``answers/06_masks`` for its model answers, and
``exercises/my_transformer`` for the head of the learner's file. The Japanese
stands beside the English, in ``NAME.ja.md``.
"""

import inspect
from functools import cache
from pathlib import Path

from course_exercises.answers import SECTION
from course_exercises.contents import EXERCISES
from course_exercises.engine.exercise import stub_of
from course_exercises.engine.mistakes import source_lines
from course_exercises.language import docstrings_of
from course_exercises.names import ASSIGNMENTS
from tools.exercise_notebooks import Prose, find_sources, read_parts

FILE = "exercises/my_transformer"


@cache
def files() -> dict[str, Path]:
    """The English files, by the names of their texts."""
    found = {name: exercise.texts for name, exercise in EXERCISES.items()}
    for path in find_sources():
        answers = ASSIGNMENTS / "answers" / path.name
        found[f"exercises/{path.stem}"] = path
        found |= {f"answers/{path.stem}": answers} if answers.exists() else {}
    return found | {FILE: ASSIGNMENTS.parent / "path/begin.py.txt"}


def pieces_of(name: str) -> dict[str, str]:
    """The English pieces of a file, by their names."""
    path = files()[name]
    if name == FILE:
        return docstrings(path.read_text("utf-8"))
    if name.startswith("answers/"):
        return dict(SECTION.findall(path.read_text("utf-8")))
    if name.startswith("exercises/"):
        found = enumerate(read_parts(path))
        return {f"part-{n}": p.text for n, p in found if isinstance(p, Prose)}
    exercise = EXERCISES[name]
    source = "\n".join(source_lines(exercise.solution))
    hints = enumerate(exercise.hints, start=1)
    return (
        docstrings(stub_of(source))
        | {f"hint-{number}": hint for number, hint in hints}
        | {mistake.name: mistake.text for mistake in exercise.mistakes}
    )


def docstrings(source: str) -> dict[str, str]:
    """The docstrings of a source, without their indentation."""
    found = sorted(docstrings_of(source), key=lambda each: each[1].lineno)
    return {name: inspect.cleandoc(node.value) for name, node in found}


def labels_of(name: str) -> list[str]:
    """The notes of an exercise's cases, each once."""
    tried = EXERCISES[name].tried if name in EXERCISES else ()
    return list(dict.fromkeys(case.note for case in tried))
