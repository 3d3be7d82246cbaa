"""Tables as spreadsheets and learning platforms read and write them."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from transformer_course import files
from transformer_course.errors import CourseError

SIGNS = ",;\t"


class TableError(CourseError):
    """A table that cannot be read."""


class Row(NamedTuple):
    """A line of a table, and where it ends in the file."""

    where: str
    cells: dict[str, str]


class Table(NamedTuple):
    """A table as it was read; every cell is text without space around it."""

    columns: list[str]
    rows: list[Row]


def read_table(path: Path) -> Table:
    """Read a table, whatever divides its cells.

    Raises:
        TableError: it is no table in UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path} is not in UTF-8: save it as CSV UTF-8"
        ) from error
    first = text.partition("\n")[0]
    sign = max(SIGNS, key=first.count)
    table = csv.reader(io.StringIO(text), delimiter=sign)
    try:
        columns = [name.strip() for name in next(table, [])]
        rows = [
            Row(f"{path}, line {table.line_num}", _cells(columns, line))
            for line in table
            if line
        ]
    except csv.Error as error:
        raise TableError(
            f"{path}, line {table.line_num}: {error}. Save it as CSV UTF-8"
        ) from error
    return Table(columns, rows)


def _cells(columns: Sequence[str], line: Sequence[str]) -> dict[str, str]:
    """By column; of two with one name the first counts."""
    filled = [*line, *[""] * len(columns)]
    pairs = zip(columns, filled, strict=False)
    return {name: cell.strip() for name, cell in reversed(list(pairs))}


def write_table(
    path: Path,
    columns: Sequence[str],
    lines: Iterable[dict[str, Any]],
    plain: bool = False,
) -> None:
    """Write a table.

    Args:
        path: where to.
        columns: their names, in order.
        lines: by column.
        plain: for a program. Else a spreadsheet reads its letters right, and
            each cell is in quotes: a name with a sign in it that divides
            cells elsewhere stays one cell.
    """
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_MINIMAL if plain else csv.QUOTE_ALL
    table = csv.DictWriter(text, columns, quoting=quoting)
    table.writeheader()
    table.writerows(lines)
    encoding = "utf-8" if plain else "utf-8-sig"
    files.write_atomic(path, text.getvalue().encode(encoding))
