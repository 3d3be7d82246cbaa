"""The exercises that a learner has done, in a file of the learner's own."""

import json
from datetime import date
from pathlib import Path

from course_exercises.language import say
from course_exercises.names import MODULES
from transformer_course import files
from transformer_course.errors import CourseError

FOLDER = "my_exercises"
FILE = "progress.json"


class ProgressError(CourseError):
    """The file cannot be read or written."""


def find_file() -> Path:
    """The file of progress: beside the notebooks.

    They are in ``my_exercises`` below the working folder, or else in the
    working folder itself.
    """
    below = Path.cwd() / FOLDER
    return (below if below.is_dir() else Path.cwd()) / FILE


def read(path: Path) -> dict[str, str]:
    """Read the exercises done and the day of each; none without a file.

    Raises:
        ProgressError: the file cannot be read. It is left as it is.
    """
    try:
        return dict(files.read_json(path)["done"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProgressError(
            f"{path} should hold your progress, but cannot be read "
            f"({type(error).__name__}: {error}). It was left as it is: mend "
            "it, or rename it; then run your checks again, which writes a "
            "new one."
        ) from error


def record(name: str, path: Path) -> None:
    """Note that an exercise is done; the first day stays.

    Raises:
        ProgressError: the file cannot be read or written.
    """
    done = {name: date.today().isoformat()} | read(path)
    try:
        text = json.dumps({"done": done}, indent=2)
        files.write_atomic(path, text + "\n")
    except OSError as error:
        raise ProgressError(
            f"{path} could not be written ({error.strerror}): this exercise "
            "was not noted as done."
        ) from error


def overview(path: Path) -> str:
    """List the exercises of each chapter, those done marked.

    Raises:
        ProgressError: the file cannot be read.
    """
    done = read(path)
    lines, names = [], []
    for chapter, modules in MODULES.items():
        number, _, title = chapter.partition("_")
        lines.append(f"{number} {title.replace('_', ' ')}")
        for name in modules:
            mark = say("done") if name in done else "-"
            lines.append(f"    {name:32}{mark}")
            names.append(name)
    count = sum(name in done for name in names)
    said = "{count} of {total} exercises done"
    lines.append(say(said, count=count, total=len(names)))
    return "\n".join(lines)
