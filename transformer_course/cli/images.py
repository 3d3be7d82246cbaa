"""``classify``, and ``score`` for what classifies: images in, classes out."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import tyro

from transformer_course.cli.options import Device, Model
from transformer_course.console import tell
from transformer_course.errors import ConfigError


def classify(
    model: Model,
    files: Annotated[
        tuple[Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="FILE [FILE ...]", help="images."),
    ],
    top: int = 1,
    fit: Annotated[
        bool,
        tyro.conf.arg(
            help="crop, scale and convert images of another size or other "
            "colours, in place of refusing them."
        ),
    ] = False,
    device: Device = "auto",
) -> None:
    """Say what images show: file, class, probability, with tabs between.

    Args:
        top: so many classes for each image, the likeliest first.
    """
    from transformer_course.image_model import ImageModel

    if not files:
        raise ConfigError("no image was given: classify MODEL FILE ...")
    used = ImageModel.load(model, device)
    if used.path != model:
        tell(f"using {used.path}")
    for file, guesses in zip(
        files, used.classify(files, top, fit), strict=True
    ):
        for name, probability in guesses:
            print(file, name, f"{probability:.4f}", sep="\t")


def score_images(
    model: Path,
    split: str,
    output: Path | None,
    others: Sequence[Path],
    device: str,
) -> None:
    """Say how often a model of images is right.

    Raises:
        ConfigError: an option that only translators know.
    """
    from transformer_course.image_model import ImageModel

    for name, given in (("--output", output), ("--with", others)):
        if given:
            raise ConfigError(
                f"{name} is for translators, and {model} classifies images: "
                "leave it out."
            )
    used = ImageModel.load(model, device)
    used.report(str(used.path), split, partial(print, flush=True))
