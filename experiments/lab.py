"""The engine of the experiments: variants, seeds, and what is stored already.

An :class:`Experiment` is variants × seeds. ``measure`` makes a record of one
variant with one seed, which is stored at once, so that an experiment can be
stopped at any time and goes on with what is missing. Several processes may
work on one experiment. An :class:`Analysis` trains nothing: it reads models
that have been trained, in folders of ``outputs/``.

Amounts of work (steps, sentences) go through :meth:`RunContext.limit`, so
that a smoke test does the same with less of everything.
"""

import dataclasses
import hashlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from experiments import store
from transformer_course.checkpoints.find import chosen_checkpoint
from transformer_course.checks import from_dict
from transformer_course.data.config import DataConfig
from transformer_course.data.corpora import corpus_of, pairs_of
from transformer_course.data.text import Splits
from transformer_course.device import machine
from transformer_course.errors import ConfigError, CourseError
from transformer_course.fast.chunked_loss import LESS_MEMORY
from transformer_course.fast.optimize import optimize
from transformer_course.training.config import changed_experiment
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.training import run

Record = dict[str, Any]
"""Anything that JSON can hold."""
SMOKE_LIMIT = 2
"""Steps, sentences and the like, in a smoke test."""


@dataclass(frozen=True)
class RunContext:
    """The folder of an experiment, and the part of it that is run."""

    folder: Path
    """Folder of the stored run."""
    only: tuple[str, ...] = ()
    """Chosen variants; the experiment's default ones when empty."""
    seeds: tuple[int, ...] = ()
    """Chosen seeds; the experiment's own when empty."""
    inputs: tuple[Path, ...] = ()
    """Folders of trainings, for experiments that read any."""
    smoke: bool = False
    """Run a few of everything, to see that all works."""
    log: Callable[[str], object] = print

    def stored(self, name: str) -> Path:
        """The folder of another stored run, beside this one's."""
        return self.folder.parent / name

    @property
    def outputs(self) -> Path:
        """The folder of trainings; in a smoke test beside the stored run."""
        return self.stored("outputs") if self.smoke else Path("outputs")

    def limit(self, number: int, smoke: int = SMOKE_LIMIT) -> int:
        """The number itself; in a smoke test at most ``smoke``."""
        return min(number, smoke) if self.smoke else number


class Job(ABC):
    """Anything that makes stored runs, with its chapter and its command."""

    name: str
    """Name of the module, with ``-`` for ``_``, and of the stored run."""
    chapter: str
    """The chapter that asks, as ``08_add_and_norm``."""
    adds_to: tuple[str, ...] = ()
    """Names of stored runs that another makes, and this one adds a file to."""
    takes: tuple[str, ...] = ()
    """Those of ``only``, ``seeds`` and ``inputs`` that can be chosen."""

    @property
    def command(self) -> str:
        """The command line that makes all of it."""
        return f"python -m experiments {self.name}"

    @property
    def makes(self) -> tuple[str, ...]:
        """Names of the stored runs that it makes."""
        return (self.name,)

    def command_for(self, run: str) -> str:
        """The command line that makes one of them."""
        return self.command

    @abstractmethod
    def make(self, context: RunContext) -> None:
        """Make what is missing."""


class Cell(NamedTuple):
    """One variant with one seed."""

    variant: str
    seed: int


@dataclass(frozen=True)
class Experiment(Job):
    """A question about variants, each measured with several seeds.

    Variants whose names begin with the same ``GROUP/`` form a group, which
    can be chosen and read by that name.
    """

    name: str
    chapter: str
    variants: Mapping[str, Any]
    """Anything that ``measure`` understands, by name."""
    measure: Callable[[Any, int, RunContext], Record]
    """From a variant, a seed and the context to a record."""
    seeds: tuple[int, ...] = (0, 1, 2)
    seeds_of: Mapping[str, Sequence[int]] = dataclasses.field(
        default_factory=dict
    )
    """The seeds of variants, or of their groups, that have fewer."""
    settings: Callable[[], Record] = dict
    """Settings that all records share, to be stored with them."""
    default_variants: tuple[str, ...] = ()
    """Variants that are made when none is chosen; all when empty."""
    smoke_variants: tuple[str, ...] = ()
    """Variants of the smoke test; the default ones when empty."""
    takes: tuple[str, ...] = ("only", "seeds")

    def cells(self, context: RunContext) -> list[Cell]:
        """The chosen cells, seed by seed, so that all variants advance alike.

        Raises:
            ConfigError: an unknown variant, or a seed that none of the
                chosen variants has.
        """
        smoke = self.smoke_variants if context.smoke else ()
        names = context.only or smoke or self.default_variants
        chosen = [v for v in self.variants if _is_named(v, names)]
        known = {part for v in chosen for part in (v, _group(v))}
        if unknown := sorted(set(names) - known):
            raise ConfigError(
                f"{self.name} has no variant {unknown[0]!r}; it has: "
                f"{', '.join(self.variants)}."
            )
        seeds = context.seeds or self.seeds[: 1 if context.smoke else None]
        found = [
            Cell(variant, seed)
            for seed in seeds
            for variant in chosen
            if seed
            in self.seeds_of.get(
                variant, self.seeds_of.get(_group(variant), self.seeds)
            )
        ]
        if lost := sorted(set(context.seeds) - {cell.seed for cell in found}):
            raise ConfigError(
                f"{self.name} has no variant among these with the seed "
                f"{lost[0]}; its seeds: {', '.join(map(str, self.seeds))}."
            )
        return found

    def missing(self, context: RunContext) -> list[Cell]:
        """The chosen cells that are not stored yet."""
        stored = {
            (variant, record["seed"])
            for variant, found in store.records_in(context.folder).items()
            for record in found
        }
        return [cell for cell in self.cells(context) if cell not in stored]

    def make(self, context: RunContext) -> None:
        """Measure what is missing, and store each record as it is made.

        Raises:
            ConfigError: an unknown variant or seed.
            CourseError: an error of ``measure``.
        """
        for cell in self.missing(context):
            if cell not in self.missing(context):
                continue  # another process has made it meanwhile
            variant, seed = cell
            measured = self.measure(self.variants[variant], seed, context)
            record = {"seed": seed, "machine": machine(), **measured}
            head = {"command": self.command, "settings": self.settings()}
            store.add_record(context.folder, variant, record, head)
            context.log(f"{self.name}: {variant}, seed {seed}")


