"""How a grid is trained: cell by cell, and on from where it was stopped."""

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transformer_course import files, runs
from transformer_course.device import joined, machine
from transformer_course.errors import ConfigError, DivergedError, Interrupted
from transformer_course.training import checkpoint
from transformer_course.training.grid.plan import Cell, Grid, count, weights
from transformer_course.training.grid.results import (
    INTERVAL,
    METRICS,
    StoredGrid,
    read,
)
from transformer_course.training.run.folder import (
    Record,
    RunFolder,
    changed_setting,
    quality_of,
)
from transformer_course.training.run.training import run

FREE = ("device", "save_every")
"""Settings of the training that may change while a grid is trained."""


def train(
    grid: Grid,
    output_dir: Path = Path("outputs"),
    folder: Path | None = None,
    *,
    command: str = "",
    only: Sequence[str] = (),
    keep: bool = False,
    quiet: bool = False,
) -> StoredGrid:
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
    grid.check_variants(only)
    folder = folder or runs.folder(grid.name)
    work = _Work(grid, Path(output_dir) / grid.name, folder, keep)
    work.check()
    cells = [c for c in grid.cells if not only or c.variant in only]
    clock = _Clock(work, cells, quiet)
    if work.missing(cells):
        work.write_settings(command)
        _train_missing(work, cells, clock, command)
    for cell in cells:
        work.tidy(cell)
    work.write_table()
    return read(grid.name, folder)


def _train_missing(
    work: "_Work", cells: list[Cell], clock: "_Clock", command: str
) -> None:
    """Pass over the cells until none is missing that could be taken up."""
    took_up = True
    while took_up:
        took_up = False
        for cell in work.missing(cells):
            with files.locked(work.lock(cell.name)) as mine:
                if not mine or work.stored(cell):
                    continue
                took_up = True
                clock.begins(cell)
                work.train(cell, command)
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

    def run(self, cell: Cell) -> RunFolder:
        return RunFolder(self.outputs / cell.name)

    def lock(self, name: str) -> Path:
        return self.outputs / ".locks" / name

    def stored(self, cell: Cell) -> bool:
        return self.record(cell).exists()

    def missing(self, cells: list[Cell]) -> list[Cell]:
        return [cell for cell in cells if not self.stored(cell)]

    def check(self) -> None:
        """Every cell that is there has the settings that are given now."""
        for cell in self.grid.cells:
            begun = self.run(cell)
            if self.stored(cell):
                there = json.loads(self.record(cell).read_text("utf-8"))
                self._compare(cell, there["settings"], self.record(cell))
            elif begun.begun:
                self._compare(cell, begun.settings(), begun.path)

    def _compare(self, cell: Cell, old: dict, path: Path) -> None:
        now = self.grid.experiment(cell)
        if change := changed_setting(old, now, FREE):
            raise ConfigError(
                f"{path} was trained with {change}: give the grid another "
                "name, or delete what is there to have it anew."
            )

    def write_settings(
        self, command: str, record: Record | None = None
    ) -> None:
        """Write what the grid is, and what was trained of it, and where.

        Args:
            command: what was typed.
            record: of a cell that has been trained; machine and seeds stay
                as they are when None.
        """
        grid, path = self.grid, self.folder / "settings.json"
        variants = grid.all_variants.items()
        with files.locked(self.lock("table"), wait=True):
            before = {"machine": "", "seeds": []}
            if path.exists():
                before |= json.loads(path.read_text("utf-8"))
            kinds, seeds = before["machine"], {*before["seeds"]}
            if record:
                kinds = joined(kinds, record["machine"])
                seeds.add(record["seed"])
            about = {
                "name": grid.name,
                "command": command,
                "machine": kinds,
                "seeds": [
                    *filter(seeds.__contains__, grid.seeds),
                    *sorted(seeds.difference(grid.seeds)),
                ],
                "variants": {name: v.described() for name, v in variants},
                "base": asdict(grid.base),
            }
            runs.write_json(path, about, indent=1)

    def train(self, cell: Cell, command: str) -> None:
        """Train a cell, or go on with it, and store what came of it."""
        record = self._train(cell)
        # the settings first: cells are read of the seeds that stand there
        self.write_settings(command, record)
        runs.write_json(self.record(cell), record, indent=1)
        self.tidy(cell)

    def _train(self, cell: Cell) -> dict[str, Any]:
        settings = self.grid.experiment(cell)
        folder, build = (
            self.run(cell),
            self.grid.all_variants[cell.variant].build,
        )
        begun = folder.begun
        before = folder.settings().get("machine") if begun else None
        try:
            run(settings, self.outputs, begun, quiet=True, build=build)
        except Interrupted as stop:
            raise Interrupted(
                f"stopped in {cell.name}, and saved. Go on with the same "
                "command."
            ) from stop
        except DivergedError as error:
            diverged = str(error)
        else:
            diverged = ""
        found = _scored(folder, diverged, build)
        return {
            "variant": cell.variant,
            "seed": cell.seed,
            **found,
            "machine": joined(before, machine()),
            "settings": asdict(settings),
        }

    def tidy(self, cell: Cell) -> None:
        """Delete a finished cell's checkpoints, which are large."""
        if self.stored(cell) and not self.keep:
            shutil.rmtree(self.run(cell).checkpoints, ignore_errors=True)

    def write_table(self) -> None:
        """Write the table of the cells that are there."""
        if not (self.folder / "settings.json").exists():
            return
        with files.locked(self.lock("table"), wait=True):
            found = read(self.grid.name, self.folder)
            table = [asdict(row) for row in found.rows]
            about = {"split": "dev", "interval": INTERVAL, "rows": table}
            runs.write_json(self.folder / "table.json", about, indent=1)
            runs.write_text(self.folder / "table.csv", found.csv())
            runs.write_text(self.folder / "table.md", found.markdown())


def _scored(
    folder: RunFolder, diverged: str, build: checkpoint.Build
) -> dict[str, Any]:
    """What a run recorded: the best weights' scores, and the curve.

    The best epoch is taken, or the average of the last ones where that is
    better, both by the development set.
    """
    scored = [r for r in folder.records() if r["kind"] != "step"]
    curve = [_curve_point(r) for r in scored if r["kind"] == "epoch"]
    if diverged:
        return {"diverged": diverged, "curve": curve}
    best = max(scored, key=quality_of)
    return {
        "weights": count(checkpoint.load(folder.chosen(), build=build).model),
        "chosen": f"epoch {best['epoch']}" if "epoch" in best else "average",
        "dev": runs.rounded(
            {m: best[f"dev_{m}"] for m in METRICS if f"dev_{m}" in best}
        ),
        "curve": curve,
    }


def _curve_point(record: Record) -> Record:
    """An epoch's figures, without its samples."""
    kept = ("epoch", "step", "train_", "dev_")
    return runs.rounded(
        {k: v for k, v in record.items() if k.startswith(kept)}
    )


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
