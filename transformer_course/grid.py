"""A grid: an experiment varied one factor at a time, with several seeds.

Table 3 of the paper is one (chapter 15). A grid is a base experiment,
variants that each change a factor of it, and seeds. One variant with one seed
is a *cell*: a training in ``outputs/GRID/VARIANT-seedK/``. :func:`train`
trains what is missing and writes to ``runs/GRID/``: ``settings.json``, a file
for each cell in ``cells/``, and the table as ``table.json``, ``table.csv``
and ``table.md``. :func:`read` reads it back.

It may be stopped anywhere: started again, it goes on from the last
checkpoint. Several processes may work on one grid; small models are trained
fastest by as many as there are cores, with one thread each.
"""

import contextlib
import csv
import dataclasses
import functools
import io
import json
import re
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin
from typing import get_type_hints as type_hints

import torch
from scipy.stats import t as student_t
from torch import nn

from transformer_course import checkpoint, experiment, runs
from transformer_course.config import Experiment, ModelConfig, RecurrentConfig
from transformer_course.errors import ConfigError, CourseError
from transformer_course.experiment import Interrupted, dev_quality

try:
    import fcntl
except ImportError:  # Windows: one process at a time
    fcntl = None

BASE = "base"
"""The variant in which nothing is changed."""
METRICS = {
    "bleu": ("BLEU", 1),
    "nll": ("nll", 3),
    "perplexity": ("perplexity", 2),
    "accuracy": ("accuracy", 3),
}
"""Measured on the development set: how it is called, digits shown."""
CONFIDENCE = 0.95
FREE = ("device", "save_every")
"""Settings of the training that may change while a grid is trained."""


@dataclass(frozen=True)
class Variant:
    """What differs from the base: one factor."""

    changes: dict[str, Any]
    """Settings by their dotted names, ``{"model.n_heads": 1}``."""
    label: str = ""
    """What a reader is told; the changes in words when empty."""
    row: str = ""
    """The letter of a published table's row that this one stands beside."""
    within: Callable[[], AbstractContextManager] | None = None
    """For what no setting says: a context in which the variant is trained and
    its model built."""

    def context(self) -> AbstractContextManager:
        """Where the variant is trained."""
        return self.within() if self.within else contextlib.nullcontext()

    def described(self) -> dict[str, Any]:
        """All that can be stored."""
        names = ("changes", "label", "row")
        return {name: getattr(self, name) for name in names}


class Cell(NamedTuple):
    """One training of a grid."""

    variant: str
    seed: int

    @property
    def name(self) -> str:
        """Names its folder and its file."""
        return f"{self.variant}-seed{self.seed}"


@dataclass(frozen=True)
class Grid:
    """Variants × seeds.

    Raises:
        ConfigError: a variant changes a setting that does not exist, gives
            one a value that it cannot have, or changes nothing; a name that
            cannot be a folder's; seeds that are missing or repeated.
    """

    name: str
    """Names ``outputs/NAME`` and ``runs/NAME``."""
    base: Experiment
    variants: dict[str, Variant]
    """By name; the base itself is added, under the name ``base``."""
    seeds: tuple[int, ...] = (0, 1, 2)

    def __post_init__(self):
        for name in (self.name, *self.variants):
            if not re.fullmatch(r"[\w.-]+", name):
                raise ConfigError(
                    f"{name!r} names a folder: use letters, digits, - and ."
                )
        if BASE in self.variants:
            raise ConfigError(
                f"a variant is called {BASE!r}, as the unchanged experiment "
                "is: give it another name."
            )
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(
                f"the seeds are {self.seeds}: give one or more, all different."
            )
        for name in self.all_variants:
            _check_variant(self, name)

    @property
    def all_variants(self) -> dict[str, Variant]:
        """The base, and the variants."""
        return {BASE: Variant({}, "the base")} | self.variants

    @property
    def cells(self) -> list[Cell]:
        """All trainings, seed by seed, so that all variants advance alike."""
        return [Cell(v, s) for s in self.seeds for v in self.all_variants]

    def experiment(self, cell: Cell) -> Experiment:
        """The settings of a cell."""
        changes = self.all_variants[cell.variant].changes
        changed = changed_experiment(self.base, changes)
        train = dataclasses.replace(changed.train, seed=cell.seed)
        return dataclasses.replace(changed, name=cell.name, train=train)


