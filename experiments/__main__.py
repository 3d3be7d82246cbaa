"""``python -m experiments NAME``: make what is missing of an experiment."""

import dataclasses
import importlib
import pkgutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

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


def check_given(who: str, given: dict[str, str], takes: Sequence[str]) -> None:
    """Refuse arguments that would have no effect.

    Args:
        who: the command, for the message.
        given: arguments as typed, by parameter of :func:`main`; or "".
        takes: the parameters that have an effect.

    Raises:
        ConfigError: another argument was given.
    """
    for parameter, text in given.items():
        if text and parameter not in takes:
            raise ConfigError(f"{who} does not take {text}: leave it out.")


def _typed(option: str, values: Iterable[object]) -> str:
    words = [*map(str, values)]
    return " ".join([option, *words]).strip() if words else ""


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
    """Make what is missing of an experiment, and store it.

    Args:
        name: of the experiment. When none is named, all are listed, or
            tested with --smoke.
        inputs: folders of trainings, for those that read them.
        only: variants; all when none is named.
        seeds: the experiment's own when none is named.
        smoke: run a few of everything, in seconds; nothing is kept.
        index: write the list of stored runs, experiments/results/README.md.
        show: list what is stored and what is missing, and train nothing.

    Raises:
        ConfigError: an argument that would have no effect.
        CourseError: an error of the experiment.
    """
    given = {
        "name": name,
        "inputs": _typed("", inputs),
        "only": _typed("--only", only),
        "seeds": _typed("--seeds", seeds),
        "smoke": "--smoke" * smoke,
        "show": "--list" * show,
    }
    if index:
        check_given("--index", given, ())
        return write(find_all().values())
    if not name:
        mode = "smoke" if smoke else "show"
        check_given("a call that names no experiment", given, (mode,))
        if not smoke:
            return print_all()
        for one in find_all().values():
            run_smoke_test(one, RunContext(store.folder(one.name)))
        return None
    one = find(name)
    if smoke:  # which makes trainings of its own
        chosen = [what for what in one.takes if what != "inputs"]
        check_given(f"{name} --smoke", given, ("name", "smoke", *chosen))
    else:
        check_given(name, given, ("name", "show", *one.takes))
    context = RunContext(store.folder(one.name), only, seeds, inputs)
    if show:
        return print("\n".join(one.status(context)))
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
