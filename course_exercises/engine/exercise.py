"""An exercise as its author writes it: solution, cases, mistakes, hints."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from course_exercises.engine.draw import Draw
from course_exercises.engine.edits import (
    BEGIN,
    END,
    Edit,
    Implementation,
    edits_of,
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


def case(note: str, *args: Any, **kwargs: Any) -> Case:
    """One call of a function."""
    return Case(note, args, kwargs)


def module_case(
    note: str, build: tuple[Any, ...], *args: Any, **kwargs: Any
) -> Case:
    """One call of a module that is built with the arguments ``build``."""
    return Case(note, args, kwargs, build)


def call(candidate: Implementation, given: Case) -> Any:
    """Call a function, or build a module, give it weights and call it.

    Each parameter is filled with numbers that depend on its name alone, so
    the order in which a module makes its parameters does not matter.
    """
    if given.build:
        candidate = candidate(*given.build)
        give_weights(candidate)
    return candidate(*given.args, **given.kwargs)


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
    right.role = "other"
    return right


def mistake(
    wrong: Decorated | None = None, *, see: str = ""
) -> Decorated | Callable[[Decorated], Decorated]:
    """Mark a wrong implementation that people write.

    Its name is the misconception's, its docstring is what the learner reads.

    Args:
        wrong: the implementation, if the decorator has no arguments.
        see: the section to read again, if not the exercise's own: page and
            anchor, as in ``06_masks#the-causal-mask``.
    """

    def mark(wrong: Decorated) -> Decorated:
        wrong.role = "mistake"
        if see:
            wrong.section = see
        return wrong

    return mark if wrong is None else mark(wrong)


def variant_of(
    mistaken: Implementation | str,
) -> Callable[[Decorated], Decorated]:
    """Mark another form of a mistake, which gives other results.

    It needs no docstring: the learner reads that of the mistake.

    Args:
        mistaken: the mistake, or its name if it is written as an edit.
    """

    def mark(variant: Decorated) -> Decorated:
        variant.variant_of = mistaken
        return mistake(variant)

    return mark


def mistake_of(implementation: Implementation) -> Implementation:
    """The mistake of which an implementation is a variant, or itself."""
    return getattr(implementation, "variant_of", implementation)


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
    mistakes: Sequence[Implementation]
    """Wrong implementations that people write. The name of each is the
    misconception's, its docstring the learner's feedback."""
    run: Callable[[Implementation, Case], Any] = call
    """Calls an implementation on a case."""
    tolerance: float = 1e-5
    """The largest absolute and relative error of results in float32."""
    edits: Sequence[Edit] = ()
    """The mistakes written as edits: two of them can be made at once."""

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
    def pairs(self) -> list[tuple[Edit, Edit, Implementation]]:
        """Pairs of mistakes, each with the code that makes both at once."""
        return list(pairs_of(self.solution, self.edits))

    def section_of(self, mistake: Implementation) -> str:
        """The section to read again after a mistake."""
        return getattr(mistake, "section", self.section)


def exercise_of(solution: Implementation, **fields: Any) -> Exercise:
    """Make the exercise of a file from what the file defines.

    Others and mistakes are the functions marked by :func:`other`,
    :func:`mistake` and :func:`variant_of`, and the edits in ``EDITS``.

    Args:
        solution: the reference, defined in that file.
        fields: the other fields of :class:`Exercise`.

    Raises:
        EditError: an edit cannot be made.
    """
    file = vars(sys.modules[solution.__module__])
    marked = {"other": [], "mistake": []}
    for value in file.values():
        if hasattr(value, "role") and value.__module__ == file["__name__"]:
            marked[value.role].append(value)
    page = fields["section"].partition("#")[0]
    made = edits_of(solution, file.get("EDITS", ""), page)
    named = {e.mistake: mistake_of(e.implementation) for e in made}
    for wrong in marked["mistake"]:
        if isinstance(of := getattr(wrong, "variant_of", None), str):
            wrong.variant_of = named[of]
    return Exercise(
        solution=solution,
        others=marked["other"],
        mistakes=[e.implementation for e in made] + marked["mistake"],
        edits=made,
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
