"""The command ``transformer-course progress``, an entry point."""

from pathlib import Path
from typing import Annotated

import tyro


def progress(
    folder: Annotated[
        Path | None,
        tyro.conf.Positional,
        tyro.conf.arg(
            metavar="[FOLDER]",
            help="where the exercise notebooks are; if left out, "
            "my_exercises, or this folder where there is none.",
            help_behavior_hint="",
        ),
    ] = None,
) -> None:
    """Say which exercises are done, by chapter."""
    from course_exercises.progress import find_file, overview

    print(overview(find_file(folder)))