def changed_experiment(
    base: Experiment, changes: dict[str, Any]
) -> Experiment:
    """An experiment with settings changed by their dotted names.

    Raises:
        ConfigError: a setting that does not exist, or a value that it cannot
            have.
    """
    known = _settings_of(base)
    parts: dict[str, dict[str, Any]] = {}
    for setting, value in changes.items():
        if setting not in known:
            raise ConfigError(
                f"there is no setting {setting!r}; there are: "
                f"{', '.join(sorted(known))}."
            )
        if not _fits(value, known[setting]):
            kind = getattr(known[setting], "__name__", known[setting])
            raise ConfigError(
                f"{setting} cannot be {value!r}: expected {kind}."
            )
        part, _, name = setting.partition(".")
        parts.setdefault(part, {})[name] = value
    changed = {
        part: dataclasses.replace(getattr(base, part), **values)
        for part, values in parts.items()
    }
    return dataclasses.replace(base, **changed)


def _settings_of(base: Experiment) -> dict[str, Any]:
    """Every dotted name, and the type of its values."""
    return {
        f"{part}.{name}": hint
        for part in ("data", "model", "train")
        for name, hint in type_hints(type(getattr(base, part))).items()
    }


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a setting's type."""
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_args(hint):  # one of several types
        return any(_fits(value, one) for one in get_args(hint))
    if hint is NoneType:
        return value is None
    return type(value) is hint


def _check_variant(grid: Grid, name: str) -> None:
    """Its experiment can be made, its model can be built, it differs."""
    changes = grid.all_variants[name].changes
    if "train.seed" in changes:
        raise ConfigError(
            f"variant {name!r} changes train.seed: list seeds in the grid."
        )
    try:
        changed = changed_experiment(grid.base, changes)
        weights(changed.model)
    except ConfigError as error:
        raise ConfigError(f"variant {name!r}: {error}") from error
    within = grid.all_variants[name].within
    if name != BASE and changed == grid.base and within is None:
        raise ConfigError(
            f"variant {name!r} changes nothing: the base has {changes} "
            "already."
        )


@functools.cache
def weights(config: ModelConfig | RecurrentConfig) -> int:
    """Number of weights of a model.

    For a vocabulary of the size asked for; a tokenizer may find fewer pieces.
    """
    with torch.random.fork_rng(devices=[]):
        return _count(checkpoint.build(config))


def _count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


# --- training ---------------------------------------------------------------


def train(
    grid: Grid,
    output_dir: Path = Path("outputs"),
    folder: Path | None = None,
    *,
    command: str = "",
    only: Sequence[str] = (),
    keep: bool = False,
    quiet: bool = False,
) -> "StoredGrid":
    """Train the cells that are missing, and write the table.

    A cell whose record is stored is never trained again. One that another
    process has under way is left to it.

    Args:
        grid: what to train.
        output_dir: trainings go to ``output_dir/GRID``.
        folder: records and table go here; ``runs/GRID`` when None.
        command: what was typed, to be stored with the results.
        only: train these variants only; all when empty.
        keep: keep the checkpoints of finished cells.
        quiet: print nothing.

    Returns:
        The grid as it is stored afterwards.

    Raises:
        ConfigError: a variant in ``only`` that the grid does not have, or
            settings that differ from those that a cell was trained with.
        Interrupted: Ctrl-C; what was under way has been saved.
        CourseError: what a training raises, when it concerns all of them (no
            corpus, a full disk). One that diverges is recorded as such.
    """
    unknown = [v for v in only if v not in grid.all_variants]
    if unknown:
        raise ConfigError(
            f"the grid {grid.name} has no variant {', '.join(unknown)}; it "
            f"has: {', '.join(grid.all_variants)}."
        )
    folder = folder or runs.folder(grid.name)
    work = _Work(grid, Path(output_dir) / grid.name, folder, keep)
    work.check()
    cells = [c for c in grid.cells if not only or c.variant in only]
    clock = _Clock(work, cells, quiet)
    if work.missing(cells):
        work.write_settings(command)
        _train_missing(work, cells, clock)
    for cell in cells:
        work.tidy(cell)
    work.write_table()
    return read(grid.name, folder)


