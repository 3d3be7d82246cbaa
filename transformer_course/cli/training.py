"""``train``: a preset, with any of its settings changed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from transformer_course.cli.options import PROGRAM
from transformer_course.config import Experiment
from transformer_course.presets import PRESETS


@dataclass(frozen=True)
class Training(Experiment):
    """An experiment, where to put it, and whether it goes on."""

    output_dir: Path = Path("outputs")
    """The run's folder is made in here, and what it starts from is here."""
    resume: bool = False
    """Go on with a run that was stopped."""


Preset = tyro.extras.subcommand_type_from_defaults(
    {name: Training(**vars(preset)) for name, preset in PRESETS.items()},
    prefix_names=False,
)


def train(
    training: tyro.conf.AvoidSubcommands[
        Annotated[Preset, tyro.conf.arg(name="")]
    ],
) -> None:
    """Train a preset, with any of its settings changed."""
    from transformer_course.experiment import run
    from transformer_course.tasks.table import find_task

    values = dict(vars(training))
    output_dir, resume = values.pop("output_dir"), values.pop("resume")
    folder = run(Experiment(**values), output_dir, resume)
    use = find_task(training.task).first_use(folder)
    print(f"done: {folder}. Try: {PROGRAM} {use}")
