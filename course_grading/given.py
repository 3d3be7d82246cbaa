"""The folder of the course that a student's code sees when it is marked.

It has what hands an answer over and tries it, an empty ``check``, and the
course's answers to *other* chapters that the assignment imports: nothing
that the student is to write.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from nbformat import NotebookNode

import course_exercises
from course_exercises.path import parts
from course_grading import run

PROGRAM = "run.py"
"""The program that runs a notebook."""
CHECK = '''"""Functions of exercise notebooks, which answer nothing here."""


def check(*_): ...


def hint(*_): ...


def solution(*_): ...


def progress(): ...


def without_solutions(): ...
'''
IMPORT = re.compile(
    r"^from (course_exercises\.catalogue\.[\w.]+) import \(?\s*(\w+)", re.M
)


@contextmanager
def course_folder(release: NotebookNode) -> Iterator[Path]:
    """Make the folder for one assignment, and remove it in the end.

    Args:
        release: the notebook that students got, not what came back: what it
            imports of the exercises is given with solutions.
    """
    with TemporaryDirectory(prefix="grading-") as name:
        folder = Path(name)
        package = folder / "course_exercises"
        (package / "catalogue").mkdir(parents=True)
        candidate = Path(course_exercises.__file__).parent / "candidate"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(candidate, package / "candidate", ignore=ignored)
        shutil.copy(run.__file__, folder / PROGRAM)
        (package / "check.py").write_text(CHECK)
        code = (c.source for c in release.cells if c.cell_type == "code")
        for module, part in IMPORT.findall("\n".join(code)):
            path = folder / f"{module.replace('.', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_stand_in(part), encoding="utf-8")
        folder.chmod(0o755)  # another user may run the container
        yield folder


def _stand_in(name: str) -> str:
    """A module with the course's answer and all that it uses."""
    return parts.text_of((*parts.needs(name), name))
