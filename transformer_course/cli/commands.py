"""The table of commands.

Each command imports what does its work when it is called, so that help is
fast. ``transformer-course COMMAND --help`` describes the options.
"""

from importlib.metadata import entry_points, version

import tyro

from transformer_course.cli.classes import classify
from transformer_course.cli.corpora import data
from transformer_course.cli.exporting import export
from transformer_course.cli.masked import fill
from transformer_course.cli.options import PROGRAM
from transformer_course.cli.texts import (
    generate,
    score,
    score_files,
    translate,
)
from transformer_course.cli.training import train, train_like

GROUP = "transformer_course.commands"
"""Entry points by which another installed package adds a command."""
COMMANDS = {
    "train": train,
    "translate": translate,
    "generate": generate,
    "classify": classify,
    "fill": fill,
    "score": score,
    "score-files": score_files,
    "export": export,
    "data": data,
} | {found.name: found.load() for found in entry_points(group=GROUP)}
"""Commands by name: the package's own, then those of other packages."""


def run(args: list[str]) -> None:
    """Parse the arguments of the program and run the command.

    Raises:
        CourseError: settings that cannot work.
        SystemExit: wrong usage, or help.
    """
    if args == ["--version"]:
        print(f"{PROGRAM} {version(PROGRAM)}")
    elif not (args[:1] == ["train"] and train_like(args[1:])):
        tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog=PROGRAM,
            description="Train, use and score the course's models. "
            "COMMAND --help says more, --version which this is.",
            args=args,
        )
