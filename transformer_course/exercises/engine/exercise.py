"""What an author writes down: an exercise, its cases and its hints."""

import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from transformer_course.exercises.engine.draw import Draw

Implementation = Callable[..., Any]
"""A function or a class that does, or should do, what is asked."""
Decorated = TypeVar("Decorated", bound=Implementation)

DRAWN = 6
"""Random cases of a check, beside those that the author chose."""
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
"""What stands between these lines is left out of the stub, here as in
nbgrader."""
STUB = "raise NotImplementedError  # your code here"


@dataclass(frozen=True, eq=False)
class Case:
    """One input."""

    note: str
    """What is special about it, as in "a batch of one"."""
    args: tuple[Any, ...] = ()
    """What is given by position."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """What is given by name."""
    build: tuple[Any, ...] = ()
    """What a class is built with."""


def case(note: str, *args: Any, **kwargs: Any) -> Case:
    """A call of a function."""
    return Case(note, args, kwargs)


def module_case(
    note: str, build: tuple[Any, ...], *args: Any, **kwargs: Any
) -> Case:
    """A call of a module that is built with ``build``."""
    return Case(note, args, kwargs, build)


def call(candidate: Implementation, given: Case) -> Any:
    """How a function is tried: call it."""
    return candidate(*given.args, **given.kwargs)


def build_and_call(candidate: Implementation, given: Case) -> Any:
    """How a module is tried: build it, give it weights, call it.

    Weights are drawn anew for each name, so that the order in which a module
    makes its parts does not matter.
    """
    module = candidate(*given.build)
    give_weights(module)
    return module(*given.args, **given.kwargs)


def give_weights(module: nn.Module) -> None:
    """Fill every parameter with numbers that depend on its name alone."""
    for name, weight in module.named_parameters():
        draw = Draw(sum(i * ord(sign) for i, sign in enumerate(name, 1)))
        with torch.no_grad():
            weight.copy_(draw.normal(*weight.shape) * 0.5)


def see(section: str) -> Callable[[Decorated], Decorated]:
    """Say of a mistake where to read about it, if not where the exercise is.

    Args:
        section: page and anchor, as in ``06_masks#the-future``.
    """

    def mark(mistake: Decorated) -> Decorated:
        mistake.section = section
        return mistake

    return mark


def variant_of(mistake: Implementation) -> Callable[[Decorated], Decorated]:
    """Say that this is the same mistake, made in another way.

    Where a mistake leaves open what happens besides, people's code with it
    does not all give the same. It has no docstring: the learner is told what
    stands with the mistake.
    """

    def mark(variant: Decorated) -> Decorated:
        variant.variant_of = mistake
        return variant

    return mark


def mistake_of(implementation: Implementation) -> Implementation:
    """The mistake that a variant is one of; any other is its own."""
    return getattr(implementation, "variant_of", implementation)


@dataclass(frozen=True, eq=False)
class Exercise:
    """A function or class to be written, and how it is judged."""

    solution: Implementation
    """The reference, written to be read. Its name is the exercise's; its
    signature and docstring say what is asked. What the learner is to write
    stands between BEGIN and END."""
    section: str
    """What teaches it, as page and anchor: ``06_masks#the-future``. The page
    is the exercise's chapter."""
    points: int
    """What it is worth in a graded assignment."""
    hints: tuple[str, str]
    """Two; the second says more."""
    cases: Sequence[Case]
    """Chosen inputs, the smallest first."""
    draw: Callable[[Draw], Case]
    """Makes a random input."""
    others: Sequence[Implementation]
    """Right solutions, written in other ways."""
    mistakes: Sequence[Implementation]
    """Wrong implementations that people write. The name of each is the
    misconception's, its docstring is what the learner is told."""
    run: Callable[[Implementation, Case], Any] = call
    """How an implementation is tried on a case."""
    tolerance: float = 1e-5
    """How far results in fp32 may be apart, absolutely and relatively."""

    @property
    def name(self) -> str:
        """What the learner's function or class is called."""
        return self.solution.__name__

    @property
    def chapter(self) -> str:
        """The page that it belongs to."""
        return self.section.partition("#")[0]

    @cached_property
    def tried(self) -> list[Case]:
        """What a check tries: the chosen cases, then random ones."""
        return [*self.cases, *map(self.drawn, range(DRAWN))]

    def drawn(self, seed: int) -> Case:
        """A random case."""
        return self.draw(Draw(seed))

    def with_more(self, seed: int, count: int) -> "Exercise":
        """The same exercise with more random cases, as marking wants it.

        Args:
            seed: of the first of them; those of a check have 0 and up.
            count: how many.
        """
        more = [self.drawn(seed + number) for number in range(count)]
        return replace(self, cases=[*self.cases, *more])

    @cached_property
    def source(self) -> str:
        """The solution, as a learner may see it in the end."""
        lines = _source_lines(self.solution)
        return "\n".join(line for line in lines if not _is_marker(line))

    @cached_property
    def stub(self) -> str:
        """The solution without what the learner is to write."""
        return stub_of("\n".join(_source_lines(self.solution)))

    def section_of(self, mistake: Implementation) -> str:
        """What to read again."""
        return getattr(mistake, "section", self.section)


def stub_of(source: str) -> str:
    """Source in which each part between the marks is left to be written."""
    kept = re.sub(
        rf"^( *){BEGIN}\n.*?^ *{END}$",
        rf"\1{STUB}",
        source,
        flags=re.S | re.M,
    )
    return kept.rstrip()


def _source_lines(implementation: Implementation) -> list[str]:
    source = inspect.getsource(inspect.unwrap(implementation))
    return textwrap.dedent(source).rstrip().splitlines()


def _is_marker(line: str) -> bool:
    return line.strip() in (BEGIN, END)


def numel(given: Case) -> int:
    """How large a case is to read."""
    values = [*given.args, *given.kwargs.values()]
    return sum(v.numel() if isinstance(v, Tensor) else 1 for v in values)
