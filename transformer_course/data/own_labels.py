"""Labelled texts of one's own: a table of texts and their classes.

A tab-separated file holds a text and its label in each line; one whose name
ends in ``.csv`` has a header, commas or semicolons as the header has them, and
quotes where they are needed. A third column, ``group``, says which texts
belong together: all lines of a group stay in one part.
"""

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

from transformer_course.console import log
from transformer_course.data.labelled import (
    LabelledText,
    sha256_of,
)
from transformer_course.data.own_text import check_digests
from transformer_course.data.text import Splits, describe_split, read_lines
from transformer_course.errors import CorpusError

COLUMNS = {
    "text": ("text", "sentence"),
    "label": ("label", "class"),
    "group": ("group",),
}
"""The names that a header may give to each column."""
SHARE_HELD_OUT = 10
"""Of each class one group in so many is held out for dev, and one for test."""
RULE = (
    "of each class the sha256 of a group, or of a text without one, draws "
    "its part, and equal texts stay together"
)
FEWEST = 3
"""Groups of a class: one each to learn from, to choose by and to score."""
UNEQUAL = 5
"""Warn where the largest class has so many times the texts of the smallest."""

Row = tuple[str, str, str]
"""A text, its label and its group."""


def load(
    files: tuple[str, ...], sha256: tuple[str, ...] | None
) -> Splits[LabelledText]:
    """Read, check and split a table of texts; log what is noticed.

    Args:
        files: the one file.
        sha256: its expected digest; None accepts any content.

    Raises:
        CorpusError: there are two files; one cannot be read, is not UTF-8,
            has changed or has no such columns; there is one class, or a
            class with too few groups.
    """
    if len(files) != 1:
        raise CorpusError(
            f"{' and '.join(files)}: texts with labels come from one file, "
            "with a text, a tab and its label in each line: give one."
        )
    return _read(files[0], check_digests(files, sha256))


@lru_cache(maxsize=1)
def _read(file: str, digest: tuple[str, ...]) -> Splits[LabelledText]:
    """As :func:`load`, once for each content."""
    rows = _rows(file)
    names = class_names(label for _, label, _ in rows)
    _check_classes(file, names, rows)
    splits = _split(file, names, rows)
    log(splits.how)
    return splits


def class_names(labels: Iterable[str]) -> tuple[str, ...]:
    """The different labels in order: by number if all are numbers."""
    found = sorted(set(labels))
    if all(name.isdecimal() for name in found):
        found.sort(key=int)
    return tuple(found)


def _rows(file: str) -> list[Row]:
    """The rows of a table, without those whose text is blank.

    Raises:
        CorpusError: as :func:`load`.
    """
    lines = read_lines(file)
    named_csv = file.lower().endswith(".csv")
    delimiter = (
        max(",;\t", key="".join(lines[:1]).count) if named_csv else "\t"
    )
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    reader = csv.reader(
        io.StringIO("\n".join(lines)),
        strict=True,
        delimiter=delimiter,
        quoting=quoting,
    )
    try:
        table = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise CorpusError(
            f"{file}, near line {reader.line_num:,}: {error}. Put a text that "
            "has commas, quotes or line ends in quotes, and write each of its "
            'quotes twice ("").'
        ) from error
    if not table:
        raise CorpusError(f"{file} is empty: expected a text a line.")
    header = _header(table[0][1])
    if header:
        table = table[1:]
    elif named_csv:
        first = ", ".join(table[0][1])
        raise CorpusError(
            f"the first line of {file} is {first[:80]!r}: expected a header "
            "with columns named text and label, and perhaps group. Name them "
            "so."
        )
    places = header or {"text": 0, "label": 1, "group": 2}
    rows = [_row(file, number, row, places) for number, row in table]
    filled = [row for row in rows if row[0]]
    if blank := len(rows) - len(filled):
        log(f"warning: {blank:,} lines of {file} with no text are left out.")
    texts, labels = ({row[column] for row in filled} for column in (0, 1))
    if not header and 10 * len(texts) < len(labels):
        raise CorpusError(
            f"{file} has {len(texts)} different texts and {len(labels):,} "
            "different labels: does the label stand first? Then put a line "
            "above that names the columns: label, a tab, text."
        )
    return filled


