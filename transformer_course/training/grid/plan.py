"""What a grid trains: its variants, its cells, and their settings."""

import dataclasses
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_type_hints

import torch
from torch import nn

from transformer_course.checks import require_fits
from transformer_course.errors import ConfigError, CorpusError
from transformer_course.models.config import AnyModelConfig
from transformer_course.training import checkpoint
from transformer_course.training.config import Experiment
from transformer_course.training.tasks.table import find_task

BASE = "base"
"""The variant in which nothing is changed."""


@dataclass(frozen=True)
class Variant:
    """What differs from the base: one factor."""

    changes: dict[str, Any]
    """Settings by their dotted names, ``{"model.n_heads": 1}``."""
    label: str = ""
    """What a reader is told; the changes in words when empty."""
    row: str = ""
    """The letter of a published table's row that this one stands beside."""
    build: checkpoint.Build = checkpoint.build
    """From a config to the model, for what no setting says."""

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

    def check_variants(self, names: Sequence[str]) -> None:
        """See that the grid has variants of these names.

        Raises:
            ConfigError: it lacks one.
        """
        if unknown := [v for v in names if v not in self.all_variants]:
            raise ConfigError(
                f"the grid {self.name} has no variant {', '.join(unknown)}; "
                f"it has: {', '.join(self.all_variants)}."
            )

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
        require_fits(setting, value, known[setting])
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
        for name, hint in get_type_hints(type(getattr(base, part))).items()
    }


def _check_variant(grid: Grid, name: str) -> None:
    """Its experiment can be made, its model can be built, it differs."""
    changes = grid.all_variants[name].changes
    if "train.seed" in changes:
        raise ConfigError(
            f"variant {name!r} changes train.seed: list seeds in the grid."
        )
    try:
        changed = changed_experiment(grid.base, changes)
        find_task(changed.task).check(changed)
        weights(changed.model)
    except (ConfigError, CorpusError) as error:
        raise ConfigError(f"variant {name!r}: {error}") from error
    same = (changed, grid.all_variants[name].build) == (
        grid.base,
        checkpoint.build,
    )
    if name != BASE and same:
        raise ConfigError(
            f"variant {name!r} changes nothing: the base has {changes} "
            "already."
        )


@functools.cache
def weights(config: AnyModelConfig) -> int:
    """Number of weights of a model.

    For a vocabulary of the size asked for; a tokenizer may find fewer pieces.
    """
    with torch.random.fork_rng(devices=[]):
        return count(checkpoint.build(config))


def count(model: nn.Module) -> int:
    """Number of weights of a model that is there."""
    return sum(p.numel() for p in model.parameters())
