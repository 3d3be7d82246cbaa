"""``python -m experiments NAME``: make what is missing of an experiment."""

import dataclasses
import importlib
import pkgutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import tyro

import experiments
from experiments.index import write
from experiments.lab import Bench, Made
from transformer_course import runs
from transformer_course.errors import ConfigError, CourseError
from transformer_course.experiment import keep_freed_memory


def find_all() -> dict[str, Made]:
    """Every experiment, by name."""
    names = [m.name for m in pkgutil.iter_modules(experiments.__path__)]
    modules = [
        importlib.import_module(f"experiments.{name}")
        for name in names
        if name != "__main__"
    ]
    found = [m.EXPERIMENT for m in modules if "EXPERIMENT" in vars(m)]
    return {one.name: one for one in found}


def find(name: str) -> Made:
    """The experiment of that name.

    Raises:
        ConfigError: there is none.
    """
    found = find_all()
    if name not in found:
        raise ConfigError(
            f"there is no experiment {name!r}; there are: {', '.join(found)}."
        )
    return found[name]


def smoked(experiment: Made, bench: Bench) -> None:
    """Do it with a few of everything, in a folder that is then removed."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / experiment.name
        experiment.make(dataclasses.replace(bench, folder=folder, smoke=True))


def listed() -> str:
    """A line for each experiment: name, chapter, and the question."""
    lines = []
    for name, one in find_all().items():
        module = importlib.import_module(f"experiments.{_module(name)}")
        question = module.__doc__.partition("\n")[0]
        lines.append(f"{name:18} {one.chapter[:2]}  {question}")
    return "\n".join(lines)


def _module(name: str) -> str:
    return name.replace("-", "_")


def main(
    name: tyro.conf.Positional[str] = "",
    inputs: tyro.conf.Positional[tuple[Path, ...]] = (),
    *,
    only: tuple[str, ...] = (),
    seeds: tuple[int, ...] = (),
    smoke: bool = False,
    index: bool = False,
    show: Annotated[bool, tyro.conf.arg(name="list")] = False,
) -> None:
    """Make what is missing of an experiment, under ``runs/NAME/``.

    Args:
        name: of the experiment. When none is named, all are listed, or smoked.
        inputs: folders of trainings, for those that read them.
        only: variants; all when none is named.
        seeds: the experiment's own when none is named.
        smoke: seconds, a few of everything, and nothing is kept.
        index: write what makes and reads each stored run: runs/README.md.
        show: say which variants are there, and train nothing.
    """
    if index:
        return write(find_all().values())
    if not name:
        if not smoke:
            print(listed())
        for one in find_all().values() if smoke else ():
            smoked(one, Bench(runs.folder(one.name)))
        return
    one = find(name)
    bench = Bench(runs.folder(one.name), only, seeds, inputs)
    if show:
        print("\n".join(one.states(bench)))
        return
    keep_freed_memory()
    if smoke:
        return smoked(one, bench)
    one.make(bench)


if __name__ == "__main__":
    try:
        tyro.cli(main, prog="python -m experiments")
    except CourseError as error:
        sys.exit(f"error: {error}")
