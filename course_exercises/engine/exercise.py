"""An exercise as its author writes it: solution, cases, mistakes, hints."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call

from course_exercises.engine.draw import Draw
from course_exercises.engine.mistakes import (
    BEGIN,
    END,
    EditError,
    Implementation,
    Misconception,
    hints_of,
    misconceptions_of,
    pairs_of,
    source_lines,
)

Decorated = TypeVar("Decorated", bound=Implementation)

DRAWN = 6
"""Number of random cases of a check."""
STUB = "raise NotImplementedError  # your code here"
"""The line in place of the part to be written."""


@dataclass(frozen=True, eq=False)
class Case:
    """One input."""

    note: str
    """What is special about it, such as "a batch of one"."""
    args: tuple[Any, ...] = ()
    """Positional arguments."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments."""
    build: tuple[Any, ...] = ()
    """Arguments of a class's ``__init__``; empty for a function."""
    weights: dict[str, Tensor] = field(default_factory=dict)
    """Parameters of the module that the case sets; the others are drawn."""


def case(note: str, *args: Any, **kwargs: Any) -> Case:
    """One call of a function."""
    return Case(note, args, kwargs)


def module_case(
    note: str,
    build: tuple[Any, ...],
    *args: Any,
    weights: dict[str, Tensor] | None = None,
    **kwargs: Any,
) -> Case:
    """One call of a module that is built with the arguments ``build``."""
    return Case(note, args, kwargs, build, weights or {})


def call(candidate: Implementation, given: Case) -> Any:
    """Call a function, or build a module, give it weights and call it.

    A parameter that the case does not set is filled with numbers that depend
    on its name alone, so the order in which a module makes its parameters
    does not matter.
    """
    if not given.build:
        return candidate(*given.args, **given.kwargs)
    module = candidate(*given.build)
    give_weights(module)
    for name in given.weights:
        module.get_parameter(name)  # functional_call would make it
    return functional_call(module, given.weights, given.args, given.kwargs)


def call_without_grad(candidate: Implementation, given: Case) -> Any:
    """Call a function under ``no_grad``: its gradients are not compared."""
    with torch.no_grad():
        return call(candidate, given)


def give_weights(module: nn.Module) -> None:
    """Fill each parameter with numbers that depend on its name alone."""
    with torch.no_grad():
        for name, weight in module.named_parameters():
            weight.copy_(_weight(name, weight.shape))


@cache
def _weight(name: str, shape: torch.Size) -> Tensor:
    draw = Draw(sum(i * ord(sign) for i, sign in enumerate(name, 1)))
    return draw.normal(*shape) * 0.5


def other(right: Decorated) -> Decorated:
    """Mark a correct solution that is written in another way."""
    right.is_other = True
    return right


@dataclass(frozen=True, eq=False)
class Exercise:
    """A function or class to write, and what its check needs."""

    solution: Implementation
    """The reference. Its name is the exercise's; its signature and docstring
    say what is asked. The learner writes what stands between BEGIN and
    END."""
    section: str
    """The section that teaches it, as page and anchor:
    ``06_masks#the-causal-mask``. The page is the exercise's chapter."""
    points: int
    """Its points in a graded assignment."""
    hints: tuple[str, str]
    """Two; the second says more."""
    cases: Sequence[Case]
    """Chosen inputs, the smallest first."""
    draw: Callable[[Draw], Case]
    """Makes a random input."""
    others: Sequence[Implementation]
    """Correct solutions, written in other ways."""
    mistakes: Sequence[Misconception]
    """What people write instead."""
    run: Callable[[Implementation, Case], Any] = call
    """Calls an implementation on a case."""
    tolerance: float = 1e-5
    """The largest absolute and relative error of results in float32."""

    @property
    def name(self) -> str:
        """The name of the learner's function or class."""
        return self.solution.__name__

    @property
    def chapter(self) -> str:
        """The page that it belongs to."""
        return self.section.partition("#")[0]

    @cached_property
    def tried(self) -> list[Case]:
        """The cases of a check: the chosen ones, then random ones."""
        return [*self.cases, *map(self.drawn, range(DRAWN))]

    def drawn(self, seed: int) -> Case:
        """A random case."""
        return self.draw(Draw(seed))

    @cached_property
    def source(self) -> str:
        """The solution, as it is shown to a learner who asks for it."""
        lines = source_lines(self.solution)
        return "\n".join(x for x in lines if x.strip() not in (BEGIN, END))

    @cached_property
    def stub(self) -> str:
        """The solution without the part that the learner is to write."""
        return stub_of("\n".join(source_lines(self.solution)))

    @cached_property
    def pairs(
        self,
    ) -> list[tuple[Misconception, Misconception, Implementation]]:
        """Pairs of mistakes, each with the code that makes both at once."""
        return list(pairs_of(self.solution, self.mistakes))


def exercise_of(solution: Implementation, **fields: Any) -> Exercise:
    """Make the exercise of a file from what the file defines.

    Others are the functions marked by :func:`other`; hints and mistakes stand
    in ``NAME.mistakes.md`` beside the file.

    Args:
        solution: the reference, defined in that file.
        fields: the other fields of :class:`Exercise`.

    Raises:
        EditError: a mistake cannot be made from its text.
    """
    file = vars(sys.modules[solution.__module__])
    path = Path(file["__file__"]).with_suffix(".mistakes.md")
    text = path.read_text("utf-8")
    try:
        mistakes = misconceptions_of(solution, text, fields["section"])
    except EditError as error:
        raise EditError(f"{path}, {error}") from error
    return Exercise(
        solution=solution,
        hints=hints_of(text),
        others=[one for one in file.values() if hasattr(one, "is_other")],
        mistakes=mistakes,
        **fields,
    )


def stub_of(source: str) -> str:
    """Replace each part between BEGIN and END by :data:`STUB`."""
    part = rf"^( *){BEGIN}\n.*?^ *{END}$"
    return re.sub(part, rf"\1{STUB}", source, flags=re.S | re.M).rstrip()


def numel(given: Case) -> int:
    """Count the numbers in a case."""
    values = [*given.args, *given.kwargs.values()]
    return sum(v.numel() if isinstance(v, Tensor) else 1 for v in values)
