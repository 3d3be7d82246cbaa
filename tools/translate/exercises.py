"""The texts of exercises and exams, which are translated as pages are.

Their names are those of the exercises, ``exercises/06_masks`` for what a
chapter's notebook says, ``answers/06_masks`` for its model answers,
``exercises/my_transformer`` for the head of the learner's file, and
``exams/06_masks`` for the exam questions. The Japanese stands beside the
English, in ``NAME.ja.md``.
"""

import inspect
import re
from functools import cache
from pathlib import Path

from docutils.nodes import make_id

from course_exercises.answers import SECTION
from course_exercises.contents import EXERCISES
from course_exercises.engine.exercise import stub_of
from course_exercises.engine.mistakes import source_lines
from course_exercises.language import docstrings_of
from course_exercises.names import ASSIGNMENTS
from tools.exercise_notebooks import Prose, find_sources, read_parts

EXAMS = Path(__file__).parents[1] / "exams/questions"
FILE = "exercises/my_transformer"


@cache
def files() -> dict[str, Path]:
    """The English files, by the names of their texts."""
    found = {name: exercise.texts for name, exercise in EXERCISES.items()}
    for path in find_sources():
        answers = ASSIGNMENTS / "answers" / path.name
        found[f"exercises/{path.stem}"] = path
        found |= {f"answers/{path.stem}": answers} if answers.exists() else {}
    for path in sorted(EXAMS.glob("[0-9]*.md")):
        if ".ja" not in path.suffixes:
            found[f"exams/{path.stem}"] = path
    return found | {FILE: ASSIGNMENTS.parent / "path/begin.py.txt"}


def pieces_of(name: str) -> dict[str, str]:
    """The English pieces of a file, by their names."""
    path = files()[name]
    if name == FILE:
        return docstrings(path.read_text("utf-8"))
    if name.startswith("answers/"):
        return dict(SECTION.findall(path.read_text("utf-8")))
    if name.startswith("exams/"):
        return {key: text.strip() for key, (text, _) in asked(path).items()}
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


def asked(path: Path) -> dict[str, tuple[str, str]]:
    """The title and the questions of an exam, each with its Numbers."""
    parts = re.split(r"^(?=## )", path.read_text("utf-8"), flags=re.M)
    return {
        make_id(part.partition("\n")[0]): part.partition("### Numbers\n")[::2]
        for part in parts
    }


def docstrings(source: str) -> dict[str, str]:
    """The docstrings of a source, without their indentation."""
    found = sorted(docstrings_of(source), key=lambda each: each[1].lineno)
    return {name: inspect.cleandoc(node.value) for name, node in found}


def labels_of(name: str) -> list[str]:
    """The notes of an exercise's cases, each once."""
    tried = EXERCISES[name].tried if name in EXERCISES else ()
    return list(dict.fromkeys(case.note for case in tried))
