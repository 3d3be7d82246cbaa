"""What a student's code does on the course's inputs.

This runs in the process of the student's code. It says what happened, and
judges nothing: results are compared elsewhere, where no code of a student has
been.
"""

import dataclasses
import linecache
from collections.abc import Callable
from typing import Any, BinaryIO

import torch
from torch import Tensor

from transformer_course.exercises import catalogue
from transformer_course.exercises.engine.diagnose import outcomes
from transformer_course.exercises.engine.exercise import (
    Exercise,
    Implementation,
    build_and_call,
)
from transformer_course.exercises.engine.outcome import Failure, Outcome
from transformer_course.exercises.engine.slips import wrong_parameters
from transformer_course.exercises.engine.verdict import Verdict

CELL = "<your cell>"
HELPERS = "<your other cells>"


def try_program(
    request: dict[str, Any],
    result: BinaryIO,
    starting: Callable[[int], None],
    printed: Callable[[], str],
) -> None:
    """Run a program, try what it defines, and write down what happened.

    Args:
        request: as the runner gets it.
        result: where to write it down.
        starting: told the number of each input before it is tried.
        printed: what the code has printed.
    """
    exercise = catalogue.find(request["exercise"])
    exercise = exercise.with_more(request["seed"], request["drawn"])
    try:
        found = _tried(exercise, request["program"], starting)
    except BaseException as error:  # an interrupt, say, that the code raises
        found = {"refused": type(error).__name__}
    torch.save(found | {"printed": printed()}, result)
    result.flush()


def _tried(
    exercise: Exercise,
    program: dict[str, Any],
    starting: Callable[[int], None],
) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "__main__"}
    error = _execute(HELPERS, "\n\n".join(program["helpers"]), space)
    error = _execute(CELL, program["cell"], space) or error
    candidate = space.get(exercise.name)
    if not callable(candidate):
        return {"top": error, "missing": True}
    found = outcomes(exercise, candidate, starting)
    if isinstance(found, Verdict):
        return {"verdict": found.as_dict()}
    return {
        "outcomes": [as_plain(outcome) for outcome in found],
        "slip": _parameters(exercise, candidate),
    }


def _parameters(
    exercise: Exercise, candidate: Implementation
) -> dict[str, str] | None:
    """Whether a class has other parameters than it was given."""
    if exercise.run is not build_and_call:
        return None
    try:
        slip = wrong_parameters(
            candidate, exercise.solution, exercise.tried[0]
        )
    except Exception:  # it cannot be built: its outcomes say so
        return None
    return dataclasses.asdict(slip) if slip else None


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
            "message": str(message),
            "line": line,
            "source": text,
        }
    return None


def as_plain(outcome: Outcome) -> dict[str, Any]:
    """An outcome as tensors, numbers, texts and containers of these."""
    return {
        field.name: _plain(getattr(outcome, field.name))
        for field in dataclasses.fields(outcome)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Failure):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, Tensor):
        return value.detach().as_subclass(Tensor).clone()
    if isinstance(value, list | tuple):
        kind = list if isinstance(value, list) else tuple
        return kind(_plain(part) for part in value)
    if isinstance(value, dict):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if value is None or type(value) in (bool, int, float, str):
        return value
    return {"a value of type": type(value).__name__}


def from_plain(found: dict[str, Any]) -> Outcome:
    """The outcome again.

    Raises:
        Exception: of many kinds, if that is not what ``found`` is.
    """
    failures = {
        key: Failure(**found[key]) if found[key] is not None else None
        for key in ("failure", "again_failure")
    }
    return Outcome(**found | failures)
