"""The command line: ``transformer-course train | translate | ...``.

It parses, reads lines and prints. The work is done elsewhere, and imported by
the command that needs it, so that help costs no time. A user's mistake gives
one line after ``error:`` and exit status 1; wrong usage gives status 2, and
Ctrl-C status 130. What each option is stands in
``transformer-course COMMAND --help``.
"""

import contextlib
import functools
import io
import os
import sys
from collections.abc import Callable
from importlib.metadata import version

import tyro

from transformer_course.cli.classes import classify
from transformer_course.cli.corpora import data
from transformer_course.cli.exercises import progress
from transformer_course.cli.masked import fill
from transformer_course.cli.options import PROGRAM
from transformer_course.cli.texts import (
    generate,
    score,
    score_files,
    translate,
)
from transformer_course.cli.training import (
    train,
    train_like,
    with_files,
)
from transformer_course.console import tell
from transformer_course.errors import CourseError, Interrupted

COMMANDS = {
    "train": train,
    "translate": translate,
    "generate": generate,
    "classify": classify,
    "fill": fill,
    "score": score,
    "score-files": score_files,
    "data": data,
    "progress": progress,
}


def main(args: list[str] | None = None) -> None:
    """Run the command line."""
    args = sys.argv[1:] if args is None else args
    if args == ["--version"]:
        print(f"{PROGRAM} {version(PROGRAM)}")
        return
    try:
        parsed(args)()
    except Interrupted as stop:
        tell(str(stop))
        sys.exit(130)
    except CourseError as error:
        tell(f"error: {error}")
        sys.exit(1)
    except KeyboardInterrupt:
        tell("stopped")
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parsed(args: list[str]) -> Callable[[], None]:
    """The command that is asked for, with its arguments.

    Settings check themselves when they are made, which is while tyro parses.
    It would tell their errors as wrong usage, in a box.

    Raises:
        CourseError: settings that cannot work.
        SystemExit: wrong usage, which has been told; or help.
    """
    told = io.StringIO()
    commands = {name: _later(command) for name, command in COMMANDS.items()}
    try:
        with contextlib.redirect_stderr(told):
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
        if said := told.getvalue().removesuffix("\n"):
            tell(said)
        raise


def _later(command: Callable[..., None]) -> Callable[..., Callable]:
    """The same command to tyro; called, it only keeps its arguments."""

    @functools.wraps(command)
    def keep(*args, **options) -> Callable[[], None]:
        return functools.partial(command, *args, **options)

    return keep
