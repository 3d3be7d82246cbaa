"""nbgrader's course folder: release, autograde, feedback, results.

nbgrader's own steps do the work, with one of its preprocessors replaced: it
runs each notebook in a process, or a container, that sees nothing else of the
class.
"""

import logging
import os
import subprocess
import sys
import sysconfig
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat
import psutil
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.converters import Autograde
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from traitlets import Float, Unicode
from traitlets.config import Config

from course_exercises.engine.exercise import STUB
from course_grading.assignment import TEST
from course_grading.mark import MIME, PARTIAL
from course_grading.run import is_test
from course_grading.submissions import read_submission
from tools.exercise_notebooks import PLACE, ROOT
from transformer_course.errors import CourseError

COURSE = "transformer"
IMAGE = "transformer-grading"
NOTEBOOK_SECONDS = 1800
"""Seconds that all cells of one notebook may take."""
SETTINGS = '''\
"""nbgrader's settings for this course folder, written by `make grade`."""

import sys

sys.path.insert(0, {root!r})

from course_grading.course import settings

c = get_config()  # noqa: F821
c.merge(settings({folder!r}, {partial!r}, {container!r}))
'''


class GradingError(CourseError):
    """nbgrader could not do what it was asked for."""


class Isolated(NbGraderPreprocessor):
    """Runs a notebook in place of nbgrader's ``Execute``."""

    container = Unicode(help="docker or podman; else no container")
    container.tag(config=True)
    partial = Float(help="share of the points for a known misconception")
    partial.tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Add outputs. Nothing else of what ran is taken over."""
        outputs = run_isolated(nb, self.container, self.partial)
        for cell, found in zip(nb.cells, outputs, strict=True):
            if is_test(cell):
                errors = [o for o in found if o.output_type == "error"]
                found = [o for o in found if MIME in o.get("data", {})][:1]
                cell.outputs = found or errors or [_no_verdict()]
            elif cell.cell_type == "code":
                cell.outputs = found
        return nb, resources


def run_isolated(
    notebook: NotebookNode, container: str, partial: float
) -> list[list[NotebookNode]]:
    """Run a notebook in a process or a container of its own.

    Args:
        notebook: the one to run; it is not changed.
        container: ``docker`` or ``podman``; empty for a plain process, which
            has the rights of whoever grades.
        partial: share of the points for a known misconception.

    Returns:
        The outputs of each cell. All are empty if the notebook's code ended
        the process, or took longer than NOTEBOOK_SECONDS.

    Raises:
        GradingError: the process failed by no fault of the notebook.
    """
    name = f"grading-{uuid.uuid4().hex}"
    command = container_command(container, name, partial)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            command or [sys.executable, "-m", "course_grading.run"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=os.environ | {PARTIAL: str(partial), "PYTHONPATH": _path()},
            encoding="utf-8",
            errors="replace",
        )
        try:
            content = nbformat.writes(notebook)
            output, errors = process.communicate(content, NOTEBOOK_SECONDS)
        except subprocess.TimeoutExpired:
            return [[] for _ in notebook.cells]
        finally:
            _end(process)
            if command:
                subprocess.run([container, "kill", name], capture_output=True)
    if process.returncode < 0 or process.returncode > 128:  # by a signal
        return [[] for _ in notebook.cells]
    if process.returncode:
        reason = errors.strip()[-1000:]
        raise GradingError(f"{' '.join(process.args[:3])} failed: {reason}")
    cells = nbformat.reads(output, as_version=4).cells
    return [cell.get("outputs", []) for cell in cells]


def container_command(container: str, name: str, partial: float) -> list[str]:
    """The command that runs a container; empty without one.

    It has no network, nothing of this machine's files, and limits of memory
    and processes.
    """
    if not container:
        return []
    return [
        *(container, "run", "--rm", "--interactive", "--name", name),
        *("--network", "none", "--read-only", "--tmpfs", "/tmp"),
        *("--memory", "6g", "--memory-swap", "6g", "--pids-limit", "512"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *("--env", f"{PARTIAL}={partial}", IMAGE),
    ]


def require_image(container: str) -> None:
    """Check that a container can be started.

    Raises:
        GradingError: the engine does not run, or the image is not built.
    """
    command = [container, "image", "inspect", IMAGE]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise GradingError(
            f"{' '.join(command)} failed: {done.stderr.strip()}. Build the "
            'image first; "For lecturers" says how'
        )


def _end(process: subprocess.Popen) -> None:
    """Kill a process and all that it started."""
    with suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.Error):
                child.kill()
    process.kill()
    process.communicate()


def _path() -> str:
    """The import path of the process: this one's."""
    return os.pathsep.join(map(os.path.abspath, sys.path))


def _no_verdict() -> NotebookNode:
    text = "This test ended without a verdict: 0 points."
    return new_output(
        "error", ename="NoVerdict", evalue=text, traceback=[text]
    )


