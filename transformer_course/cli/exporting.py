"""``export``: a model for inference, in a form that is small or fast."""

from pathlib import Path
from typing import Annotated, Literal

import tyro

from transformer_course.checks import Alpha, require_fits
from transformer_course.cli.options import Model
from transformer_course.console import log
from transformer_course.errors import ConfigError


def export(
    model: Model,
    folder: Annotated[
        Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")
    ],
    to: Literal["int8", "web"] = "int8",
    alpha: float | None = None,
) -> None:
    """Write a model for inference alone.

    What eight bits cost in quality, score measures on both.

    Args:
        folder: a new one, for the result.
        to: int8: a checkpoint for all commands, its weights in eight bits, so
            a quarter as large, and without the state of its training.
            web: a translator for the book's pages, in eight bits, as scripts.
        alpha: of a translator: the exponent of the length penalty that did
            best on its development set, which translate and score then take
            by default.
    """
    from transformer_course.checkpoints import checkpoint, web_export
    from transformer_course.checkpoints.find import find_trained
    from transformer_course.checkpoints.kinds import task_kind_of

    if folder.exists():
        raise ConfigError(
            f"{folder} is there already: name a new folder for the model."
        )
    require_fits("alpha", alpha, Alpha | None)
    found = find_trained(model)
    loaded = checkpoint.load(found)
    details = loaded.details
    if alpha is not None:
        task = task_kind_of(loaded.model.config, details)
        if task.output not in ("translation", "text") or (
            task.prompt_side != "src"
        ):
            raise ConfigError(
                f"--alpha {alpha} is for a translator's search, but this "
                f"model learned {task.name.replace('_', ' ')}: leave it out."
            )
        details = details | {"alpha": alpha}
    parts = loaded.model, loaded.tokenizer, details
    if to == "web":
        web_export.save(folder, *parts)
    else:
        checkpoint.save(folder, *parts, eight_bits=True)
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    log(f"{found} → {folder}, {size:,.1f} MB")
