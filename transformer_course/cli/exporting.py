"""``export``: a model for use alone, in a form that is small or fast."""

from pathlib import Path
from typing import Annotated, Literal

import tyro

from transformer_course.cli.options import Model
from transformer_course.console import tell
from transformer_course.errors import ConfigError


def export(
    model: Model,
    folder: Annotated[
        Path,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="FOLDER", help="a new one, for the result."),
    ],
    to: Annotated[
        Literal["int8"],
        tyro.conf.arg(
            help="int8: a checkpoint for all commands, its weights in eight "
            "bits, so a quarter as large, and without the state of its "
            "training."
        ),
    ] = "int8",
) -> None:
    """Write a model for use alone.

    What eight bits cost in quality, score tells of both.
    """
    from transformer_course import checkpoint
    from transformer_course.experiment.folder import find

    if folder.exists():
        raise ConfigError(
            f"{folder} is there already: name a new folder for the model."
        )
    found = find(model)
    loaded = checkpoint.load(found)
    checkpoint.save(
        folder,
        loaded.model,
        loaded.tokenizer,
        loaded.details,
        eight_bits=to == "int8",
    )
    tell(f"{found} → {folder}, {_megabytes(folder):,.1f} MB")


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6
