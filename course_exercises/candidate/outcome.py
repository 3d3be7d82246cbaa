"""What an implementation does on one case: a result or an error, gradients."""

import inspect
import linecache
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course_exercises.candidate.cases import Case, Implementation
from course_exercises.candidate.values import copied, tensors_in, truncated

NO_MEMORY = r"can't allocate memory|not enough memory|bad alloc"
INSIDE = "Make that inside the function, or give it as an argument."
"""Advice on what cannot be brought to another process."""

Run = Callable[[Implementation, Case], Any]


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

    @property
    def is_memory(self) -> bool:
        """Whether it says that there is not enough memory."""
        return self.kind == "MemoryError" or bool(
            re.search(NO_MEMORY, self.message)
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """One case, called twice: as it is, then with gradients."""

    value: Any = None
    """The result of the first call."""
    failure: Failure | None = None
    """The error of the first call."""
    changed: tuple[int | str, ...] = ()
    """The arguments that it changed in place, by position or keyword."""
    again: Any = None
    """The result of the second call."""
    again_failure: Failure | None = None
    """The error of the second call."""
    gradients: tuple[Tensor, ...] = ()
    """Gradients of a weighted sum of the results, one for each argument of
    floats and each weight that the case sets; empty where the results have
    no gradient."""


def observe(run: Run, candidate: Implementation, case: Case) -> Outcome:
    """Call an implementation on a case, twice.

    The two calls have different random seeds, so that results which depend
    on random numbers differ.

    Args:
        run: calls an implementation on a case.
        candidate: the implementation.
        case: the input.

    Raises:
        NotImplementedError: the code is still to be written.
    """
    given = _copy(case)
    torch.default_generator.manual_seed(0)  # the CPU's only
    try:
        value = truncated(run(candidate, given))
    except (Exception, SystemExit) as error:
        failure = describe(error, candidate)
        if failure.is_stub:
            raise
        return Outcome(failure=failure)
    first = Outcome(value, changed=_changed(case, given))
    given = _copy(case)
    for tensor in _inputs(given):
        tensor.requires_grad_(tensor.is_floating_point())
    torch.default_generator.manual_seed(1)
    try:
        again = truncated(run(candidate, given))
        gradients = _gradients(again, given)
    except (Exception, SystemExit) as error:
        return replace(first, again_failure=describe(error, candidate))
    return replace(first, again=again, gradients=gradients)


def value_of(run: Run, candidate: Implementation, case: Case) -> Any:
    """Call once; return the result or the error."""
    torch.default_generator.manual_seed(0)
    try:
        return run(candidate, _copy(case))
    except (Exception, SystemExit) as error:
        return error


def _copy(case: Case) -> Case:
    parts = ("args", "kwargs", "weights")
    return replace(case, **{p: copied(getattr(case, p)) for p in parts})


def _inputs(case: Case) -> Iterator[Tensor]:
    return tensors_in((case.args, case.kwargs, case.weights))


def _changed(case: Case, given: Case) -> tuple[int | str, ...]:
    """The arguments of the case that the call has changed."""
    before, after = (
        dict(enumerate(one.args)) | one.kwargs for one in (case, given)
    )
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
    course = Path(__file__).parents[2]
    libraries = [
        *(paths[name] for name in names),
        Path(torch.__file__).parent,
        course / "transformer_course",
        course / "course_exercises",
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