def _train_missing(work: "_Work", cells: list[Cell], clock: "_Clock") -> None:
    """Pass over the cells until none is missing that could be taken up."""
    took_up = True
    while took_up:
        took_up = False
        for cell in work.missing(cells):
            with _locked(work.lock(cell.name)) as mine:
                if not mine or work.stored(cell):
                    continue
                took_up = True
                clock.begins(cell)
                work.train(cell)
            work.write_table()
            clock.ends(cell)
    clock.leaves()


@dataclass(frozen=True)
class _Work:
    """A grid and its two folders: what is there, and how more is made."""

    grid: Grid
    outputs: Path
    folder: Path
    keep: bool

    def record(self, cell: Cell) -> Path:
        return self.folder / "cells" / f"{cell.name}.json"

    def lock(self, name: str) -> Path:
        return self.outputs / ".locks" / name

    def stored(self, cell: Cell) -> bool:
        return self.record(cell).exists()

    def missing(self, cells: list[Cell]) -> list[Cell]:
        return [cell for cell in cells if not self.stored(cell)]

    def check(self) -> None:
        """Every cell that is there has the settings that are given now."""
        for cell in self.grid.cells:
            begun = self.outputs / cell.name / "experiment.json"
            if self.stored(cell):
                there = json.loads(self.record(cell).read_text("utf-8"))
                self._compare(cell, there["settings"], self.record(cell))
            elif begun.exists():
                there = json.loads(begun.read_text("utf-8"))
                self._compare(cell, there, begun.parent)

    def _compare(self, cell: Cell, old: dict, path: Path) -> None:
        now = self.grid.experiment(cell)
        if change := _difference(old, now):
            raise ConfigError(
                f"{path} was trained with {change}: give the grid another "
                "name, or delete what is there to have it anew."
            )

    def write_settings(self, command: str) -> None:
        grid = self.grid
        variants = grid.all_variants.items()
        about = {
            "name": grid.name,
            "command": command,
            "machine": runs.machine(),
            "seeds": grid.seeds,
            "variants": {name: v.described() for name, v in variants},
            "base": asdict(grid.base),
        }
        with _locked(self.lock("table"), wait=True):
            path = self.folder / "settings.json"
            runs.write_json(path, about, indent=1)

    def train(self, cell: Cell) -> None:
        """Train a cell, or go on with it, and store what came of it."""
        with self.grid.all_variants[cell.variant].context():
            record = self._train(cell)
        runs.write_json(self.record(cell), record, indent=1)
        self.tidy(cell)

    def _train(self, cell: Cell) -> dict[str, Any]:
        settings = self.grid.experiment(cell)
        begun = (self.outputs / cell.name / "experiment.json").exists()
        try:
            experiment.run(settings, self.outputs, resume=begun, quiet=True)
        except Interrupted as stop:
            raise Interrupted(
                f"stopped in {cell.name}, and saved. Go on with the same "
                "command."
            ) from stop
        except CourseError as error:
            if type(error) is not CourseError:  # not this training's fault
                raise
            diverged = str(error)
        else:
            diverged = ""
        found = _scored(self.outputs / cell.name, diverged)
        return {
            "variant": cell.variant,
            "seed": cell.seed,
            **found,
            "machine": runs.machine(),
            "settings": asdict(settings),
        }

    def tidy(self, cell: Cell) -> None:
        """Delete a finished cell's checkpoints, which are large."""
        if self.stored(cell) and not self.keep:
            path = self.outputs / cell.name / "checkpoints"
            shutil.rmtree(path, ignore_errors=True)

    def write_table(self) -> None:
        """Write the table of the cells that are there."""
        if not (self.folder / "settings.json").exists():
            return
        with _locked(self.lock("table"), wait=True):
            found = read(self.grid.name, self.folder)
            table = [asdict(row) for row in found.rows]
            about = {"split": "dev", "interval": INTERVAL, "rows": table}
            runs.write_json(self.folder / "table.json", about, indent=1)
            runs.write_text(self.folder / "table.csv", found.csv())
            runs.write_text(self.folder / "table.md", found.markdown())


