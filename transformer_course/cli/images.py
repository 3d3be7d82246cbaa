"""``classify`` and ``score`` for images: what do they show?"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from transformer_course.cli.lines import check_writable
from transformer_course.console import log
from transformer_course.errors import ConfigError
from transformer_course.files import write_atomic

if TYPE_CHECKING:
    from torch import Tensor

    from transformer_course.decoding import classify
    from transformer_course.inference.image_model import ImageModel


def classify_images(
    model: Path,
    files: Sequence[Path],
    top: int,
    fit: bool,
    explain: Path | None,
    device: str,
) -> None:
    """Say what images show: ``classify`` for a model of images."""
    from transformer_course.inference.image_model import ImageModel

    if not files:
        raise ConfigError("no image was given: classify MODEL FILE ...")
    used = ImageModel.load(model, device)
    check_writable(explain, model, used.path, *files)
    if used.path != model:
        log(f"using {used.path}")
    pixels = used.read(files, fit)
    answers = used.guesses(pixels, top)
    for file, guesses in zip(files, answers, strict=True):
        for name, probability in guesses:
            print(file, name, f"{probability:.4f}", sep="\t")
    if explain:
        write_atomic(explain, explained(used, files, pixels, answers))


def explained(
    used: "ImageModel",
    files: Sequence[Path],
    pixels: "Tensor",
    answers: list[list["classify.Guess"]],
) -> str:
    """A page with each image, its classes, and what speaks for the first."""
    from transformer_course.interpretation.explain_page import (
        Item,
        image_heatmap,
        page,
    )

    items = []
    heat = used.heat(pixels)
    for file, image, hot, guesses in zip(
        files, pixels, heat, answers, strict=True
    ):
        said = ", ".join(f"{name} ({share:.2f})" for name, share in guesses)
        shown = image_heatmap(image, hot, f"{file}: {guesses[0].name}")
        items.append(Item(str(file), said, shown))
    return page(
        f"What {used.path} saw",
        "The stronger the orange, the more a place speaks for the first class "
        "named. Each map has its own scale.",
        items,
    )


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
    from transformer_course.inference.image_model import ImageModel

    for name, given in (("--output", output), ("--with", others)):
        if given:
            raise ConfigError(
                f"{name} is for translators, and {model} classifies images: "
                "leave it out."
            )
    used = ImageModel.load(model, device)
    used.report(str(used.path), split, partial(print, flush=True))
