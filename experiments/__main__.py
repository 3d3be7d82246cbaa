"""``python -m experiments NAME``: make what is missing of an experiment."""

import dataclasses
import importlib
import pkgutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tyro

import experiments
from experiments import store
from experiments.index import write
from experiments.lab import Job, RunContext
from transformer_course.console import discard_output
from transformer_course.errors import ConfigError, CourseError

MODULES = {
    module.name.replace("_", "-"): f"experiments.{module.name}"
    for module in pkgutil.iter_modules(experiments.__path__)
    if module.name != "__main__"
}
"""The modules of the package, by the names of the experiments in them."""


def find_all() -> dict[str, Job]:
    """Every experiment, by name."""
    modules = map(importlib.import_module, MODULES.values())
    found = [m.EXPERIMENT for m in modules if hasattr(m, "EXPERIMENT")]
    return {one.name: one for one in found}


def find(name: str) -> Job:
    """The experiment of that name; other modules are not imported.

    Raises:
        ConfigError: there is none.
    """
    if name in MODULES:
        module = importlib.import_module(MODULES[name])
        if hasattr(module, "EXPERIMENT"):
            return module.EXPERIMENT
    raise ConfigError(
        f"there is no experiment {name!r}; there are: {', '.join(find_all())}."
    )


def run_smoke_test(experiment: Job, context: RunContext) -> None:
    """Run a few of everything, in a folder that is then removed."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / experiment.name
        experiment.make(
            dataclasses.replace(context, folder=folder, smoke=True)
        )


def print_all() -> None:
    """Print a line for each experiment: name, chapter, and the question."""
    for name, one in find_all().items():
        question = sys.modules[MODULES[name]].__doc__.partition("\n")[0]
        print(f"{name:18} {one.chapter[:2]}  {question}")


def main(
    name: tyro.conf.Positional[str] = "",
    inputs: tyro.conf.Positional[tuple[Path, ...]] = (),
    *,
    only: tuple[str, ...] = (),
    seeds: tuple[int, ...] = (),
    smoke: bool = False,
    index: bool = False,
) -> None:
    """Make what is missing of an experiment, and store it.

    Args:
        name: of the experiment. When none is named, all are listed, or
            tested with --smoke.
        inputs: folders of trainings, for those that read them.
        only: variants; all when none is named.
        seeds: the experiment's own when none is named.
        smoke: run a few of everything, in seconds; nothing is kept.
        index: write the list of stored runs, experiments/results/README.md.

    Raises:
        ConfigError: an argument that would have no effect.
        CourseError: an error of the experiment.
    """
    if index:
        return write(find_all().values())
    if not name and smoke:
        for one in find_all().values():
            run_smoke_test(one, RunContext(store.folder(one.name)))
        return None
    if not name:
        return print_all()
    one = find(name)
    given = {"only": only, "seeds": seeds, "inputs": inputs}
    for what, values in given.items():
        if values and what not in one.takes:
            raise ConfigError(f"{name} does not take {what}: leave it out.")
    context = RunContext(store.folder(one.name), **given)
    if smoke:
        return run_smoke_test(one, context)
    one.make(context)


def command(args: Sequence[str] | None = None) -> None:
    """Run the command line behind ``python -m experiments``."""
    try:
        tyro.cli(main, prog="python -m experiments", args=args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the pipe has gone
        discard_output()
    except CourseError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on with what is missing")


if __name__ == "__main__":
    command()