def _difference(old: dict, now: Experiment) -> str:
    """The first setting that differs, in words; "" if none.

    A setting that is younger than the old ones had its default then.
    """
    for part in ("data", "model", "train"):
        config = getattr(now, part)
        before = asdict(type(config)()) | old[part]
        for name, value in asdict(config).items():
            if before[name] != value and name not in FREE:
                return (
                    f"{part}.{name} {before[name]}, but {value} is given now"
                )
    return ""


def _scored(folder: Path, diverged: str) -> dict[str, Any]:
    """What a run recorded: the best weights' scores, and the curve.

    The best epoch is taken, or the average of the last ones where that is
    better, both by the development set.
    """
    records = runs.read_lines(folder / "metrics.jsonl")
    scored = [r for r in records if r["kind"] != "step"]
    curve = [_curve_point(r) for r in scored if r["kind"] == "epoch"]
    if diverged:
        return {"diverged": diverged, "curve": curve}
    best = max(scored, key=dev_quality)
    chosen = experiment.chosen_checkpoint(folder)
    return {
        "weights": _count(checkpoint.load(chosen).model),
        "chosen": f"epoch {best['epoch']}" if "epoch" in best else "average",
        "dev": runs.rounded(
            {m: best[f"dev_{m}"] for m in METRICS if f"dev_{m}" in best}
        ),
        "curve": curve,
    }


def _curve_point(record: dict[str, Any]) -> dict[str, Any]:
    """An epoch's figures, without its samples."""
    kept = ("epoch", "step", "train_", "dev_")
    return runs.rounded(
        {k: v for k, v in record.items() if k.startswith(kept)}
    )


@contextlib.contextmanager
def _locked(path: Path, wait: bool = False) -> Iterator[bool]:
    """Hold a lock; gives False where another process holds it.

    The system lets go of it when the process ends, however that ends, so a
    kill leaves nothing behind that must be cleared away.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        yield fcntl is None or _lock(file, wait)


def _lock(file, wait: bool) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


class _Clock:
    """Says what is done, what remains, and about how long it takes.

    The pace is that of all processes together: the cells that have been
    finished since this one began, each counted by its weights × epochs.
    """

    def __init__(self, work: _Work, cells: list[Cell], quiet: bool):
        self.work, self.cells, self.quiet = work, cells, quiet
        self.started = time.monotonic()
        self.left_at_start = work.missing(cells)
        self._say(
            f"{work.grid.name}: {len(cells)} cells, "
            f"{len(cells) - len(self.left_at_start)} are done"
        )

    def begins(self, cell: Cell) -> None:
        settings = self.work.grid.experiment(cell)
        self._say(
            f"{cell.name}: begins, about {weights(settings.model):,} weights, "
            f"{settings.train.epochs} epochs"
        )

    def ends(self, cell: Cell) -> None:
        record = json.loads(self.work.record(cell).read_text("utf-8"))
        scores = ", ".join(
            f"{METRICS[name][0]} {value:.{METRICS[name][1]}f}"
            for name, value in record.get("dev", {}).items()
        )
        left = self.work.missing(self.cells)
        end = f"; {len(left)} to go, {self._guess(left)}" if left else ""
        self._say(
            f"{cell.name}: done, dev {scores or record['diverged']}{end}"
        )

    def leaves(self) -> None:
        if left := self.work.missing(self.cells):
            self._say(f"{len(left)} under way in other processes")

    def _guess(self, left: list[Cell]) -> str:
        done = self._cost(self.left_at_start) - self._cost(left)
        seconds = time.monotonic() - self.started
        return f"about {_in_words(seconds * self._cost(left) / done)}"

    def _cost(self, cells: list[Cell]) -> int:
        experiments = [self.work.grid.experiment(cell) for cell in cells]
        return sum(weights(e.model) * e.train.epochs for e in experiments)

    def _say(self, line: str) -> None:
        if not self.quiet:
            print(f"{time.strftime('%H:%M')} {line}", flush=True)


def _in_words(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{max(1, minutes)} min"
    return f"{minutes // 60} h {minutes % 60:02} min"


# --- the table --------------------------------------------------------------

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
