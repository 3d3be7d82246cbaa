"""Mistakes written as edits of the solution.

A text holds them, one after the other::

    # padding_always_zero
    - pad_id -> 0
    Your mask takes 0 for padding, whatever `pad_id` says.

    # padding_inverted (06_masks#mask-conventions-of-other-libraries)
    - ids != pad_id -> ids == pad_id
    Your mask is True at padding and False at words.

First the name of the misconception, then the section to read again if it is
not the exercise's own (its page may be left out), the old and the new words,
and the text for the learner. Longer changes have lines of their own, ``-`` for
the old and ``+`` for the new. Several changes make one edit; ``or`` between
them begins another variant of the mistake. Two edits can be made at once.
"""

import __future__

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

Implementation = Callable[..., Any]
"""A function or class that solves, or should solve, an exercise."""

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
"""The lines around the part that the stub leaves out, as in nbgrader; edits
change what is between them."""
_PART = re.compile(rf"^( *){BEGIN}\n(.*?)^ *{END}\n?", re.S | re.M)
_BLOCK = re.compile(r"^# (\w+)(?:[ \n]\((\S*)(#\S+)\))?\n", re.M)
_CHANGES = re.compile(r"(?:(?:-|\+|or$).*\n)+", re.M)
_PAIR = re.compile(
    r"^- (?P<line>.* ->.*)\n|(?P<old>(?:^-.*\n)+)(?P<new>(?:^\+.*\n)*)", re.M
)


class EditError(ValueError):
    """An edit that cannot be made."""


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
class Edit:
    """One way to make a mistake."""

    mistake: str
    """The mistake's name."""
    changes: tuple[Change, ...]
    implementation: Implementation
    """The solution with this mistake."""


def source_lines(implementation: Implementation) -> list[str]:
    """The source of a function or class, dedented."""
    source = inspect.getsource(inspect.unwrap(implementation))
    return textwrap.dedent(source).rstrip().splitlines()


def edits_of(solution: Implementation, text: str, page: str) -> list[Edit]:
    """Read the mistakes that a text describes, in its order.

    Args:
        solution: the implementation to change.
        text: edits in the form above.
        page: the page of sections that name none.

    Raises:
        EditError: the old words do not occur exactly once in the solution,
            or the result is not Python.
    """
    edits = []
    heads = list(_BLOCK.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        name, other_page, anchor = head.groups()
        body = text[head.end() : end] + "\n"
        match = _CHANGES.match(body)
        if match is None:
            raise EditError(f"{name}: no line begins with '-', nor with '+'")
        first = None
        for variant in re.split(r"^or\n", match[0], flags=re.M):
            changes = tuple(_changes(solution, name, variant))
            wrong = _implement(solution, name, changes)
            wrong.__doc__ = None if first else body[match.end() :].strip()
            if anchor:
                wrong.section = (other_page or page) + anchor
            if first:
                wrong.variant_of = first
            first = first or wrong
            edits.append(Edit(name, changes, wrong))
    return edits


def _changes(
    solution: Implementation, name: str, lines: str
) -> Iterator[Change]:
    """Find each pair of old and new words in the solution."""
    for match in _PAIR.finditer(lines):
        if match["line"]:
            old, _, new = match["line"].partition(" ->")
            new = new.removeprefix(" ")
        else:
            old, new = (
                re.sub(r"^[-+] ?", "", match[group], flags=re.M).rstrip("\n")
                for group in ("old", "new")
            )
        parts = _parts(solution)
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
    solution: Implementation, edits: Sequence[Edit]
) -> Iterator[tuple[Edit, Edit, Implementation]]:
    """Yield every two mistakes that can be made at once, and their code.

    Args:
        solution: the implementation to change.
        edits: its edits.
    """
    for one, other in combinations(edits, 2):
        if one.mistake == other.mistake or any(
            a.overlaps(b) for a in one.changes for b in other.changes
        ):
            continue
        name = f"{one.mistake} and {other.mistake}"
        changes = one.changes + other.changes
        with suppress(EditError):  # each is Python, both together are not
            yield one, other, _implement(solution, name, changes)
