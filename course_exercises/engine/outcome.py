"""What an implementation does on one case: a result or an error, gradients."""

import inspect
import linecache
import sysconfig
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import transformer_course
from course_exercises.engine.exercise import Case, Exercise, Implementation
from course_exercises.engine.values import copied, like, tensors_in, truncated


@dataclass(frozen=True)
class Failure:
    """An error that the code raised, and the learner's line that raised it.

    Two are equal if they have one type and message, whatever the line.
    """

    kind: str
    message: str
    line: int | None = field(default=None, compare=False)
    source: str = field(default="", compare=False)
    function: str = field(default="", compare=False)

    @property
    def is_stub(self) -> bool:
        """Whether an untouched stub raised it.

        PyTorch raises such errors too, where an operation has no kernel.
        """
        return self.kind == "NotImplementedError" and (
            not self.message or self.kind in self.source
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """One case, called twice: as it is, then with gradients."""

    value: Any = None
    """The result of the first call."""
    failure: Failure | None = None
    """The error of the first call."""
    changed: tuple[str, ...] = ()
    """The arguments that it changed in place."""
    again: Any = None
    """The result of the second call."""
    again_failure: Failure | None = None
    """The error of the second call."""
    gradients: tuple[Tensor, ...] = ()
    """Gradients of a weighted sum of the results, one for each argument of
    floats and each weight that the case sets; empty where the results have
    no gradient."""


def observe(
    exercise: Exercise, candidate: Implementation, case: Case
) -> Outcome:
    """Call an implementation on a case, twice.

    The two calls have different random seeds, so that results which depend
    on random numbers differ.

    Raises:
        NotImplementedError: the code is still to be written.
    """
    given = _copy(case)
    torch.default_generator.manual_seed(0)  # the CPU's only
    try:
        value = truncated(exercise.run(candidate, given))
    except (Exception, SystemExit) as error:
        failure = describe(error, candidate)
        if failure.is_stub:
            raise
        return Outcome(failure=failure)
    first = Outcome(value, changed=_changed(exercise, case, given))
    given = _copy(case)
    for tensor in _inputs(given):
        tensor.requires_grad_(tensor.is_floating_point())
    torch.default_generator.manual_seed(1)
    try:
        again = truncated(exercise.run(candidate, given))
        gradients = _gradients(again, given)
    except (Exception, SystemExit) as error:
        return replace(first, again_failure=describe(error, candidate))
    return replace(first, again=again, gradients=gradients)


def value_of(
    exercise: Exercise, implementation: Implementation, case: Case
) -> Any:
    """Call once; return the result or the error."""
    torch.default_generator.manual_seed(0)
    try:
        return exercise.run(implementation, _copy(case))
    except (Exception, SystemExit) as error:
        return error


def in_expected_form(found: Outcome, expected: Outcome) -> Outcome:
    """The same results in the expected shape and dtype, where possible."""
    return replace(
        found,
        value=like(found.value, expected.value),
        again=like(found.again, expected.value),
    )


def _copy(case: Case) -> Case:
    parts = ("args", "kwargs", "weights")
    return replace(case, **{p: copied(getattr(case, p)) for p in parts})


def _inputs(case: Case) -> Iterator[Tensor]:
    return tensors_in((case.args, case.kwargs, case.weights))


def arguments(exercise: Exercise, case: Case) -> dict[str, Any]:
    """The arguments of a case, by the names in the solution's signature."""
    function = exercise.solution
    if inspect.isclass(function):
        bound = inspect.signature(function.forward).bind(
            None, *case.args, **case.kwargs
        )
        return {k: v for k, v in bound.arguments.items() if k != "self"}
    try:
        bound = inspect.signature(function).bind(*case.args, **case.kwargs)
    except TypeError:  # the exercise's own `run` calls it differently
        names = [f"input {i}" for i, _ in enumerate(case.args, start=1)]
        return dict(zip(names, case.args, strict=True)) | case.kwargs
    bound.apply_defaults()
    return dict(bound.arguments)


def _changed(exercise: Exercise, case: Case, given: Case) -> tuple[str, ...]:
    """The names of the arguments that the call has changed."""
    before, after = arguments(exercise, case), arguments(exercise, given)
    return tuple(
        name for name in before if not _is_equal(before[name], after[name])
    )


def _is_equal(before: Any, after: Any) -> bool:
    """Whether tensors, texts and numbers are the same, also in lists."""
    if isinstance(before, list | tuple):
        return len(before) == len(after) and all(map(_is_equal, before, after))
    if isinstance(before, str | int):
        return before == after
    pairs = list(tensors_in(before)), list(tensors_in(after))
    return len(pairs[0]) == len(pairs[1]) and all(
        a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())
        for a, b in zip(*pairs, strict=True)
    )


def _gradients(value: Any, given: Case) -> tuple[Tensor, ...]:
    results = [
        result
        for result in tensors_in(value)
        if result.is_floating_point() and result.requires_grad
    ]
    leaves = [leaf for leaf in _inputs(given) if leaf.requires_grad]
    if not (results and leaves):
        return ()
    total = sum(
        (result.double().flatten() * _weights(result.numel())).sum()
        for result in results
    )
    return torch.autograd.grad(
        total, leaves, allow_unused=True, materialize_grads=True
    )


def _weights(count: int) -> Tensor:
    """Different weights, so that gradients do not cancel."""
    return torch.linspace(1.0, 2.0, count, dtype=torch.float64)


def describe(error: BaseException, candidate: Implementation) -> Failure:
    """Find the last line of the learner's own code in an error's traceback."""
    kind, message = type(error).__name__, str(error).strip()
    files = files_of(candidate)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in files or is_learners(frame.filename):
            line = frame.lineno or 0
            source = linecache.getline(frame.filename, line).strip()
            return Failure(kind, message, frame.lineno, source, frame.name)
    return Failure(kind, message)


@cache
def is_learners(filename: str) -> bool:
    """Whether a file is neither a library's nor the course's."""
    paths = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    libraries = [
        *(paths[name] for name in names),
        Path(torch.__file__).parent,
        Path(transformer_course.__file__).parent,
        Path(__file__).parents[1],
    ]
    return not filename.startswith("<") and not any(
        Path(filename).is_relative_to(library) for library in libraries
    )


def files_of(candidate: Implementation) -> set[str]:
    """The files or notebook cells that define a function or class."""
    candidate = inspect.unwrap(candidate)
    members = vars(candidate).values() if inspect.isclass(candidate) else ()
    codes = [
        getattr(inspect.unwrap(function), "__code__", None)
        for function in (candidate, *members)
        if callable(function)
    ]
    return {code.co_filename for code in codes if code is not None}
