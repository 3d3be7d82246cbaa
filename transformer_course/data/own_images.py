"""Images of one's own: a folder with a folder for each class."""

import warnings
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from transformer_course.console import log
from transformer_course.data.images import ImageSet
from transformer_course.data.own_labels import (
    FEWEST,
    class_names,
    held_out_of,
    warn_unequal,
)
from transformer_course.data.own_text import check_digests
from transformer_course.data.text import Splits, describe_split
from transformer_course.errors import CorpusError

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
"""Names of files that are taken for images."""
GREY = ("1", "L", "LA")
"""Pillow's modes without colours."""


def load(
    files: tuple[str, ...], sha256: tuple[str, ...] | None, size: int
) -> Splits[ImageSet]:
    """Read a folder of images, scaled to squares, in three parts.

    The middle square of each is scaled to ``size`` pixels. If one has
    colours, all have three channels.

    Args:
        files: the one folder.
        sha256: its expected digest; None accepts any content.
        size: height and width of the squares.

    Raises:
        CorpusError: it is no folder of folders, has changed, or has a class
            with too few images; no image can be read.
    """
    folder = Path(files[0])
    if len(files) != 1 or not folder.is_dir():
        raise CorpusError(
            f"{' and '.join(files)}: images come from one folder, which has "
            "a folder with the images of each class: give that."
        )
    return _read(folder, check_digests(files, sha256), size)


@lru_cache(maxsize=1)
def _read(
    folder: Path, digest: tuple[str, ...], size: int
) -> Splits[ImageSet]:
    """As :func:`load`, once for each content."""
    found = _squares(folder, size)
    counts = Counter(path.parent.name for path in found)
    names = class_names(counts)
    _check_classes(folder, counts)
    warn_unequal(str(folder), counts)
    colours = any(square.mode == "RGB" for square in found.values())
    pixels = [
        _pixels(square.convert("RGB" if colours else "L"))
        for square in found.values()
    ]
    whole = ImageSet(
        torch.stack(pixels),
        torch.tensor([names.index(path.parent.name) for path in found]),
        names,
    )
    return _split(list(found), whole)


def _squares(folder: Path, size: int) -> dict[Path, Image.Image]:
    """The middle square of each image, scaled; files that cannot be read are
    named. No more than one image is in memory at its own size."""
    found, scaled = {}, False
    for path in sorted(folder.glob("*/*")):
        if path.suffix.lower() not in SUFFIXES:
            continue
        try:
            with warnings.catch_warnings(action="ignore"):
                image = ImageOps.exif_transpose(Image.open(path))
                found[path] = middle_square(image, size)
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            log(f"warning: {path} cannot be read and is left out ({error})")
        else:
            scaled |= image.size != (size, size)
    if scaled:
        log(
            f"the middle square of each image is scaled to {size} × {size} "
            "pixels: a larger --model.image-size keeps more of it"
        )
    return found


def middle_square(image: Image.Image, size: int) -> Image.Image:
    """Grey or RGB, scaled, and on white where the image is transparent."""
    if image.mode.startswith("I"):  # 16 bits of grey
        image = Image.fromarray((np.asarray(image) // 256).astype(np.uint8))
    mode = "L" if image.mode in GREY else "RGB"
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image.convert("RGBA"))
    return ImageOps.fit(image.convert(mode), (size, size))


def _check_classes(folder: Path, counts: Counter[str]) -> None:
    if len(counts) < 2:
        raise CorpusError(
            f"{folder} has images in {len(counts)} folders: expected a folder "
            "for each class, at least two, with PNG or JPEG files in each."
        )
    for name, count in counts.items():
        if count < FEWEST:
            raise CorpusError(
                f"the class {name!r} of {folder} has {count} images that can "
                f"be read: expected at least {FEWEST}, since some of each "
                "class are held out. Add some, or take its folder away."
            )


def _pixels(square: Image.Image) -> Tensor:
    """Shape: (channels, size, size)."""
    pixels = torch.from_numpy(np.array(square))
    return pixels.reshape(*square.size, -1).permute(2, 0, 1)


def _split(paths: list[Path], whole: ImageSet) -> Splits[ImageSet]:
    """Hold out images of each class, drawn by the sha256 of their pixels, so
    that equal images stay together."""
    contents = [image.numpy().tobytes().hex() for image in whole.images]
    parts = [0] * len(paths)
    for label in range(len(whole.names)):
        places = [i for i, one in enumerate(whole.labels) if one == label]
        held = held_out_of(contents[i] for i in places)
        for i in places:
            parts[i] = next(
                (n for n, part in enumerate(held, 1) if contents[i] in part), 0
            )
    order = torch.tensor(parts)
    train, dev, test = (
        whole.take((order == part).nonzero().flatten()) for part in range(3)
    )
    sizes = map(len, (train, dev, test))
    rule = "the sha256 of an image's pixels draws its part"
    log(describe_split(sizes, "images", rule))
    return Splits(train, dev, test)
