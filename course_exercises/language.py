"""What a learner reads, in the learner's language.

English stands where it is used. What the exercises say has its Japanese in
``messages.ja.toml``, by the English. Other texts have it beside them, in
``NAME.ja.md``: a comment begins each piece, with its name and a digest of the
English that was translated, and the Japanese follows::

    <!-- causal_inverted 3fa2b1c0 -->

    マスクが、ちょうど未来のところで True になっています。

A piece whose English is another now is shown in English.
"""

import ast
import hashlib
import inspect
import os
import re
import textwrap
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import east_asian_width

VARIABLE = "TRANSFORMER_COURSE_LANGUAGE"
LABELS, SAME = "labels", "="
"""Name of the table of short texts; what keeps one there."""
MARK = re.compile(
    r"^<!-- ([\w.-]+)(?: ([0-9a-f]{8}))?([^\n]*?)(?:\n[\s\S]*?)?\s*-->$", re.M
)
WIDTH = 79
"""Columns of code."""
_UNIT = re.compile(
    r" *[（「『［]*"
    r"(?:[ァ-ヺー]+|[一-鿿々]+|[^\s\u2e80-\uffff]+|[^\x00-\u2e7f])"
    r"[ぁ-ゖー]*[、。，．！？：；）」』］]*"
)
"""What stays on one line."""


class Translation(NamedTuple):
    """A piece in Japanese."""

    digest: str = ""
    """Of the English text that it translates."""
    allowed: str = ""
    """What the rules let pass: ``adapted: …`` or ``free …: …``."""
    text: str = ""

    def is_of(self, english: str) -> bool:
        """Whether it is there, and translates this text."""
        return bool(self.text) and self.digest == digest_of(english)


def digest_of(english: str) -> str:
    """A short digest, of what is not white space."""
    return hashlib.sha256(" ".join(english.split()).encode()).hexdigest()[:8]


def language() -> str:
    """``en``, or the language that the environment asks for."""
    return os.environ.get(VARIABLE) or "en"


def beside(path: Path) -> Path:
    """The file with the text of another in the learner's language."""
    return path.with_suffix(f".{language()}.md")


def read(path: Path) -> dict[str, Translation]:
    """The pieces of a file, in its order; none without the file."""
    text = path.read_text("utf-8") if path.exists() else ""
    rows = zip(*[iter(MARK.split(text)[1:])] * 4, strict=True)
    return {
        key: Translation(digest or "", allowed.strip(), text.strip())
        for key, digest, allowed, text in rows
    }


def labels_in(pieces: dict[str, Translation]) -> dict[str, str]:
    """The table of short texts; empty where one is to be done."""
    table = pieces.get(LABELS, Translation()).text
    row = re.compile(r"^\| (.+?) \|(.*)\|$", re.M)
    return {found[1]: found[2].strip() for found in row.finditer(table)}


_read = cache(read)


def translated(path: Path, name: str, english: str) -> str:
    """A piece as it stands in a file of translations, or in English."""
    found = _read(path).get(name, Translation())
    return found.text if found.is_of(english) else english


def label(path: Path, english: str) -> str:
    """A short text of a file of translations, or in English."""
    found = labels_in(_read(path)).get(english, SAME)
    return english if found in ("", SAME) else found


@cache
def _messages(name: str) -> dict[str, str]:
    path = Path(__file__).with_name(f"messages.{name}.toml")
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def say(english: str, **values: Any) -> str:
    """Words of the exercises in the learner's language, with values."""
    said = _messages(language()).get(english, english)
    return said.format(**values) if values else said


def docstrings_of(source: str) -> Iterator[tuple[str, ast.Constant]]:
    """The docstrings in a source, by name: ``docstring.forward``."""
    top = ast.parse(source).body
    for node in ast.walk(ast.Module(top, [])):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        if isinstance(node, kinds) and ast.get_docstring(node):
            is_top = node in top or isinstance(node, ast.Module)
            name = "docstring" if is_top else f"docstring.{node.name}"
            yield name, node.body[0].value


def told(source: str, path: Path) -> str:
    """A source with its docstrings as a file of translations has them."""
    if not path.exists():
        return source
    lines = source.splitlines()
    found = sorted(docstrings_of(source), key=lambda each: -each[1].lineno)
    for name, node in found:
        english = inspect.cleandoc(node.value)
        if (said := translated(path, name, english)) != english:
            width = WIDTH - node.col_offset
            rows = (fill(row, width, "    ") for row in said.splitlines())
            text = "\n".join(rows)
            end = '\n"""' if "\n" in text else '"""'
            lines[node.lineno - 1 : node.end_lineno] = textwrap.indent(
                f'"""{text}{end}', " " * node.col_offset
            ).splitlines()
    return "\n".join(lines)


def columns(text: str) -> int:
    """The columns that a line takes: a Japanese letter takes two."""
    return sum(1 + (east_asian_width(letter) in "WF") for letter in text)


def fill(line: str, width: int, hanging: str = "") -> str:
    """Break a line of Japanese, also where it has no spaces.

    Args:
        line: with spaces in front, if it is indented.
        width: the columns that it may take.
        hanging: more spaces for what follows, where ``name:`` begins it.
    """
    indent = re.match(r" *", line)[0]
    if re.match(r" +\w+: ", line):
        indent += hanging
    lines = [""]
    for unit in _UNIT.findall(line):
        if lines[-1].strip() and columns(lines[-1] + unit) > width:
            lines.append(indent)
            unit = unit.lstrip()
        lines[-1] += unit
    return "\n".join(lines)
