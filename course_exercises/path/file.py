"""A learner's ``my_transformer.py`` as text: what is in it, what is not."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from course_exercises.language import say
from course_exercises.path.parts import (
    FILE,
    NAMES,
    stub,
    stubs_text,
    text_of,
)
from transformer_course import files
from transformer_course.errors import CourseError

_BLOCK = re.compile(r"(?:async def|def|class) +(\w+)|[@\w]")
"""Where a statement of the module begins: in the first column."""
_BEFORE = re.compile(r"after .* on line (\d+)")
"""A line that a SyntaxError names in place of that where it was noticed."""
COURSES = "# --- the course's, for parts that are not written yet ---"


@dataclass(frozen=True)
class LearnersFile:
    """The file, without statements that are no Python."""

    path: Path
    text: str
    """With empty lines where a statement was left out."""
    broken: dict[str, str] = field(default_factory=dict)
    """What is wrong with the statements left out: a line for each, by the
    name that it would define; "" if it defines none."""

    @cached_property
    def nodes(self) -> dict[str, ast.stmt]:
        """The parts that are there, written or not; of two, the second."""
        return {
            node.name: node
            for node in ast.parse(self.text).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }

    @cached_property
    def written(self) -> list[str]:
        """The parts that are no stub any more, in the order of the file."""
        nodes = self.nodes
        return [n for n in NAMES if n in nodes and not _is_stub(nodes[n])]

    @cached_property
    def missing(self) -> list[str]:
        """The parts of which there is not even a stub."""
        return [n for n in NAMES if n not in {*self.nodes, *self.broken}]

    def renamed(self, name: str) -> str:
        """What a missing part may be called in the file; "" if nothing."""
        others = [n for n in self.nodes if n not in NAMES]
        return next(iter(get_close_matches(name, others, 1)), "")

    def completed(self) -> tuple[str, list[str]]:
        """The text with the course's parts in place of those not written.

        Returns:
            The text, and the names of these parts.
        """
        absent = [n for n in NAMES if n not in self.written]
        if not absent:
            return self.text, []
        parts = [self.text.rstrip(), COURSES, text_of(absent)]
        return "\n\n\n".join(parts), absent


def begin(path: Path) -> list[str]:
    """Write the file that a learner begins with, unless there is one.

    Returns:
        The stubs of parts that an existing file, which stays as it is, does
        not have; none for a new one.

    Raises:
        CourseError: it cannot be written, or is no Python file.
    """
    if path.exists():
        return list(map(stub, read(path).missing))
    try:
        files.write_atomic(path, stubs_text())
    except OSError as error:
        raise CourseError(
            f"{path} cannot be written ({error.strerror}): name a file in a "
            "folder that exists."
        ) from error
    return []


def read(path: Path) -> LearnersFile:
    """Read a learner's file; statements that are no Python are left out.

    Raises:
        CourseError: it is not there, or is no text in UTF-8.
    """
    if path.suffix != ".py" or path.is_dir():
        raise CourseError(
            f"{path} is not a Python file: give your own, such as {FILE}."
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise CourseError(
            f"there is no {path}: transformer-course start writes one, with a "
            "stub for each part."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(
            f"{path} cannot be read as text in UTF-8 ({error}): save it so."
        ) from error
    return parsed(path, text)


def parsed(path: Path, text: str) -> LearnersFile:
    """Parse a learner's file; statements that are no Python are left out."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines, broken = text.split("\n"), {}
    while True:
        try:
            ast.parse("\n".join(lines))
            return LearnersFile(path, "\n".join(lines), broken)
        except (SyntaxError, ValueError) as error:
            number = getattr(error, "lineno", None) or 1
            if before := _BEFORE.search(str(error)):
                number = int(before[1])
            first, last = _statement(lines, min(number, len(lines)))
            shown = lines[number - 1].strip() if number <= len(lines) else ""
            match = _BLOCK.match(lines[first])
            name = match[1] or "" if match else ""
            what = getattr(error, "msg", str(error))
            broken.setdefault(
                name,
                say("line {number}: {what}.", number=number, what=what)
                + f"\n\n        {shown}",
            )
            if not any(lines[first:last]):  # nothing is left to leave out
                return LearnersFile(path, "", broken)
            lines[first:last] = [""] * (last - first)


def _statement(lines: list[str], number: int) -> tuple[int, int]:
    """The lines of the module's statement around a line, from 1."""
    begins = [i for i, line in enumerate(lines) if _BLOCK.match(line)]
    first = max((i for i in begins if i < number), default=0)
    while first > 0 and lines[first - 1].startswith("@"):
        first -= 1
    last = min((i for i in begins if i >= number), default=len(lines))
    return first, last


def _is_stub(node: ast.AST) -> bool:
    """Whether some of a part is still to be written."""
    return any(
        (isinstance(inner, ast.Raise) and _is_not_implemented(inner.exc))
        or (isinstance(inner, ast.FunctionDef) and _is_empty(inner.body))
        for inner in ast.walk(node)
    )


def _is_not_implemented(raised: ast.expr | None) -> bool:
    names = ast.walk(raised) if raised else ()
    return any(
        isinstance(node, ast.Name) and node.id == "NotImplementedError"
        for node in names
    )


def _is_empty(body: list[ast.stmt]) -> bool:
    """Whether a body is only a docstring, ``pass`` or ``...``."""
    return all(
        isinstance(node, ast.Pass)
        or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        for node in body
    )


def sources(file: LearnersFile) -> Iterator[tuple[str, str]]:
    """The parts of a file, and under "" all else, as text without comments."""
    nodes = file.nodes
    rest = [
        node
        for node in ast.parse(file.text).body
        if getattr(node, "name", None) not in NAMES
    ]
    yield "", "\n".join(map(ast.unparse, rest))
    for name in NAMES:
        if name in nodes:
            yield name, ast.unparse(nodes[name])
