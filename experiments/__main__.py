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


def find_all() -> dict[str, Job]:
    """Every experiment, by name."""
    names = [m.name for m in pkgutil.iter_modules(experiments.__path__)]
    modules = [
        importlib.import_module(f"experiments.{name}")
        for name in names
        if name != "__main__"
    ]
    found = [m.EXPERIMENT for m in modules if "EXPERIMENT" in vars(m)]
    return {one.name: one for one in found}


def find(name: str) -> Job:
    """The experiment of that name.

    Only its own module is imported, and what that needs.

    Raises:
        ConfigError: there is none.
    """
    known = [m.name for m in pkgutil.iter_modules(experiments.__path__)]
    if _module(name) in known and name != "__main__":
        module = importlib.import_module(f"experiments.{_module(name)}")
        one = getattr(module, "EXPERIMENT", None)
        if one is not None and one.name == name:
            return one
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


def listed() -> str:
    """A line for each experiment: name, chapter, and the question."""
    lines = []
    for name, one in find_all().items():
        module = importlib.import_module(f"experiments.{_module(name)}")
        question = module.__doc__.partition("\n")[0]
        lines.append(f"{name:18} {one.chapter[:2]}  {question}")
    return "\n".join(lines)


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
            print(listed())
        for one in find_all().values() if smoke else ():
            run_smoke_test(one, RunContext(store.folder(one.name)))
        return
    one = find(name)
    if smoke:  # which makes trainings of its own
        chosen = [what for what in one.takes if what != "inputs"]
        check_given(f"{name} --smoke", given, ("name", "smoke", *chosen))
    else:
        check_given(name, given, ("name", "show", *one.takes))
    context = RunContext(store.folder(one.name), only, seeds, inputs)
    if show:
        for line in one.status(context):
            print(line)
        return
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