def _header(row: Sequence[str]) -> dict[str, int]:
    """The place of each column that a header names; none for no header."""
    lower = [cell.strip().lower() for cell in row]
    found = {
        column: lower.index(name)
        for column, names in COLUMNS.items()
        for name in names
        if name in lower
    }
    return found if {"text", "label"} <= found.keys() else {}


def _row(file: str, number: int, row: list[str], places: dict) -> Row:
    """A text, its label and its group, which is the text if none is named."""
    needed = max(places["text"], places["label"])
    widest = max(needed, places.get("group", 0))
    if not needed < len(row) <= max(widest + 1, 3):
        raise CorpusError(
            f"line {number:,} of {file} has {len(row)} columns: expected a "
            "text and its label, and perhaps a group, with tabs between "
            "(commas in a .csv file)."
        )
    text, label = row[places["text"]].strip(), row[places["label"]].strip()
    group = places.get("group", len(row))
    named = row[group].strip() if group < len(row) else ""
    if text and not label:
        raise CorpusError(
            f"line {number:,} of {file} has a text without a label: give it "
            "one, or remove the line."
        )
    return text, label, named or text


def _check_classes(file: str, names: tuple[str, ...], rows: list[Row]) -> None:
    """Refuse classes that nobody can learn from; warn of unequal ones."""
    if len(names) < 2:
        raise CorpusError(
            f"all texts of {file} have the label {names[0]!r}: a classifier "
            "needs at least two classes."
            if names
            else f"{file} holds no text: expected a text and a label a line."
        )
    groups = defaultdict(set)
    for _, label, group in rows:
        groups[label].add(group)
    for name in names:
        if len(groups[name]) < FEWEST:
            raise CorpusError(
                f"the class {name!r} of {file} has {len(groups[name])} "
                f"different texts or groups: expected at least {FEWEST}, "
                "since some of each class are held out. Add some, or join it "
                "with another class."
            )
    warn_unequal(file, Counter(label for _, label, _ in rows))
    labels = defaultdict(set)
    for text, label, _ in rows:
        labels[text].add(label)
    if unclear := sum(len(found) > 1 for found in labels.values()):
        log(
            f"warning: {unclear:,} texts of {file} stand there with more "
            "than one label; nobody can get all of them right."
        )


def warn_unequal(name: str, counts: Counter[str]) -> None:
    """Warn of classes of very different sizes; list all with their sizes."""
    listed = ", ".join(f"{k} {n:,}" for k, n in sorted(counts.items()))
    log(f"{name}: {len(counts)} classes: {listed}")
    (most, largest), *_, (least, smallest) = counts.most_common()
    if largest >= UNEQUAL * smallest:
        log(
            f"warning: {most} has {largest / smallest:.0f} times as many as "
            f"{least}: look at macro F1 beside the accuracy, which is "
            f"{largest / counts.total():.0%} for who always says {most}."
        )


def held_out_of(groups: Iterable[str]) -> tuple[set[str], set[str]]:
    """The groups of a class that are held out, for dev and for test.

    The sha256 of their names draws them, so that they are the same ones each
    time.
    """
    drawn = sorted(set(groups), key=sha256_of)
    size = max(1, len(drawn) // SHARE_HELD_OUT)
    return set(drawn[:size]), set(drawn[size : 2 * size])


def _split(
    file: str, names: tuple[str, ...], rows: list[Row]
) -> Splits[LabelledText]:
    """Hold out groups of each class; a group of two classes goes once."""
    owner: dict[str, str] = {}
    for _, label, group in rows:
        owner.setdefault(group, label)
    # equal texts stay together, whatever their groups
    first = {}
    for text, _, group in rows:
        first.setdefault(text, group)
    by_class = defaultdict(list)
    for group, label in owner.items():
        by_class[label].append(group)
    dev, test = set(), set()
    for groups in by_class.values():
        for part, found in zip((dev, test), held_out_of(groups), strict=True):
            part |= found
    parts = defaultdict(list)
    for place, (text, _, _) in enumerate(rows):
        group = first[text]
        parts[(group in dev) + 2 * (group in test)].append(place)
    whole = LabelledText(
        [text for text, _, _ in rows],
        [names.index(label) for _, label, _ in rows],
        names,
        [group for _, _, group in rows],
    )
    train, held, scored = (whole.take(parts[part]) for part in range(3))
    sizes = map(len, (train, held, scored))
    how = f"{file}: {describe_split(sizes, 'texts', RULE)}"
    return Splits(train.mixed(), held, scored, how)
