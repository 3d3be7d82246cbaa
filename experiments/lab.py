"""What every experiment shares: variants, seeds, what is there already.

An :class:`Experiment` is variants × seeds. One variant with one seed is a
*cell*: ``measure`` makes a record of it, which is stored as soon as it is
there, so that an experiment can be stopped at any time and goes on with what
is missing. A :class:`Reading` trains nothing: it asks models that have been
trained, in folders of ``outputs/``.

What says how much is done (steps, sentences) goes through :meth:`Bench.few`,
so that a smoke test does the same with less of everything.
"""

import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from transformer_course import runs
from transformer_course.data.corpora import load_corpus
from transformer_course.data.text import Splits
from transformer_course.device import joined, machine
from transformer_course.errors import ConfigError, CourseError
from transformer_course.training.grid import (
    Grid,
    changed_experiment,
    read,
    train,
)
from transformer_course.training.presets import PRESETS
from transformer_course.training.run import chosen_checkpoint, run

Record = dict[str, Any]
"""What JSON can hold."""
FEW = 2
"""Steps, sentences and the like, in a smoke test."""


@dataclass(frozen=True)
class Bench:
    """Where an experiment is made, and how much of it."""

    folder: Path
    """Of the stored run."""
    only: tuple[str, ...] = ()
    """Variants; all when empty."""
    seeds: tuple[int, ...] = ()
    """Those of the experiment when empty."""
    inputs: tuple[Path, ...] = ()
    """Folders of trainings, for what reads them."""
    smoke: bool = False
    """A few of everything, to see that all works."""
    say: Callable[[str], object] = print

    def stored(self, name: str) -> Path:
        """The folder of another stored run, beside this one's."""
        return self.folder.parent / name

    @property
    def outputs(self) -> Path:
        """Where trainings are; of a smoke test those beside the stored run."""
        return self.stored("outputs") if self.smoke else Path("outputs")

    def few(self, usual: int, smoke: int = FEW) -> int:
        """As many as usual; in a smoke test a few, and never more."""
        return min(usual, smoke) if self.smoke else usual


# --- how cells stand in files ------------------------------------------------


class Files:
    """A file for each variant, with a list of the seeds' records."""

    indent: int | None = None

    def path(self, name: str) -> str:
        """The file of a variant."""
        return f"{name}.json"

    def begin(self, about: Record) -> Record:
        """A file without records."""
        return {**about, "seeds": []}

    def records(self, stored: Record, name: str) -> list[Record]:
        """A variant's records in its file, to be looked at or added to."""
        return stored["seeds"]

    def has(self, stored: Record, name: str, seed: int) -> bool:
        """Whether a cell is there."""
        return any(r["seed"] == seed for r in self.records(stored, name))

    def put(self, stored: Record, name: str, result: Record) -> None:
        """Add a cell."""
        self.records(stored, name).append(result)


class Groups(Files):
    """A file for several variants: GROUP/NAME is NAME in GROUP.json."""

    def path(self, name: str) -> str:
        return f"{name.partition('/')[0]}.json"

    def begin(self, about: Record) -> Record:
        return {}

    def records(self, stored: Record, name: str) -> list[Record]:
        return stored.setdefault(name.partition("/")[2], [])


@dataclass(frozen=True)
class Rows(Groups):
    """As groups are, but ``FIELD`` of a file lists all of its records.

    A record says by itself which variant it is of.
    """

    field: str
    name: Callable[[Record], str]
    """From a record to NAME."""
    indent: int | None = 1

    def begin(self, about: Record) -> Record:
        return {**about, self.field: []}

    def records(self, stored: Record, name: str) -> list[Record]:
        return stored[self.field]

    def has(self, stored: Record, name: str, seed: int) -> bool:
        wanted = name.partition("/")[2]
        return any(
            self.name(r) == wanted and r.get("seed", seed) == seed
            for r in self.records(stored, name)
        )


@dataclass(frozen=True)
class Entries(Files):
    """One file for all, ``FIELD`` of which has an entry for each variant."""

    file: str
    field: str
    indent: int | None = 1

    def path(self, name: str) -> str:
        return self.file

    def begin(self, about: Record) -> Record:
        return {**about, self.field: {}}

    def has(self, stored: Record, name: str, seed: int) -> bool:
        return name in stored[self.field]

    def put(self, stored: Record, name: str, result: Any) -> None:
        stored[self.field][name] = result


