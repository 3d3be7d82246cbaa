"""The exercises that a learner has done, in a file of the learner's own."""

import json
import os
from datetime import date
from pathlib import Path

from course_exercises.names import NAMES
from transformer_course import files
from transformer_course.errors import CourseError

FOLDER = "my_exercises"
FILE = "progress.json"
FORMAT = 1


class ProgressError(CourseError):
    """The file cannot be read or written."""


def find_file(folder: Path | None = None) -> Path:
    """The file of progress, beside the notebooks.

    Args:
        folder: where the notebooks are. Left out: ``my_exercises``, if it is
            in the working folder, else the working folder itself.

    Raises:
        ProgressError: there is no such folder.
    """
    if folder is None:
        below = Path.cwd() / FOLDER
        folder = below if below.is_dir() else Path.cwd()
    if not os.path.isdir(folder):
        raise ProgressError(
            f"there is no folder {folder}: give the one that holds your "
            "notebooks of exercises."
        )
    return folder / FILE


def read(path: Path) -> dict[str, str]:
    """The exercises done, each with the day; none if there is no file.

    Raises:
        ProgressError: the file is there, but cannot be understood. It is
            left as it is.
    """
    try:
        content = files.read_json(path)
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']}, not {FORMAT}")
        done = content["done"]
        if not all(isinstance(day, str) for day in done.values()):
            raise ValueError("a day that is no text")
        return dict(done)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise ProgressError(
            f"{path} should hold your progress, but cannot be read "
            f"({type(error).__name__}: {error}). It was left as it is: mend "
            "it, or rename it; then run your checks again, which writes a "
            "new one."
        ) from error


def record(name: str, path: Path) -> None:
    """Write down that an exercise is done; the first day stays.

    Raises:
        ProgressError: the file cannot be understood, or not be written.
    """
    done = read(path)
    if name in done:
        return
    done[name] = date.today().isoformat()
    text = json.dumps({"format": FORMAT, "done": done}, indent=2)
    try:
        files.write_whole(path, text + "\n")
    except OSError as error:
        raise ProgressError(
            f"{path} could not be written ({error.strerror}): this exercise "
            "was not noted as done."
        ) from error


def overview(path: Path) -> str:
    """The exercises of each chapter, those done marked.

    Raises:
        ProgressError: the file cannot be understood.
    """
    done = read(path)
    lines = []
    for chapter, names in NAMES.items():
        lines.append(_title(chapter))
        for name in names:
            lines.append(f"    {name:32}{'done' if name in done else '-'}")
    names = [name for part in NAMES.values() for name in part]
    count = sum(name in done for name in names)
    return "\n".join([*lines, f"{count} of {len(names)} exercises done"])


def _title(chapter: str) -> str:
    """``06_masks`` as it is read: chapter 06, masks."""
    number, _, name = chapter.partition("_")
    return f"{number} {name.replace('_', ' ')}"
