"""What came of a grid: its table, with means, spreads and differences."""

import csv
import io
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import t as student_t

from transformer_course import runs
from transformer_course.errors import CourseError
from transformer_course.training.grid.plan import BASE, Cell, Variant

METRICS = {
    "bleu": ("BLEU", 1),
    "nll": ("nll", 3),
    "perplexity": ("perplexity", 2),
    "accuracy": ("accuracy", 3),
}
"""Measured on the development set: how it is called, digits shown."""
CONFIDENCE = 0.95
INTERVAL = (
    f"{CONFIDENCE:.0%} interval of Student's t for the mean of the "
    "differences to the base, paired by seed"
)


class Summary(NamedTuple):
    """A metric over the seeds."""

    mean: float
    spread: float | None
    """Standard deviation of the sample; None for a single seed."""
    n: int


class Difference(NamedTuple):
    """Variant minus base, paired by seed."""

    mean: float
    low: float | None
    """Where its interval begins; None for a single pair."""
    high: float | None
    n: int


@dataclass(frozen=True)
class Row:
    """A line of the table: one variant."""

    variant: str
    label: str
    row: str
    changes: dict[str, Any]
    weights: int | None
    diverged: int
    """Seeds with which the training diverged; the others are averaged."""
    metrics: dict[str, Summary]
    differences: dict[str, Difference]


@dataclass(frozen=True)
class StoredGrid:
    """A grid that was trained, in whole or in part."""

    name: str
    command: str
    """What was typed to train it."""
    machine: str
    """The kind of machine, and torch's version."""
    seeds: list[int]
    base: dict[str, Any]
    """Settings of the base: data, model, train."""
    variants: dict[str, Variant]
    """The base among them."""
    cells: dict[Cell, dict[str, Any]]
    """What is stored of each: ``dev`` has the scores, ``curve`` a record for
    each epoch."""

    @property
    def rows(self) -> list[Row]:
        """The table, in the order of the variants."""
        return [self._row(name) for name in self.variants]

    def values(self, variant: str, metric: str) -> dict[int, float]:
        """A metric on the development set, by seed."""
        return {
            cell.seed: record["dev"][metric]
            for cell, record in self.cells.items()
            if cell.variant == variant and metric in record.get("dev", {})
        }

    def curves(self, variant: str, key: str) -> list[list[float]]:
        """A figure of the epochs, such as ``dev_bleu``: a list a seed."""
        return [
            [point[key] for point in record["curve"]]
            for cell, record in self.cells.items()
            if cell.variant == variant
        ]

    def _row(self, name: str) -> Row:
        variant = self.variants[name]
        own = [r for cell, r in self.cells.items() if cell.variant == name]
        counts = [r["weights"] for r in own if "weights" in r]
        metrics, differences = {}, {}
        for metric in METRICS:
            if values := self.values(name, metric):
                metrics[metric] = summary(list(values.values()))
                base = self.values(BASE, metric)
                pairs = [values[s] - base[s] for s in values if s in base]
                if pairs and name != BASE:
                    differences[metric] = difference(pairs)
        return Row(
            variant=name,
            label=variant.label or _told(variant.changes),
            row=variant.row,
            changes=variant.changes,
            weights=counts[0] if counts else None,
            diverged=sum("diverged" in r for r in own),
            metrics=metrics,
            differences=differences,
        )

    def markdown(self) -> str:
        """The table for readers: mean ± spread, difference [interval]."""
        shown = [m for m in METRICS if any(m in r.metrics for r in self.rows)]
        first = shown[:1]
        head = ["row", "variant", "weights", "n"]
        for metric in shown:
            head.append(METRICS[metric][0])
            if metric in first:
                head.append("minus base")
        lines = [head, ["---"] * len(head)]
        lines += [_line(row, shown, first) for row in self.rows]
        text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return (
            f"{text}\n\nDevelopment set; mean ± standard deviation over n "
            f"seeds. In brackets: {INTERVAL}.\n"
        )

    def csv(self) -> str:
        """The table for programs: one line a variant and metric."""
        text = io.StringIO()
        sheet = csv.writer(text, lineterminator="\n")
        sheet.writerow(
            "row variant label weights diverged metric n mean spread "
            "difference low high pairs".split()
        )
        for row in self.rows:
            about = (
                row.row,
                row.variant,
                row.label,
                row.weights,
                row.diverged,
            )
            for metric, found in row.metrics.items():
                apart = row.differences.get(metric, (None,) * 4)
                numbers = (found.n, found.mean, found.spread, *apart)
                sheet.writerow((*about, metric, *numbers))
        return text.getvalue()


def read(name: str, folder: Path | None = None) -> StoredGrid:
    """Read a stored grid.

    Args:
        name: of the grid.
        folder: where it stands; ``runs/NAME`` when None.

    Raises:
        CourseError: there is none of that name.
    """
    folder = folder or runs.folder(name)
    path = folder / "settings.json"
    if not path.is_file():
        raise CourseError(
            f"there is no stored grid in {folder}: train it first. The "
            "book's notebooks need the repository, not the package alone."
        )
    about = json.loads(path.read_text("utf-8"))
    variants = {n: Variant(**v) for n, v in about.pop("variants").items()}
    cells = {}
    for seed in about["seeds"]:
        for variant in variants:
            cell = Cell(variant, seed)
            record = folder / "cells" / f"{cell.name}.json"
            if record.exists():
                cells[cell] = json.loads(record.read_text("utf-8"))
    return StoredGrid(variants=variants, cells=cells, **about)


def summary(values: Sequence[float]) -> Summary:
    """Mean and the sample's standard deviation."""
    spread = statistics.stdev(values) if len(values) > 1 else None
    return Summary(statistics.fmean(values), spread, len(values))


def difference(pairs: Sequence[float]) -> Difference:
    """The mean of paired differences, with Student's interval for it.

    A few seeds say little: with three, the interval reaches 2.5 standard
    deviations to either side (t = 4.30, over √3).
    """
    mean, spread, n = summary(pairs)
    if spread is None:
        return Difference(mean, None, None, n)
    half = student_t.ppf((1 + CONFIDENCE) / 2, n - 1) * spread / n**0.5
    return Difference(mean, mean - half, mean + half, n)


def _told(changes: dict[str, Any]) -> str:
    """Changes in words: ``n_heads 1, d_ff 64``."""
    return ", ".join(f"{k.partition('.')[2]} {v}" for k, v in changes.items())


def _line(row: Row, shown: list[str], first: list[str]) -> list[str]:
    """A row of the table as text; ``first`` are shown with differences."""
    seeds = max((m.n for m in row.metrics.values()), default=0)
    note = f" ({row.diverged} diverged)" if row.diverged else ""
    count = "" if row.weights is None else f"{row.weights:,}"
    line = [row.row, row.label, count, f"{seeds}{note}"]
    for metric in shown:
        digits = METRICS[metric][1]
        line.append(_mean(row.metrics.get(metric), digits))
        if metric in first:
            line.append(_apart(row.differences.get(metric), digits))
    return line


def _mean(found: Summary | None, digits: int) -> str:
    if found is None:
        return ""
    text = f"{found.mean:.{digits}f}"
    if found.spread is None:
        return text
    return f"{text} ± {found.spread:.{digits}f}"


def _apart(found: Difference | None, digits: int) -> str:
    if found is None:
        return ""
    text = f"{found.mean:+.{digits}f}"
    if found.low is not None:
        text += f" [{found.low:+.{digits}f}, {found.high:+.{digits}f}]"
    return text.replace("-", "−")