# --- experiments -------------------------------------------------------------


class Made(ABC):
    """What makes stored runs: a question with its chapter and its command."""

    name: str
    """Of the module, with ``-`` for ``_``, and of the folder in ``runs/``."""
    chapter: str
    """The chapter that asks, as ``08_add_and_norm``."""
    adds_to: tuple[str, ...] = ()
    """Names of stored runs that another makes, and this one adds a file to."""
    takes: tuple[str, ...] = ()
    """Which of ``only``, ``seeds`` and ``inputs`` can be chosen."""

    @property
    def command(self) -> str:
        """What is typed to make all of it."""
        return f"python -m experiments {self.name}"

    @property
    def makes(self) -> tuple[str, ...]:
        """Names of the stored runs that it makes."""
        return (self.name,)

    def command_for(self, run: str) -> str:
        """What is typed to make one of them."""
        return self.command

    @abstractmethod
    def states(self, bench: Bench) -> list[str]:
        """What is there, a line each."""

    @abstractmethod
    def make(self, bench: Bench) -> None:
        """Make what is missing."""


class Cell(NamedTuple):
    """One variant with one seed."""

    variant: str
    seed: int


@dataclass(frozen=True)
class Experiment(Made):
    """A question that is asked of variants, each with several seeds.

    Raises:
        ConfigError: seeds that are missing or repeated, or no variant.
    """

    name: str
    chapter: str
    variants: Mapping[str, Any]
    """By name: whatever ``measure`` understands."""
    measure: Callable[[Any, int, Bench], Any]
    """From a variant, a seed and the bench to the record of the cell."""
    seeds: tuple[int, ...] = (0, 1, 2)
    seeds_of: Mapping[str, Sequence[int]] = dataclasses.field(
        default_factory=dict
    )
    """Of groups that have fewer."""
    about: Callable[[Any], Record] = lambda variant: {"about": variant.about}
    """What heads the file of a variant."""
    settings: Callable[[], Record] | None = None
    """What ``settings.json`` says beside command, machine and seeds; there is
    no such file when None."""
    conditions: Callable[[], Record] = dict
    """What it says of the measurement besides the machine; where that changes
    before all is measured, both are named: "A; then B"."""
    files: Files = Files()  # noqa: RUF009 (it has no state)
    usual: tuple[str, ...] = ()
    """Variants that are made when none is named; all when empty."""
    smoked: tuple[str, ...] = ()
    """Variants of the smoke test; the usual ones when empty."""
    reads: bool = False
    """Whether ``measure`` needs trainings, in folders that are given."""

    def __post_init__(self):
        if not self.variants:
            raise ConfigError(f"the experiment {self.name} has no variant.")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(
                f"the seeds of {self.name} are {self.seeds}: give one or "
                "more, all different."
            )

    @property
    def takes(self) -> tuple[str, ...]:
        """Variants, seeds where there are several, trainings if it reads
        any."""
        seeds = ("seeds",) if len(self.seeds) > 1 else ()
        return ("only", *seeds, *(("inputs",) if self.reads else ()))

    def cells(self, bench: Bench) -> list[Cell]:
        """What is asked for, seed by seed, so that all variants advance alike.

        Raises:
            ConfigError: a variant that there is not, or none with these
                seeds.
        """
        smoked = self.smoked if bench.smoke else ()
        names = bench.only or smoked or self.usual
        chosen = [v for v in self.variants if _is_named(v, names)]
        known = {part for v in chosen for part in (v, v.partition("/")[0])}
        if unknown := sorted(set(names) - known):
            raise ConfigError(
                f"{self.name} has no variant {unknown[0]!r}; it has: "
                f"{', '.join(self.variants)}."
            )
        seeds = bench.seeds or self.seeds[: 1 if bench.smoke else None]
        cells = [
            Cell(v, s)
            for s in seeds
            for v in chosen
            if s in self.seeds_of.get(v.partition("/")[0], seeds)
        ]
        if not cells and bench.seeds:
            raise ConfigError(
                f"{self.name} has no variant among these with the seed "
                f"{bench.seeds[0]}: leave out --seeds."
            )
        return cells

    def missing(self, bench: Bench) -> list[Cell]:
        """The cells that are not stored yet."""
        return [c for c in self.cells(bench) if not self._is_stored(c, bench)]

    def states(self, bench: Bench) -> list[str]:
        """A line for each cell: whether it is there."""
        missing = self.missing(bench)
        return [
            f"{'missing' if cell in missing else 'stored':8} "
            f"{cell.variant}, seed {cell.seed}"
            for cell in self.cells(bench)
        ]

    def make(self, bench: Bench) -> None:
        """Measure what is missing, and store each cell as it ends.

        Raises:
            ConfigError: a variant that there is not.
            CourseError: what measuring raises.
        """
        here = {"machine": machine(), **self.conditions()}
        for cell in self.missing(bench):
            if self._is_stored(cell, bench):
                continue  # one cell may stand for several seeds
            result = self.measure(self.variants[cell.variant], cell[1], bench)
            if self.settings:
                self._write_settings(cell.seed, here, bench.folder)
            stored = self._stored(cell, bench)
            if "machine" in stored:
                stored["machine"] = joined(stored["machine"], here["machine"])
            self.files.put(stored, cell.variant, result)
            path = self._path(cell, bench)
            runs.write_json(path, stored, self.files.indent)
            bench.say(f"{self.name}: {cell.variant}, seed {cell.seed}")

    def _write_settings(self, seed: int, here: Record, folder: Path) -> None:
        """Add a seed, and where it was measured, to ``settings.json``."""
        path = folder / "settings.json"
        old = json.loads(path.read_text("utf-8")) if path.exists() else {}
        here = {key: joined(old.get(key), now) for key, now in here.items()}
        seeds = sorted({*old.get("seeds", []), seed})
        about = {"command": self.command, **here, "seeds": seeds}
        runs.write_json(path, about | self.settings())

    def _path(self, cell: Cell, bench: Bench) -> Path:
        return bench.folder / self.files.path(cell.variant)

    def _stored(self, cell: Cell, bench: Bench) -> Record:
        """The file of a cell, as it is or as it begins."""
        path = self._path(cell, bench)
        if path.exists():
            return json.loads(path.read_text("utf-8"))
        return self.files.begin(self.about(self.variants[cell.variant]))

    def _is_stored(self, cell: Cell, bench: Bench) -> bool:
        return self._path(cell, bench).exists() and self.files.has(
            self._stored(cell, bench), *cell
        )


