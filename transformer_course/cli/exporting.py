"""``export``: a model for use alone, in a form that is small or fast."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from transformer_course.checks import Alpha, require_fits
from transformer_course.cli.options import Model
from transformer_course.console import log
from transformer_course.errors import ConfigError

if TYPE_CHECKING:
    from transformer_course.training import checkpoint


def export(
    model: Model,
    folder: Annotated[
        Path,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="FOLDER", help="a new one, for the result."),
    ],
    to: Annotated[
        Literal["int8", "ctranslate2"],
        tyro.conf.arg(
            help="int8: a checkpoint for all commands, its weights in eight "
            "bits, so a quarter as large, and without the state of its "
            "training. ctranslate2: a translator for CTranslate2 "
            "(pip install ctranslate2), used by translate --engine "
            "ctranslate2."
        ),
    ] = "int8",
    quantization: Annotated[
        Literal["float32", "float16", "int8"] | None,
        tyro.conf.arg(
            help="with --to ctranslate2, how its weights are stored: float32 "
            "if left out; int8, a quarter as large, is the fastest, and "
            "changes some translations.",
            help_behavior_hint="",
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        tyro.conf.arg(
            help="of a translator: the exponent of the length penalty that "
            "did best on its development set. It is kept beside the weights, "
            "and translate and score use it where they are given none.",
            help_behavior_hint="",
        ),
    ] = None,
) -> None:
    """Write a model for use alone.

    What eight bits cost in quality, score tells of both; for CTranslate2,
    score-files of what translate writes.
    """
    from transformer_course.inference import ctranslate2_export
    from transformer_course.training import checkpoint
    from transformer_course.training.run.folder import find

    if folder.exists():
        raise ConfigError(
            f"{folder} is there already: name a new folder for the model."
        )
    if quantization and to != "ctranslate2":
        raise ConfigError(
            f"--quantization {quantization} says how a model for CTranslate2 "
            "is stored: add --to ctranslate2, or leave it out."
        )
    if alpha is not None:
        require_fits("alpha", alpha, Alpha)
    found = find(model)
    loaded = checkpoint.load(found)
    details = _with_alpha(loaded, alpha)
    parts = loaded.model, loaded.tokenizer, details
    if to == "ctranslate2":
        ctranslate2_export.save(folder, *parts, quantization or "float32")
    else:
        checkpoint.save(folder, *parts, eight_bits=True)
    log(f"{found} → {folder}, {_megabytes(folder):,.1f} MB")


def _with_alpha(
    loaded: "checkpoint.Checkpoint", alpha: float | None
) -> dict[str, Any]:
    """What is kept beside the weights, with a length penalty if asked."""
    from transformer_course.training.tasks.table import task_of

    if alpha is None:
        return loaded.details
    task = task_of(loaded.model.config, loaded.details)
    writes = task.output_kind in ("text", "translation")
    if not writes or task.prompt_side != "src":
        raise ConfigError(
            f"--alpha {alpha} is of a translator's search, and this model "
            f"learned {task.name.replace('_', ' ')}: leave it out."
        )
    return loaded.details | {"alpha": alpha}


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6
