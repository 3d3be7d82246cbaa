"""The table of commands, and the parser.

Each command imports what does its work when it is called, so that help costs
no time. What each option is stands in ``transformer-course COMMAND --help``.
"""

import contextlib
import functools
import io
from collections.abc import Callable
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
from transformer_course.cli.training import train, train_like, with_files
from transformer_course.console import tell
from transformer_course.errors import CourseError

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
"""By name: the package's own, then those of packages beside it."""


def parse(args: list[str]) -> Callable[[], None]:
    """The command that is asked for, with its arguments.

    Settings check themselves when they are made, which is while tyro parses;
    their errors are raised here in place of tyro's box.

    Raises:
        CourseError: settings that cannot work.
        SystemExit: wrong usage, which has been printed; or help.
    """
    if args == ["--version"]:
        return lambda: print(f"{PROGRAM} {version(PROGRAM)}")
    printed = io.StringIO()
    commands = {name: _later(command) for name, command in COMMANDS.items()}
    try:
        with contextlib.redirect_stderr(printed):
            if args[:1] == ["train"]:
                args = with_files(args)
                if like := train_like(args[1:]):
                    return functools.partial(train, like)
            return tyro.extras.subcommand_cli_from_dict(
                commands,
                prog=PROGRAM,
                description="Train, use and score the course's models. "
                "COMMAND --help says more, --version which this is.",
                args=args,
            )
    except SystemExit as leaving:
        error: BaseException | None = leaving
        while error := error.__context__:
            if isinstance(error, CourseError):
                raise error from None
        if text := printed.getvalue().removesuffix("\n"):
            tell(text)
        raise


def _later(command: Callable[..., None]) -> Callable[..., Callable]:
    """The same command for tyro; when called, it only keeps its arguments."""

    @functools.wraps(command)
    def keep(*args, **options) -> Callable[[], None]:
        return functools.partial(command, *args, **options)

    return keep