def _is_named(variant: str, names: Sequence[str]) -> bool:
    """Whether a variant, or its group, is one of these; of none, all are."""
    return not names or variant in names or variant.partition("/")[0] in names


@dataclass(frozen=True)
class Reading(Made):
    """A question that is asked of models which have been trained.

    It is made anew, since other weights give other answers; what was written
    by hand into its files is kept by ``read``.
    """

    name: str
    chapter: str
    read: Callable[[Bench], Iterator[str] | None]
    """Asks the trainings ``bench.inputs``, writes below ``bench.folder``, and
    yields what is to be said."""
    inputs: tuple[str, ...] = ()
    """The folders of trainings that the stored run was made of."""
    smoke_inputs: Callable[[Path], Sequence[Path]] = lambda scratch: ()
    """Makes tiny trainings in a folder, to be read in a smoke test."""
    writes: tuple[str, ...] = ()
    """Names of the stored runs it makes, where these are not its own."""
    adds_to: tuple[str, ...] = ()
    """As in Made; it makes none of its own then."""
    takes: tuple[str, ...] = ("inputs",)
    exact: bool = False
    """Whether it reads as many trainings as ``inputs`` has, in that order."""

    @property
    def command(self) -> str:
        """What is typed to make it."""
        return " ".join([super().command, *self.inputs])

    @property
    def makes(self) -> tuple[str, ...]:
        return self.writes or (() if self.adds_to else (self.name,))

    def command_for(self, run: str) -> str:
        training = f"outputs/{run}"
        if training in self.inputs and len(self.makes) > 1:
            return f"{super().command} {training}"
        return self.command

    def states(self, bench: Bench) -> list[str]:
        """A line for each training that it reads."""
        return [f"reads    {path}" for path in self._given(bench)]

    def make(self, bench: Bench) -> None:
        """Ask, and store what was answered.

        Raises:
            ConfigError: more or fewer trainings than it reads.
            CourseError: what reading raises.
        """
        inputs = self._given(bench)
        if bench.smoke:
            scratch = bench.folder.parent / "outputs"
            inputs = tuple(self.smoke_inputs(scratch))
        bench = dataclasses.replace(bench, inputs=inputs)
        for line in self.read(bench) or ():
            bench.say(f"{self.name}: {line}")

    def _given(self, bench: Bench) -> tuple[Path, ...]:
        """The trainings that are to be read."""
        given = bench.inputs or tuple(map(Path, self.inputs))
        if self.exact and len(given) != len(self.inputs):
            raise ConfigError(
                f"{self.name} was given {len(given)} trainings: expected "
                f"{len(self.inputs)}, as {' '.join(self.inputs)}."
            )
        return given


