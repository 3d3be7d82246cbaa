"""What a student's code does on the course's inputs.

This runs in the process of the student's code. It has the inputs and no
answer: neither the solution nor known mistakes, nor what is expected. It says
what happened, and judges nothing: results are compared elsewhere, where no
code of a student has been.
"""

import builtins
import dataclasses
import inspect
import linecache
import random
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any, BinaryIO

import cloudpickle
import torch

from course_exercises.engine.diagnose import outcomes
from course_exercises.engine.exercise import Case, Exercise, Implementation
from course_exercises.engine.outcome import Failure, Outcome
from course_exercises.engine.verdict import Verdict
from tools.grading import results

CELL = "<your cell>"
HELPERS = "<your other cells>"
CLOSED = ("transformer_course", "course_exercises", "tools")
"""Packages of which code gets no more than is there."""


@dataclass(frozen=True)
class Task:
    """An exercise as a student's code may see it."""

    name: str
    is_class: bool
    signature: inspect.Signature
    """Of the function, or of the class's ``forward``."""
    cases: Sequence[Case]
    run: Callable[[Implementation, Case], Any]
    """How an implementation is tried on a case."""
    modules: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the notebook gives of the course, by module and name."""
    names: dict[str, Any] = field(default_factory=dict)
    """What stands in the place of the student's own, by name."""

    def exercise(self) -> Exercise:
        """The exercise with a solution that does nothing."""
        return _Answerless(
            solution=self._hollow(),
            section="",
            points=0,
            hints=("", ""),
            cases=self.cases,
            draw=None,
            others=(),
            mistakes=(),
            run=self.run,
        )

    def _hollow(self) -> Implementation:
        def hollow(*args: Any, **kwargs: Any) -> None:
            raise NotImplementedError

        hollow.__name__ = hollow.__qualname__ = self.name
        hollow.__signature__ = self.signature
        if self.is_class:
            return type(self.name, (), {"forward": hollow})
        return hollow


class _Answerless(Exercise):
    """Its cases are all that is tried; nothing is drawn."""

    @property
    def tried(self) -> Sequence[Case]:
        """Every case."""
        return self.cases


class _Closed(MetaPathFinder):
    """Finds nothing of the course, and says so."""

    def find_spec(self, name: str, *_: Any) -> None:
        """Refuse the course's modules; leave all others to others."""
        if name.partition(".")[0] in CLOSED:
            raise ModuleNotFoundError(
                f"{name} is not there when marks are given: of the course, "
                "only what your notebook was handed out with",
                name=name,
            )


def prepare() -> None:
    """Make torch ready, and let code show things as a notebook does."""
    builtins.display = print
    torch.set_num_threads(1)
    torch.ones(2, 2).softmax(dim=-1)


def try_program(
    program: dict[str, Any],
    task: bytes,
    result: BinaryIO,
    starting: Callable[[int], None],
    printed: Callable[[], str],
) -> None:
    """Run a program, try what it defines, and write down what happened.

    Args:
        program: the text of its ``helpers`` and of its ``cell``.
        task: a :class:`Task`, as cloudpickle writes it.
        result: where to write it down.
        starting: told the number of each input before it is tried.
        printed: what the code has printed.
    """
    asked = cloudpickle.loads(task)
    _close(asked.modules)
    random.seed(0)

    def starting_anew(number: int) -> None:
        signal.alarm(0)  # one that was set for the input before
        starting(number)

    try:
        found = _tried(asked, program, starting_anew)
    except BaseException as error:  # an interrupt, say, that the code raises
        found = {"refused": type(error).__name__}
    signal.alarm(0)
    try:
        results.write(found | {"printed": printed()}, result)
    except Exception as error:  # such as results that are too large
        result.seek(0)
        result.truncate()
        results.write({"refused": type(error).__name__}, result)


def _close(modules: dict[str, dict[str, Any]]) -> None:
    """Let code import what is given, and no more of the course."""
    for name, content in modules.items():
        module = sys.modules[name] = ModuleType(name)
        vars(module).update(content)
        package, _, last = name.rpartition(".")
        setattr(import_module(package), last, module)
    sys.meta_path.insert(0, _Closed())


def _tried(
    task: Task, program: dict[str, Any], starting: Callable[[int], None]
) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "__main__"} | task.names
    error = _execute(HELPERS, "\n\n".join(program["helpers"]), space)
    error = _execute(CELL, program["cell"], space) or error
    candidate = space.get(task.name)
    if not callable(candidate):
        return {"top": error, "missing": True}
    found = outcomes(task.exercise(), candidate, starting)
    if isinstance(found, Verdict):
        return {"verdict": found.as_dict()}
    return {
        "outcomes": [as_plain(outcome) for outcome in found],
        "parameters": _parameters(candidate, task.cases[0]),
    }


def _parameters(
    candidate: Implementation, case: Case
) -> list[tuple[str, list[int]]] | None:
    """Names and shapes of a class's weights."""
    if not inspect.isclass(candidate):
        return None
    try:
        weights = candidate(*case.build).named_parameters()
        return [(name, list(weight.shape)) for name, weight in weights]
    except Exception:  # it cannot be built: its outcomes say so
        return None


def _execute(
    name: str, source: str, space: dict[str, Any]
) -> dict[str, Any] | None:
    """Run a cell; what it raised, if it did."""
    lines = source.splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    try:
        code = compile(source, name, "exec", dont_inherit=True)
        exec(code, space)
    except (Exception, SystemExit) as error:
        line = getattr(error, "lineno", None)
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == name:
                line = trace.tb_lineno
            trace = trace.tb_next
        text = linecache.getline(name, line or 0).strip()
        message = getattr(error, "msg", None) or str(error)
        return {
            "kind": type(error).__name__,
            "message": results.told(str(message)),
            "line": line,
            "source": results.told(text),
        }
    return None


def as_plain(outcome: Outcome) -> dict[str, Any]:
    """An outcome as results have it."""
    found = {
        field.name: getattr(outcome, field.name)
        for field in dataclasses.fields(outcome)
    }
    failures = {
        key: dataclasses.asdict(value)
        for key, value in found.items()
        if isinstance(value, Failure)
    }
    return found | failures


def from_plain(found: dict[str, Any]) -> Outcome:
    """The outcome again.

    Raises:
        Exception: of many kinds, if that is not what ``found`` is.
    """
    failures = {
        key: _failure(**found[key])
        for key in ("failure", "again_failure")
        if found[key] is not None
    }
    return Outcome(**found | failures)


def _failure(line: Any, **texts: Any) -> Failure:
    texts = {key: results.told(str(text)) for key, text in texts.items()}
    return Failure(line=line if isinstance(line, int) else None, **texts)
