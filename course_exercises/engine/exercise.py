"""An exercise as its author writes it: solution, cases, mistakes, hints."""

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor

from course_exercises.candidate.cases import Case, Implementation, call
from course_exercises.candidate.draw import Draw
from course_exercises.engine.mistakes import (
    BEGIN,
    END,
    EditError,
    Misconception,
    hints_of,
    misconceptions_of,
    pairs_of,
    source_lines,
)
from course_exercises.language import beside, label, told, translated

Decorated = TypeVar("Decorated", bound=Implementation)

DRAWN = 6
"""Number of random cases of a check."""
STUB = "raise NotImplementedError  # your code here"
"""The line in place of the part to be written."""


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

    def arguments(self, given: Case) -> dict[str, Any]:
        """The arguments of a case, by the names in the signature."""
        function = self.solution
        if inspect.isclass(function):
            bound = inspect.signature(function.forward).bind(
                None, *given.args, **given.kwargs
            )
            return {k: v for k, v in bound.arguments.items() if k != "self"}
        try:
            bound = inspect.signature(function).bind(
                *given.args, **given.kwargs
            )
        except TypeError:  # the exercise's own `run` calls it differently
            names = [f"input {i}" for i, _ in enumerate(given.args, start=1)]
            return dict(zip(names, given.args, strict=True)) | given.kwargs
        bound.apply_defaults()
        return dict(bound.arguments)

    @property
    def texts(self) -> Path:
        """The file of its hints and mistakes."""
        file = sys.modules[self.solution.__module__].__file__
        return Path(file or "none").with_suffix(".mistakes.md")

    def words(self, name: str, english: str) -> str:
        """A text of its file, in the learner's language."""
        return translated(beside(self.texts), name, english)

    def note(self, given: Case) -> str:
        """What is said of a case, in the learner's language."""
        return label(beside(self.texts), given.note)

    @property
    def source(self) -> str:
        """The solution, as it is shown to a learner who asks for it."""
        lines = source_lines(self.solution)
        kept = (line for line in lines if line.strip() not in (BEGIN, END))
        return told("\n".join(kept), beside(self.texts))

    @property
    def stub(self) -> str:
        """The solution without the part that the learner is to write."""
        source = "\n".join(source_lines(self.solution))
        return told(stub_of(source), beside(self.texts))

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
