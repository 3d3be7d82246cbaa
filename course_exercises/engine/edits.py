"""Mistakes written as edits of the solution.

A text holds them, one after the other::

    # padding_always_zero
    - pad_id -> 0
    Your mask takes 0 for padding, whatever `pad_id` says.

    # padding_inverted (06_masks#everybodys-conventions)
    - ids != pad_id -> ids == pad_id
    Your mask is True at padding and False at words.

The name of the misconception; what to read again, if that is not the
exercise's own section (without the page, if that is the same); what stands in
the solution, and what stands there instead; what the learner is told. Where
that is longer, each has lines of its own, ``-`` for the old and ``+`` for the
new. Several changes make one edit; ``or`` between them begins another way to
make the same mistake. Since edits are places and words, two of them can be
made at once.
"""

import __future__

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

Implementation = Callable[..., Any]
"""A function or a class that does, or should do, what is asked."""

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
"""The lines around what is left out of the stub, here as in nbgrader; edits
change what stands between them."""
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
    """One place of the solution, and what stands there instead."""

    part: int
    start: int
    end: int
    new: str


@dataclass(frozen=True, eq=False)
class Edit:
    """One way to make a mistake."""

    mistake: str
    """Its name."""
    changes: tuple[Change, ...]
    """The places where it changes the solution."""
    implementation: Implementation
    """The solution with this mistake."""


def source_lines(implementation: Implementation) -> list[str]:
    """Its text, as it stands in its file, from the left margin."""
    source = inspect.getsource(inspect.unwrap(implementation))
    return textwrap.dedent(source).rstrip().splitlines()


def edits_of(solution: Implementation, text: str, page: str) -> list[Edit]:
    """The mistakes that a text describes, in its order.

    Args:
        solution: what is changed.
        text: as above.
        page: where sections are that name none.

    Raises:
        EditError: the words to be changed do not stand in the solution just
            once, or what comes out is no Python.
    """
    edits = []
    for name, section, body in _blocks(text, page):
        match = _CHANGES.match(body)
        if match is None:
            raise EditError(f"{name}: no line begins with '-', nor with '+'")
        told = body[match.end() :].strip()
        first = None
        for way in re.split(r"^or\n", match[0], flags=re.M):
            changes = tuple(_changes(solution, name, way))
            made = _made(solution, name, changes)
            made.__doc__ = told if first is None else None
            if section:
                made.section = section
            if first is not None:
                made.variant_of = first
            first = first or made
            edits.append(Edit(name, changes, made))
    return edits


def _blocks(text: str, page: str) -> Iterator[tuple[str, str, str]]:
    """Name, section and the rest of each mistake."""
    heads = list(_BLOCK.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        section = (head[2] or page) + head[3] if head[3] else ""
        yield head[1], section, text[head.end() : end] + "\n"


def _changes(
    solution: Implementation, name: str, lines: str
) -> Iterator[Change]:
    """Each pair of old and new words, found in the solution."""
    for match in _PAIR.finditer(lines):
        if match["line"]:
            old, _, new = match["line"].partition(" ->")
            yield _found(solution, name, old, new.removeprefix(" "))
            continue
        old, new = (
            re.sub(r"^[-+] ?", "", match[part], flags=re.M).rstrip("\n")
            for part in ("old", "new")
        )
        yield _found(solution, name, old, new)


def _found(solution: Implementation, name: str, old: str, new: str) -> Change:
    counts = [part.count(old) for part in _parts(solution)]
    if sum(counts) != 1:
        raise EditError(
            f"{name}: {old!r} stands {sum(counts)} times in the solution of "
            f"{solution.__name__}, and has to stand there once: give more or "
            "fewer words, as they stand there"
        )
    number = counts.index(1)
    start = _parts(solution)[number].index(old)
    return Change(number, start, start + len(old), new)


@cache
def _source(solution: Implementation) -> str:
    return "\n".join(source_lines(solution)) + "\n"


@cache
def _parts(solution: Implementation) -> tuple[str, ...]:
    """The parts that the learner is to write, from the left margin."""
    return tuple(
        textwrap.dedent(found[2])
        for found in _PART.finditer(_source(solution))
    )


def _made(
    solution: Implementation, name: str, changes: Sequence[Change]
) -> Implementation:
    """The solution with these changes, under another name."""
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
    try:
        code = compile(
            source,
            f"<{name}>",
            "exec",
            __future__.annotations.compiler_flag,  # left as they are
            dont_inherit=True,
        )
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
    """Every two mistakes that can be made at once, and what that gives.

    Args:
        solution: what is changed.
        edits: those of one solution.
    """
    for one, other in combinations(edits, 2):
        if one.mistake == other.mistake or _overlap(one, other):
            continue
        name = f"{one.mistake} and {other.mistake}"
        try:
            yield (
                one,
                other,
                _made(solution, name, [*one.changes, *other.changes]),
            )
        except EditError:  # each is Python, both are not
            continue


def _overlap(one: Edit, other: Edit) -> bool:
    return any(
        a.part == b.part and a.start < b.end and b.start < a.end
        for a in one.changes
        for b in other.changes
    )
