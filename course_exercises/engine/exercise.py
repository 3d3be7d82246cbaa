"""An exercise as its author writes it: cases, hints, mistakes."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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
"""Random cases of a check, beside those that the author chose."""
STUB = "raise NotImplementedError  # your code here"


@dataclass(frozen=True, eq=False)
class Case:
    """One input."""

    note: str
    """A word on what is special about it, as in "a batch of one"."""
    args: tuple[Any, ...] = ()
    """Arguments given by position."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments given by name."""
    build: tuple[Any, ...] = ()
    """Arguments that a class is built with."""


def case(note: str, *args: Any, **kwargs: Any) -> Case:
    """A call of a function."""
    return Case(note, args, kwargs)


def module_case(
    note: str, build: tuple[Any, ...], *args: Any, **kwargs: Any
) -> Case:
    """A call of a module that is built with ``build``."""
    return Case(note, args, kwargs, build)


def call(candidate: Implementation, given: Case) -> Any:
    """Try a function: call it."""
    return candidate(*given.args, **given.kwargs)


def build_and_call(candidate: Implementation, given: Case) -> Any:
    """Try a module: build it, give it weights, call it.

    Weights are drawn anew for each name, so that the order in which a module
    makes its parts does not matter.
    """
    module = candidate(*given.build)
    give_weights(module)
    return module(*given.args, **given.kwargs)


def give_weights(module: nn.Module) -> None:
    """Fill every parameter with numbers that depend on its name alone."""
    with torch.no_grad():
        for name, weight in module.named_parameters():
            weight.copy_(_weight(name, weight.shape))


@cache
def _weight(name: str, shape: torch.Size) -> Tensor:
    draw = Draw(sum(i * ord(sign) for i, sign in enumerate(name, 1)))
    return draw.normal(*shape) * 0.5


def other(right: Decorated) -> Decorated:
    """Mark a right solution, written in another way than *the* solution."""
    right.role = "other"
    return right


def mistake(
    wrong: Decorated | None = None, *, see: str = ""
) -> Decorated | Callable[[Decorated], Decorated]:
    """Mark a wrong implementation that people write.

    Its name is the misconception's, its docstring is what the learner reads.

    Args:
        wrong: the implementation, where the mark has no brackets.
        see: where to read about it, if not where the exercise is: page and
            anchor, as in ``06_masks#the-future``.
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
    """Mark another way to make the same mistake.

    Where a mistake leaves open what happens besides, people's code with it
    does not all give the same. It has no docstring: the learner is told what
    stands with the mistake.

    Args:
        mistaken: the mistake, or its name, if it is written as an edit.
    """

    def mark(variant: Decorated) -> Decorated:
        variant.role = "mistake"
        variant.variant_of = mistaken
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
    """The section that teaches it, as page and anchor:
    ``06_masks#the-future``. The page is the exercise's chapter."""
    points: int
    """Its points in a graded assignment."""
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
    """The function that tries an implementation on a case."""
    tolerance: float = 1e-5
    """The largest error of results in fp32, absolute and relative."""
    edits: Sequence[Edit] = ()
    """The mistakes that are edits: two of them can be made at once."""
    place: int = 0
    """Its number in the chapter, from 1 on."""

    @property
    def name(self) -> str:
        """The name that the learner's function or class has."""
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
        lines = source_lines(self.solution)
        return "\n".join(line for line in lines if not _is_marker(line))

    @cached_property
    def stub(self) -> str:
        """The solution without what the learner is to write."""
        return stub_of("\n".join(source_lines(self.solution)))

    @cached_property
    def pairs(self) -> list[tuple[Edit, Edit, Implementation]]:
        """Pairs of mistakes, each with the code that makes both at once."""
        return list(pairs_of(self.solution, self.edits))

    def section_of(self, mistake: Implementation) -> str:
        """The section to read again."""
        return getattr(mistake, "section", self.section)


def exercise_of(
    solution: Implementation, *, edits: str = "", **asked: Any
) -> Exercise:
    """The exercise that a file is about, from what is marked there.

    Args:
        solution: the reference, defined in that file, as are the others and
            the mistakes, in functions marked by :func:`other`,
            :func:`mistake` and :func:`variant_of`.
        edits: mistakes written as edits of the solution.
        asked: the further fields of :class:`Exercise`.

    Raises:
        EditError: an edit cannot be made.
    """
    here = [
        value
        for value in vars(sys.modules[solution.__module__]).values()
        if getattr(value, "__module__", None) == solution.__module__
    ]
    marked = {
        role: [value for value in here if getattr(value, "role", "") == role]
        for role in ("other", "mistake")
    }
    page = asked["section"].partition("#")[0]
    made = edits_of(solution, edits, page)
    named = {e.mistake: mistake_of(e.implementation) for e in made}
    for wrong in marked["mistake"]:
        if isinstance(of := getattr(wrong, "variant_of", None), str):
            wrong.variant_of = named[of]
    return Exercise(
        solution=solution,
        others=marked["other"],
        mistakes=[e.implementation for e in made] + marked["mistake"],
        edits=made,
        **asked,
    )


def stub_of(source: str) -> str:
    """Source in which each part between the marks is left to be written."""
    kept = re.sub(
        rf"^( *){BEGIN}\n.*?^ *{END}$",
        rf"\1{STUB}",
        source,
        flags=re.S | re.M,
    )
    return kept.rstrip()


def _is_marker(line: str) -> bool:
    return line.strip() in (BEGIN, END)


def numel(given: Case) -> int:
    """The count of numbers in a case."""
    values = [*given.args, *given.kwargs.values()]
    return sum(v.numel() if isinstance(v, Tensor) else 1 for v in values)
