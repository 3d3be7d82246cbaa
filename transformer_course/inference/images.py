"""Image files as the input of a model."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from PIL import Image, ImageOps
from torch import Tensor

from transformer_course.data.own_images import middle_square
from transformer_course.errors import CorpusError
from transformer_course.models.config import AnyModelConfig

MODES = {1: "L", 3: "RGB"}
"""Pillow's name of a colour mode, by the number of channels."""


def read_images(
    files: Sequence[Path], config: AnyModelConfig, fit: bool = False
) -> UInt8[Tensor, "files channels height width"]:
    """Read image files, with the arguments of :func:`read_image`."""
    return torch.stack([read_image(file, config, fit) for file in files])


def read_image(
    path: Path, config: AnyModelConfig, fit: bool = False
) -> UInt8[Tensor, "channels height width"]:
    """Read an image file.

    Args:
        path: PNG, JPEG or another format that Pillow reads.
        config: size and channels of the model's input.
        fit: crop the middle square, scale it and convert its colours, as in
            a training on images of one's own.

    Raises:
        CorpusError: the file is no image or is damaged, or has another size
            or colours and ``fit`` is off.
    """
    side, mode = config.image_size, MODES[config.channels]
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(path) as image,
        ):
            image = ImageOps.exif_transpose(image)
            if fit:
                image = middle_square(image, side).convert(mode)
            image.load()
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise CorpusError(
            f"{path} cannot be read as an image ({error}): give a file in "
            "PNG, JPEG or the like."
        ) from error
    if image.size != (side, side) or image.mode != mode:
        width, height = image.size
        raise CorpusError(
            f"{path} is {width} × {height} pixels of mode {image.mode}, but "
            f"this model reads {side} × {side} of mode {mode}: scale and "
            "convert it, or add --fit."
        )
    pixels = torch.from_numpy(np.array(image))  # (height, width[, channels])
    return pixels.reshape(side, side, config.channels).permute(2, 0, 1)
