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
    to: Literal["int8", "ctranslate2", "web"] = "int8",
    quantization: Literal["float32", "float16", "int8"] | None = None,
    alpha: float | None = None,
) -> None:
    """Write a model for inference alone.

    What eight bits cost in quality, score measures on both; for CTranslate2,
    score-files on what translate writes.

    Args:
        folder: a new one, for the result.
        to: int8: a checkpoint for all commands, its weights in eight bits, so
            a quarter as large, and without the state of its training.
            ctranslate2: a translator for CTranslate2 (pip install
            ctranslate2), used by translate --engine ctranslate2. web: a
            translator for the book's pages, in eight bits, as scripts.
        quantization: with --to ctranslate2, how its weights are stored:
            float32 if left out; int8, a quarter as large, is the fastest, and
            changes some translations.
        alpha: of a translator: the exponent of the length penalty that did
            best on its development set, which translate and score then take
            by default.
    """
    from transformer_course.checkpoints import checkpoint, web_export
    from transformer_course.checkpoints.find import find_trained
    from transformer_course.checkpoints.kinds import task_kind_of
    from transformer_course.inference import ctranslate2_export

    if folder.exists():
        raise ConfigError(
            f"{folder} is there already: name a new folder for the model."
        )
    if quantization and to != "ctranslate2":
        raise ConfigError(
            f"--quantization {quantization} says how a model for CTranslate2 "
            "is stored: add --to ctranslate2, or leave it out."
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
    if to == "ctranslate2":
        ctranslate2_export.save(folder, *parts, quantization or "float32")
    elif to == "web":
        web_export.save(folder, *parts)
    else:
        checkpoint.save(folder, *parts, eight_bits=True)
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    log(f"{found} → {folder}, {size:,.1f} MB")