def made_of(name: str, bench: Bench) -> Record:
    """What heads a file that was made of trainings."""
    typed = ["python -m experiments", name, *map(str, bench.inputs)]
    return {"command": " ".join(typed), "machine": machine()}


def checkpoint_of(output: Path) -> Path:
    """The checkpoint that a training chose.

    Raises:
        CourseError: it has none.
    """
    chosen = chosen_checkpoint(output)
    if chosen is None:
        raise CourseError(f"{output} has no checkpoint: train it first.")
    return chosen


def like(name: str) -> str:
    """What is typed to train a stored run again."""
    return f"transformer-course train --like runs/{name}"


@dataclass(frozen=True)
class Table(Made):
    """A grid of the package: settings varied, scored on the development set.

    It may be stopped anywhere, and several processes may work on it.
    """

    grid: Grid
    chapter: str
    beside: Callable[[Path], None] = lambda folder: None
    """Writes what else the chapter reads into the folder."""
    smoked: tuple[str, ...] = ()
    """Variants of the smoke test; all when empty."""
    takes: tuple[str, ...] = ("only",)

    @property
    def name(self) -> str:
        return self.grid.name

    def states(self, bench: Bench) -> list[str]:
        """A line for each cell: whether it is there.

        Raises:
            ConfigError: a variant that there is not.
        """
        self.grid.check_variants(bench.only)
        there = read(self.name, bench.folder).cells
        return [
            f"{'stored' if cell in there else 'missing':8} "
            f"{cell.variant}, seed {cell.seed}"
            for cell in self.grid.cells
            if not bench.only or cell.variant in bench.only
        ]

    def make(self, bench: Bench) -> None:
        """Train the cells that are missing.

        Raises:
            ConfigError: a variant that there is not.
        """
        grid, outputs = self.grid, Path("outputs")
        if bench.smoke:
            grid, outputs = self.shortened(), bench.stored("outputs")
        found = train(
            grid,
            outputs,
            bench.folder,
            command=self.command,
            only=bench.only,
            quiet=bench.smoke,
        )
        self.beside(bench.folder)
        bench.say(f"{self.name}: {len(found.cells)} cells\n{found.markdown()}")

    def shortened(self) -> Grid:
        """A few variants, tiny, on a few pairs of the built-in grammar."""
        text = {"data.corpus": "grammar", "data.pieces": "word"}
        base = changed_experiment(self.grid.base, TINY | text)
        chosen = self.smoked or tuple(self.grid.variants)
        variants = {name: self.grid.variants[name] for name in chosen}
        return Grid(self.name, base, variants, self.grid.seeds[:1])


TINY = {
    "model.d_model": 16,
    "model.n_heads": 2,
    "model.d_ff": 32,
    "model.n_layers": 1,
    "data.train_pairs": 100,
    "train.epochs": 1,
}
"""Settings of a training of seconds."""


def splits_for(details: Record, bench: Bench) -> Splits:
    """What a checkpoint was trained on; in a smoke test little of it.

    Args:
        details: of the checkpoint.
        bench: how much of it.
    """
    about = {key: details[key] for key in ("src", "tgt")}
    splits = load_corpus(details["corpus"], **about)
    sizes = {"train": bench.few(len(splits.train), 50)}
    sizes |= {p: bench.few(len(getattr(splits, p))) for p in ("dev", "test")}
    return Splits(
        **{p: getattr(splits, p).take(range(n)) for p, n in sizes.items()}
    )


def tiny_run(
    scratch: Path, name: str, preset: str = "grammar", **changes: Any
) -> Path:
    """Train a preset of the built-in grammar for seconds: a folder to read.

    Args:
        scratch: the folder is made in here.
        name: of the folder.
        preset: ``grammar`` or ``grammar-lm``.
        changes: settings besides, by their dotted names.
    """
    settings = changed_experiment(PRESETS[preset], TINY | changes)
    settings = dataclasses.replace(settings, name=name)
    return run(settings, scratch, quiet=True)
