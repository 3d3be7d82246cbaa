"""The command line: ``transformer-course train | translate | ...``.

A user's mistake gives one line after ``error:`` and exit status 1, wrong usage
status 2, and Ctrl-C status 130. A traceback means a fault of the package.
"""

import sys

from transformer_course.console import discard_output, log, use_utf8
from transformer_course.errors import CourseError, Interrupted, MissingPackage

OURS = "transformer_course"
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
"""Parts of the messages of torch's RuntimeErrors."""


def main(args: list[str] | None = None) -> None:
    """Run the command line."""
    use_utf8()
    try:
        import tyro

        from transformer_course.cli.commands import COMMANDS, OPTIONS, VERSION
        from transformer_course.cli.training import train_from

        args = sys.argv[1:] if args is None else args
        if args == ["--version"]:
            print(VERSION)
        elif args[:1] != ["train"] or not train_from(args[1:]):
            tyro.extras.subcommand_cli_from_dict(
                COMMANDS, args=args, **OPTIONS
            )
        sys.stdout.flush()
    except Interrupted as stop:
        log(str(stop))
        sys.exit(130)
    except KeyboardInterrupt:
        log("stopped")
        sys.exit(130)
    except BrokenPipeError:  # the reader of the pipe has gone
        discard_output()
    except Exception as error:
        if not (text := _advice(error)):
            raise
        log(f"error: {' '.join(text.split())}")
        sys.exit(1)


def _advice(error: Exception) -> str:
    """What the user can do about an error; "" for a fault of the package."""
    if isinstance(error, CourseError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and OURS not in str(error.name):
        return str(MissingPackage(error, "train"))
    if isinstance(error, OSError) and error.strerror:
        return (
            f"{error.filename or 'the output'}: {error.strerror}. Check the "
            "path, its permissions and the free space."
        )
    if isinstance(error, MemoryError) or any(
        words in str(error) for words in OUT_OF_MEMORY
    ):
        return (
            "there is not enough memory for this: take fewer or shorter "
            "sentences, a smaller beam, or a smaller model or batch."
        )
    return ""
