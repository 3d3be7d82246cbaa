"""All that a check finds out about a learner's code, without judging it."""

import dis
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course_exercises.candidate.cases import Case, Implementation, call
from course_exercises.candidate.outcome import Outcome, Run, observe

NO_CODE = {"RESUME", "RETURN_VALUE", "NOP"}
"""Operations of a function without a body."""


@dataclass(frozen=True)
class Task:
    """What is tried."""

    run: Run
    """Calls an implementation on a case."""
    cases: Sequence[Case]
    is_class: bool
    """Whether a class is asked for."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What an implementation is, and what it does on each case."""

    is_class: bool
    is_unwritten: bool = False
    """Whether it is a stub still."""
    signature: str = ""
    """Its parameters, such as ``(ids, pad_id=0)``."""
    takes_arguments: bool = True
    """Whether it can be called as the cases call it."""
    unused: tuple[str, ...] = ()
    """The parameters that it never reads."""
    parameters: tuple[str, ...] | None = None
    """Name and shape of each ``nn.Parameter`` of a class; None for a
    function, or where it cannot be built."""
    outcomes: tuple[Outcome, ...] = ()
    """Of each case in turn, until one takes too much memory."""


def study(
    task: Task,
    candidate: Implementation,
    progress: Callable[[int], None] = lambda number: None,
) -> Findings:
    """Try an implementation on every case.

    Args:
        task: what is asked.
        candidate: the learner's implementation.
        progress: called before each case and after the last one with the
            number of cases tried.
    """
    about: dict[str, Any] = {
        "is_class": inspect.isclass(candidate),
        "is_unwritten": _is_empty(candidate),
    }
    if about["is_unwritten"] or about["is_class"] != task.is_class:
        return Findings(**about)
    about["unused"] = tuple(unused(candidate))
    if not task.is_class:
        about["signature"] = signature_of(candidate)
    if any(_rejects(candidate, case) for case in task.cases):
        return Findings(**about, takes_arguments=False)
    outcomes: list[Outcome] = []
    try:
        for number, case in enumerate(task.cases):
            progress(number)
            outcomes.append(observe(task.run, candidate, case))
            failure = outcomes[-1].failure
            if failure and failure.is_memory:
                return Findings(**about, outcomes=tuple(outcomes))
    except NotImplementedError:
        return Findings(**about | {"is_unwritten": True})
    progress(len(outcomes))
    if task.run is call:
        about["parameters"] = parameters_of(candidate, task.cases[0])
    return Findings(**about, outcomes=tuple(outcomes))


def signature_of(function: Implementation) -> str:
    """Parameters without annotations: ``(a, b=0)``; empty if unknown."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a builtin
        return ""
    empty = inspect.Parameter.empty
    return str(
        inspect.Signature(
            [
                p.replace(annotation=empty)
                for p in parameters
                if p.name != "self"
            ]
        )
    )


def parameters_of(kind: Implementation, case: Case) -> tuple[str, ...] | None:
    """Name and shape of each ``nn.Parameter`` of a class, sorted."""
    if not case.build:
        return None
    try:
        named = kind(*case.build).named_parameters()
        shapes = [f"{name} {tuple(weight.shape)}" for name, weight in named]
    except Exception:  # it cannot be built: an outcome says so
        return None
    return tuple(sorted(shapes))


def unused(function: Implementation) -> list[str]:
    """The parameters that a function never reads."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return []
    read = set(code.co_cellvars)  # read by an inner function
    for step in dis.get_instructions(code):
        if "LOAD_" in step.opname:  # may load two at once
            names = step.argval
            read.update(names if isinstance(names, tuple) else (names,))
    count = code.co_argcount + code.co_kwonlyargcount
    return [name for name in code.co_varnames[:count] if name not in read]


def _is_empty(candidate: Implementation) -> bool:
    """Whether a function's body is only ``pass``, ``...`` or a docstring."""
    code = getattr(inspect.unwrap(candidate), "__code__", None)
    return code is not None and all(
        step.opname in NO_CODE or step.argval is None
        for step in dis.get_instructions(code)
    )


def _rejects(candidate: Implementation, case: Case) -> bool:
    """Whether a function does not take a case's arguments."""
    if inspect.isclass(candidate):
        return False
    try:
        inspect.signature(candidate).bind(*case.args, **case.kwargs)
    except TypeError:
        return True
    except ValueError:  # a builtin without a signature
        pass
    return False
