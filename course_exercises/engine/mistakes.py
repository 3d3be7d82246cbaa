"""Mistakes and hints, read from the text beside an exercise.

Beside ``NAME.py`` stands ``NAME.mistakes.md``::

    # Hints

    1. What to think about.
    2. How, but not in code.

    # Mistakes

    ## padding_always_zero

    ```diff
    - pad_id
    + 0
    ```

    Your mask takes 0 for padding, whatever `pad_id` says.

    ## padding_inverted (06_masks#mask-conventions-of-other-libraries)

    ```diff
    - ids != pad_id
    + ids == pad_id
    ```

    Your mask is True at padding and False at words.

    Seen: https://github.com/pytorch/pytorch/issues/92554

A heading holds the misconception's name and, in brackets, the section to read
again if it is not the exercise's own (its page may be left out). A ``diff``
names words or lines that stand once in the solution, and what stands there in
the mistake; a blank line ends a change without a ``+``. A block of ``python``
stands in place of all that the learner is to write. Further blocks are other
forms of the same mistake. The text below is what the learner reads. A last
paragraph that begins with ``Seen:`` says where people made the mistake, and is
not shown. Two mistakes that change different places can be made at once.
"""

import __future__

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations

from course_exercises.candidate.cases import Implementation

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
"""The lines around the part that the stub leaves out, as in nbgrader;
mistakes change what is between them."""
_PART = re.compile(rf"^( *){BEGIN}\n(.*?)^ *{END}\n?", re.S | re.M)
_HINT = re.compile(r"^\d\. (.*\n(?: .*\n)*)", re.M)
_HEADING = re.compile(r"(\w+)(?: \((\S*)(#\S+)\))?")
_BLOCK = re.compile(r"^```(diff|python)\n(.*?)^```\n", re.M | re.S)
_CHANGE = re.compile(r"((?:^-.*\n)+)((?:^\+.*\n)*)", re.M)


class EditError(ValueError):
    """A mistake that cannot be made from its text."""


@dataclass(frozen=True)
class Change:
    """A place in a part of the solution, and its new text."""

    part: int
    start: int
    end: int
    new: str

    def overlaps(self, other: "Change") -> bool:
        """Whether two changes share characters."""
        return (
            self.part == other.part
            and self.start < other.end
            and other.start < self.end
        )


@dataclass(frozen=True, eq=False)
class Mistake:
    """A mistake, as it is named to the learner."""

    name: str
    text: str
    """What the learner reads."""
    section: str = ""
    """The section to read again, if it is one of an exercise."""


@dataclass(frozen=True, eq=False)
class Misconception(Mistake):
    """One form of a mistake that belongs to an exercise."""

    changes: tuple[Change, ...] = field(kw_only=True)
    implementation: Implementation = field(kw_only=True)
    """The solution with this mistake."""


def source_lines(implementation: Implementation) -> list[str]:
    """The source of a function or class, dedented."""
    source = inspect.getsource(inspect.unwrap(implementation))
    return textwrap.dedent(source).rstrip().splitlines()


def hints_of(text: str) -> tuple[str, ...]:
    """Read the hints of a text in the form above."""
    hints = text.partition("# Mistakes\n")[0]
    return tuple(" ".join(hint.split()) for hint in _HINT.findall(hints))