def _group(variant: str) -> str:
    return variant.partition("/")[0]


def _is_named(variant: str, names: Sequence[str]) -> bool:
    """Whether a variant, or its group, is one of these; of none, all are."""
    return not names or variant in names or _group(variant) in names


@dataclass(frozen=True)
class Analysis(Job):
    """A question about models that have been trained.

    It is made anew each time, since other weights give other answers; notes
    that were written by hand into its files are kept by ``analyse``.
    """

    name: str
    chapter: str
    analyse: Callable[[RunContext], Iterator[str] | None]
    """Reads the trainings ``context.inputs``, writes below
    ``context.folder``, and yields lines for the log."""
    inputs: tuple[str, ...] = ()
    """The folders of trainings that the stored run was made of."""
    smoke_inputs: Callable[[Path], Sequence[Path]] = lambda scratch: ()
    """Makes tiny trainings in a folder, to be read in a smoke test."""
    writes: tuple[str, ...] = ()
    """Names of the stored runs it makes, where these are not its own."""
    adds_to: tuple[str, ...] = ()
    """As in Job; it makes none of its own then."""
    takes: tuple[str, ...] = ("inputs",)

    @property
    def command(self) -> str:
        """The command line that makes it."""
        return " ".join([super().command, *self.inputs])

    @property
    def makes(self) -> tuple[str, ...]:
        return self.writes or (() if self.adds_to else (self.name,))

    def command_for(self, run: str) -> str:
        training = f"outputs/{run}"
        if training in self.inputs and len(self.makes) > 1:
            return f"{super().command} {training}"
        return self.command

    def make(self, context: RunContext) -> None:
        """Read the trainings, and store the results.

        Raises:
            CourseError: an error of ``analyse``.
        """
        inputs = context.inputs or tuple(map(Path, self.inputs))
        if context.smoke:
            inputs = tuple(self.smoke_inputs(context.outputs))
        context = dataclasses.replace(context, inputs=inputs)
        for line in self.analyse(context) or ():
            context.log(f"{self.name}: {line}")


def made_of(name: str, context: RunContext) -> Record:
    """The head of a file that was made of trainings."""
    typed = ["python -m experiments", name, *map(str, context.inputs)]
    return {"command": " ".join(typed), "machine": machine()}


def made_of_checkpoint(name: str, chosen: Path, context: RunContext) -> Record:
    """The head of a file that was made of one checkpoint."""
    return {
        **made_of(name, context),
        "run": chosen.parents[1].name,
        "checkpoint": chosen.name,
        "weights": weights_of(chosen),
    }


def weights_of(chosen: Path) -> str:
    """The beginning of the sha256 of a checkpoint's weights."""
    weights = (chosen / "model.safetensors").read_bytes()
    return hashlib.sha256(weights).hexdigest()[:16]


def each_of(
    analyse: Callable[[Path, RunContext], Iterator[str]],
) -> Callable[[RunContext], Iterator[str]]:
    """Analyse the given trainings one after another."""
    return lambda context: itertools.chain.from_iterable(
        analyse(output, context) for output in context.inputs
    )


def store_each(
    results: Callable[[Path, RunContext], tuple[Record, dict | None]],
    describe: Callable[[Record], str],
) -> Callable[[RunContext], Iterator[str]]:
    """Store each of the given trainings with its results.

    Args:
        results: from a training's folder to its results, and BLEU's counts.
        describe: the results in a line of the log.
    """

    def analyse(output: Path, context: RunContext) -> Iterator[str]:
        found, counts = results(output, context)
        to = context.stored(output.name)
        store.save(output, output.name, like(output.name), found, counts, to)
        yield f"{output.name}: {describe(found)}"

    return each_of(analyse)


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
    """The command line that trains a stored run again."""
    return f"transformer-course train --like experiments/results/{name}"


TINY = {
    "model.d_model": 16,
    "model.n_heads": 2,
    "model.d_ff": 32,
    "model.n_layers": 1,
    "data.train_pairs": 100,
    "train.epochs": 1,
}
"""Settings of a training of seconds."""


def splits_for(details: Record, context: RunContext) -> Splits:
    """The corpus of a checkpoint, or its own files; in a smoke test little.

    Args:
        details: of the checkpoint.
        context: how much of it.
    """
    keys = ("corpus", "src", "tgt", "files", "sha256", "spaced")
    known = {key: details[key] for key in keys if details.get(key)}
    data = from_dict(DataConfig, known)
    splits = pairs_of(corpus_of(data), data.src, data.tgt)
    sizes = {"train": context.limit(len(splits.train), 50)}
    sizes |= {
        p: context.limit(len(getattr(splits, p))) for p in ("dev", "test")
    }
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
    return run(
        settings, scratch, quiet=True, optimize=optimize, losses=LESS_MEMORY
    )
