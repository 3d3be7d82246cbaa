"""The outcome of an implementation on one case: a result, or an error."""

import inspect
import linecache
import sysconfig
import traceback
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import transformer_course
from course_exercises.engine.exercise import Case, Exercise, Implementation
from course_exercises.engine.values import cut, fresh, in_form, tensors_in


@dataclass(frozen=True)
class Failure:
    """An error that the code raised, and where it stands in that code.

    Two are equal if they say the same, wherever they were raised.
    """

    kind: str
    message: str
    line: int | None = field(default=None, compare=False)
    source: str = field(default="", compare=False)
    function: str = field(default="", compare=False)

    @property
    def is_stub(self) -> bool:
        """Whether it is what an untouched stub raises.

        PyTorch raises such errors too, where an operation has no kernel.
        """
        return self.kind == "NotImplementedError" and (
            not self.message or self.kind in self.source
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """One case, tried twice: as it is, and with gradients asked for."""

    value: Any = None
    """The result of the first call."""
    failure: Failure | None = None
    """Or the error that it raised."""
    changed: tuple[str, ...] = ()
    """The arguments that it changed in place."""
    again: Any = None
    """The result of the second call."""
    again_failure: Failure | None = None
    """Or the error that it raised."""
    gradients: tuple[Tensor, ...] = ()
    """Gradients of a sum over all results, each with a weight of its own, for
    every argument of floats; empty where the results do not depend on them
    in a way that has gradients."""


def observe(
    exercise: Exercise, candidate: Implementation, case: Case
) -> Outcome:
    """Try an implementation on a case.

    Random numbers have another seed in the second call: what depends on them
    is not the same twice.

    Raises:
        NotImplementedError: the code is still to be written.
    """
    given = _copy(case)
    torch.default_generator.manual_seed(0)  # that of the CPU alone
    try:
        value = cut(exercise.run(candidate, given))
    except (Exception, SystemExit) as error:
        failure = describe(error, candidate)
        if failure.is_stub:
            raise
        return Outcome(failure=failure)
    first = Outcome(value, changed=_changed(exercise, case, given))
    given = _copy(case)
    _ask_for_gradients(given)
    torch.default_generator.manual_seed(1)
    try:
        again = cut(exercise.run(candidate, given))
        gradients = _gradients(again, given)
    except (Exception, SystemExit) as error:
        return replace(first, again_failure=describe(error, candidate))
    return replace(first, again=again, gradients=gradients)


def fresh_call(
    exercise: Exercise, implementation: Implementation, case: Case
) -> Any:
    """Call once, and give the result or the error that was raised."""
    torch.default_generator.manual_seed(0)
    try:
        return exercise.run(implementation, _copy(case))
    except (Exception, SystemExit) as error:
        return error


def mended(found: Outcome, expected: Outcome) -> Outcome:
    """The same results in the form that is asked for, where they have it."""
    return replace(
        found,
        value=in_form(found.value, expected.value),
        again=in_form(found.again, expected.value),
    )


def _copy(case: Case) -> Case:
    """Arguments of its own for each call."""
    return replace(case, args=fresh(case.args), kwargs=fresh(case.kwargs))


def _ask_for_gradients(given: Case) -> None:
    for tensor in tensors_in((given.args, given.kwargs)):
        tensor.requires_grad_(tensor.is_floating_point())


def arguments(exercise: Exercise, case: Case) -> dict[str, Any]:
    """The arguments of a case, by the names in the solution's signature."""
    function = exercise.solution
    if inspect.isclass(function):
        function = function.forward
        bound = inspect.signature(function).bind(
            None, *case.args, **case.kwargs
        )
        return {k: v for k, v in bound.arguments.items() if k != "self"}
    try:
        bound = inspect.signature(function).bind(*case.args, **case.kwargs)
    except TypeError:  # `run` calls it in its own way
        names = [f"input {i}" for i, _ in enumerate(case.args, start=1)]
        return dict(zip(names, case.args, strict=True)) | case.kwargs
    bound.apply_defaults()
    return dict(bound.arguments)


def _changed(exercise: Exercise, case: Case, given: Case) -> tuple[str, ...]:
    """The names of the arguments that are not what they were."""
    before, after = arguments(exercise, case), arguments(exercise, given)
    return tuple(
        name for name in before if not _bits_equal(before[name], after[name])
    )


def _bits_equal(before: Any, after: Any) -> bool:
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
    leaves = [
        leaf
        for leaf in tensors_in((given.args, given.kwargs))
        if leaf.requires_grad
    ]
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
    """No two alike, so that no gradient cancels."""
    return torch.linspace(1.0, 2.0, count, dtype=torch.float64)


def describe(error: BaseException, candidate: Implementation) -> Failure:
    """An error, by the last line of the learner's own that led to it."""
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if _is_own(frame.filename, candidate)
    ]
    kind = type(error).__name__
    message = str(error).strip()
    if not own:
        return Failure(kind, message)
    frame = own[-1]
    source = linecache.getline(frame.filename, frame.lineno or 0).strip()
    return Failure(kind, message, frame.lineno, source, frame.name)


def _is_own(filename: str, candidate: Implementation) -> bool:
    """Whether a file is the learner's, and not a library's or ours."""
    if filename in files_of(candidate):
        return True
    if filename.startswith("<"):
        return False
    return not any(Path(filename).is_relative_to(f) for f in _libraries())


@cache
def _libraries() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = sysconfig.get_paths()
    found = {Path(paths[name]) for name in names}
    ours = Path(__file__).parents[1], Path(transformer_course.__file__).parent
    return (*found, *ours, Path(torch.__file__).parent)


def files_of(candidate: Implementation) -> set[str]:
    """The files, or cells, in which a function or class is written."""
    candidate = inspect.unwrap(candidate)
    members = vars(candidate).values() if inspect.isclass(candidate) else ()
    codes = [
        getattr(inspect.unwrap(function), "__code__", None)
        for function in (candidate, *members)
        if callable(function)
    ]
    return {code.co_filename for code in codes if code is not None}