def misconceptions_of(
    solution: Implementation, text: str, section: str
) -> list[Misconception]:
    """Read the mistakes of a text in the form above, in its order.

    Args:
        solution: the implementation to change.
        text: the whole text.
        section: the section to read again if a heading names none.

    Raises:
        EditError: the text has another form, the old words do not stand
            exactly once in the solution, or the result is not Python.
    """
    found: list[Misconception] = []
    _, *parts = re.split(r"^## (.*)\n", text + "\n", flags=re.M)
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        match = _HEADING.fullmatch(heading.strip())
        blocks = list(_BLOCK.finditer(body))
        said = body[blocks[-1].end() :] if blocks else ""
        said = said.partition("\nSeen: ")[0].strip()
        if not (match and said):
            raise EditError(
                f"{heading}: write a heading `## NAME` or `## NAME "
                "(PAGE#SECTION)`, a block of ```diff or ```python, and below "
                "it what the learner reads"
            )
        name, page, anchor = match.groups()
        if any(name == other.name for other in found):
            raise EditError(f"{name}: two mistakes have this name")
        see = section
        if anchor:
            see = (page or section.partition("#")[0]) + anchor
        for block in blocks:
            changes = tuple(_changes(solution, name, *block.groups()))
            wrong = _implement(solution, name, changes)
            found.append(
                Misconception(
                    name, said, see, changes=changes, implementation=wrong
                )
            )
    return found


def _changes(
    solution: Implementation, name: str, kind: str, block: str
) -> Iterator[Change]:
    """Find what a block changes in the solution."""
    parts = _parts(solution)
    if kind == "python":
        if len(parts) > 1:
            raise EditError(
                f"{name}: {solution.__name__} is to be written in "
                f"{len(parts)} places: use ```diff"
            )
        yield Change(0, 0, len(parts[0]), block)
        return
    if _CHANGE.sub("", block).strip():
        raise EditError(
            f"{name}: in ```diff, each line begins with - or +, and lines "
            "with + follow those that they replace"
        )
    for lines in _CHANGE.findall(block):
        old, new = (
            re.sub(r"^[-+] ?", "", some, flags=re.M).rstrip("\n")
            for some in lines
        )
        counts = [part.count(old) for part in parts]
        if sum(counts) != 1:
            raise EditError(
                f"{name}: {old!r} stands {sum(counts)} times in the solution "
                f"of {solution.__name__}, and has to stand there once: give "
                "more or fewer words, as they stand there"
            )
        number = counts.index(1)
        start = parts[number].index(old)
        yield Change(number, start, start + len(old), new)


@cache
def _source(solution: Implementation) -> str:
    return "\n".join(source_lines(solution)) + "\n"


@cache
def _parts(solution: Implementation) -> tuple[str, ...]:
    """The parts that the learner is to write, dedented."""
    return tuple(
        textwrap.dedent(found[2])
        for found in _PART.finditer(_source(solution))
    )


def _implement(
    solution: Implementation, name: str, changes: Sequence[Change]
) -> Implementation:
    """Make the changed solution, under another name."""
    parts = list(_parts(solution))
    for change in sorted(changes, key=lambda c: c.start, reverse=True):
        part = parts[change.part]
        parts[change.part] = (
            part[: change.start] + change.new + part[change.end :]
        )
    changed = iter(parts)
    source = _PART.sub(
        lambda found: textwrap.indent(next(changed), found[1]),
        _source(solution),
    )
    future = __future__.annotations.compiler_flag  # not to be evaluated
    try:
        code = compile(source, f"<{name}>", "exec", future, dont_inherit=True)
    except SyntaxError as error:
        raise EditError(
            f"{name}: the changed solution is no Python ({error}):\n{source}"
        ) from error
    names = dict(vars(sys.modules[solution.__module__]))
    exec(code, names)
    made = names[solution.__name__]
    made.__name__ = made.__qualname__ = name
    return made


def pairs_of(
    solution: Implementation, mistakes: Sequence[Misconception]
) -> Iterator[tuple[Misconception, Misconception, Implementation]]:
    """Yield every two mistakes that can be made at once, and their code.

    Args:
        solution: the implementation to change.
        mistakes: those of its exercise.
    """
    for one, other in combinations(mistakes, 2):
        if one.name == other.name or any(
            a.overlaps(b) for a in one.changes for b in other.changes
        ):
            continue
        name = f"{one.name} and {other.name}"
        changes = one.changes + other.changes
        with suppress(EditError):  # each is Python, both together are not
            yield one, other, _implement(solution, name, changes)