def settings(folder: str, partial: float = 0.0, container: str = "") -> Config:
    """nbgrader's settings.

    Args:
        folder: the course folder.
        partial: share of the points for a known misconception, 0 to 1.
        container: see :func:`run_isolated`.
    """
    config = Config()
    config.CourseDirectory.root = str(Path(folder).resolve())
    config.CourseDirectory.course_id = COURSE
    config.ClearSolutions.code_stub = {"python": STUB}
    config.ClearSolutions.text_stub = PLACE
    config.HTMLExporter.sanitize_html = True
    config.Isolated.partial = partial
    config.Isolated.container = container
    config.Autograde.autograde_preprocessors = [
        Isolated if step is Execute else step
        for step in Autograde.autograde_preprocessors.default()
    ]
    config.NbGraderAPI.log_level = logging.CRITICAL
    return config


@dataclass(frozen=True)
class Result:
    """The mark of one exercise or question of one student."""

    student: str
    cell: str
    """Name of the exercise or of the question."""
    points: float
    max_points: float
    needs_mark: bool
    """Whether a person has to mark it, or to look at it again."""
    verdict: dict[str, str] | None
    """Of an exercise; None for a question, or if the test gave none."""


class Course:
    """nbgrader's course folder.

    Args:
        folder: made if it is not there.
        partial: share of the points for a known misconception, 0 to 1.
        container: see :func:`run_isolated`.
    """

    def __init__(
        self, folder: Path, partial: float = 0.0, container: str = ""
    ):
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        text = SETTINGS.format(
            root=str(ROOT),
            folder=str(self.folder),
            partial=partial,
            container=container,
        )
        (self.folder / "nbgrader_config.py").write_text(text)
        scripts = sysconfig.get_path("scripts")  # nbgrader calls alembic
        os.environ["PATH"] = scripts + os.pathsep + os.environ.get("PATH", "")
        config = settings(str(self.folder), partial, container)
        self._api = NbGraderAPI(config=config)

    def notebook(self, step: str, name: str, student: str = "") -> Path:
        """Path of a notebook.

        Args:
            step: ``source``, ``release``, ``submitted`` or ``autograded``.
            name: the assignment's.
            student: empty for ``source`` and ``release``.
        """
        return self.folder / step / student / name / f"{name}.ipynb"

    def release(self, name: str, source: NotebookNode) -> Path:
        """Make the notebook that students get, from its source.

        Raises:
            GradingError: nbgrader refuses, such as when cells were added
                after submissions had been graded.
        """
        path = self.notebook("source", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(source, path)
        self._done(self._api.generate_assignment, name)
        return self.notebook("release", name)

    def submit(self, name: str, student: str, path: Path) -> None:
        """Put a student's file where nbgrader looks for it."""
        release = nbformat.read(self.notebook("release", name), as_version=4)
        target = self.notebook("submitted", name, student)
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(read_submission(path, release), target)
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        time = changed.strftime("%Y-%m-%d %H:%M:%S.%f UTC")
        (target.parent / "timestamp.txt").write_text(time)

    def autograde(self, name: str, student: str, again: bool = False) -> None:
        """Grade a submission that is new, or any if ``again``.

        Raises:
            GradingError: it could not be graded.
        """
        self._done(self._api.autograde, name, student, force=again)

    def feedback(self, name: str) -> None:
        """Write the feedback for every student who was graded.

        Raises:
            GradingError: it could not be written.
        """
        self._done(self._api.generate_feedback, name)

    def graded(self) -> list[str]:
        """Names of the assignments that somebody was graded for."""
        paths = self.folder.glob("autograded/*/*/*.ipynb")
        return sorted({path.stem for path in paths})

    def results(self, name: str) -> list[Result]:
        """All marks of an assignment, student by student."""
        results = []
        with self.gradebook() as book:
            for submission in book.assignment_submissions(name):
                student = submission.student.id
                path = self.notebook("autograded", name, student)
                if path.is_file():
                    verdicts = _verdicts(path)
                    results += [
                        Result(
                            student,
                            grade.name.removesuffix(TEST),
                            grade.score,
                            grade.max_score,
                            grade.needs_manual_grade,
                            verdicts.get(grade.name),
                        )
                        for grade in submission.notebooks[0].grades
                    ]
        return sorted(results, key=lambda result: result.student)

    @contextmanager
    def gradebook(self) -> Iterator[Gradebook]:
        """nbgrader's gradebook."""
        address = f"sqlite:///{self.folder / 'gradebook.db'}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Gradebook(address, COURSE) as book:
                yield book

    def _done(self, step: Any, name: str, *args: str, **options: bool) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = step(name, *args, **options)
        if not answer["success"]:
            what = " ".join((step.__name__, name, *args))
            raise GradingError(
                f"nbgrader: {what} failed:\n{answer.get('log', '').strip()}"
            )


def _verdicts(path: Path) -> dict[str, dict[str, str]]:
    """The verdicts in a graded notebook, by the name of the test cell."""
    found = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if is_test(cell):
            for output in cell.outputs:
                if verdict := output.get("data", {}).get(MIME):
                    found[cell.metadata.nbgrader.grade_id] = verdict
    return found
