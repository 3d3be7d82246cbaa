"""A tall figure in parts, one below the other on slides that follow.

At the height of a slide the letters of a tall figure could not be read from
the last row. Its panels lie below one another, so it is cut where a band
between two of them is white; else where only upright lines cross it, as the
arrows of a graph do. What has no such band stays whole.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

LEAST = 18
"""Pixels of a figure's letters on a slide of 1280 by 720."""
LETTERS = 10 / 72
"""Inches: how high letters are drawn."""
ROOM = 696
"""Pixels of height that a figure has on a slide."""
GAP = 1 / 20
"""Inches of white between two panels, at the least."""
NEAR = 1 / 60
"""Inches by which bands that are about as wide differ."""
PANEL = 1.5
"""Inches of a part, at the least: a legend alone is none."""
LINE = 0.3
"""Inches of a line of text, with the margin above it."""
MOST = 4
"""Parts of a figure, at the most."""
TRIED = 12
"""Bands that are looked at, the widest ones."""
DOTS = 160
"""To the inch: those of a part."""
WHITE = 250
LINES = 0.016
"""Share of a row that upright lines cover, at the most."""

Band = tuple[int, int]


def dots_of(picture: Image.Image) -> float:
    """Dots per inch of a picture."""
    return picture.info.get("dpi", (DOTS, DOTS))[0]


def white_bands(picture: Image.Image, lines: bool = False) -> list[Band]:
    """Bands of rows that are all white: first row, and row after.

    With ``lines``, of rows that nothing but upright lines crosses.
    """
    grey = np.asarray(picture.convert("L"))
    white = (grey > WHITE).mean(axis=1) >= (1 - LINES if lines else 1)
    if lines:
        white[1:] &= (grey[1:] == grey[:-1]).all(axis=1)
    edges = np.flatnonzero(np.diff([0, *white.astype(int), 0]))
    bands = [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
    return [(a, b) for a, b in bands if a > 0 and b < picture.height]


def cuts(picture: Image.Image) -> list[int]:
    """The rows at which to cut a picture: as few as will do, or none."""
    return cuts_at(picture, white_bands(picture)) or cuts_at(
        picture, white_bands(picture, lines=True)
    )


def cuts_at(picture: Image.Image, bands: list[Band]) -> list[int]:
    """The rows at which to cut a picture, in the middle of some bands.

    Of bands that are about as wide, the lower one is taken where panels have
    no titles: the line of text between the two names the axis above it.
    """
    dots = dots_of(picture)
    limit = ROOM / LEAST * LETTERS * dots
    bands = [band for band in bands if width(band) >= GAP * dots]
    widest = sorted(sorted(bands, key=width)[-TRIED:])
    for many in range(1, MOST) if picture.height > limit else ():
        fitting = [
            some
            for some in itertools.combinations(widest, many)
            if max(heights(picture, some)) <= limit
            and min(heights(picture, some)) >= PANEL * dots
        ]
        if fitting:
            best = max(map(narrowest, fitting))
            if is_titled(picture):
                wide = [some for some in fitting if narrowest(some) == best]
                chosen = min(wide, key=lambda c: max(heights(picture, c)))
            else:
                least = best - NEAR * dots
                chosen = [c for c in fitting if narrowest(c) >= least][-1]
            return [sum(band) // 2 for band in chosen]
    return []


def is_titled(picture: Image.Image) -> bool:
    """Whether a picture begins with a line of text."""
    first = white_bands(picture)[:1]
    return any(top <= LINE * dots_of(picture) for top, _ in first)


def width(band: Band) -> int:
    """Rows of a band."""
    return band[1] - band[0]


def narrowest(bands: Sequence[Band]) -> int:
    """Rows of the narrowest of some bands."""
    return min(map(width, bands))


def heights(picture: Image.Image, bands: Sequence[Band]) -> list[int]:
    """Heights of the parts when bands are cut in their middle."""
    rows = [0, *(sum(band) // 2 for band in bands), picture.height]
    return [b - a for a, b in itertools.pairwise(rows)]


def write_parts(path: Path) -> list[Path]:
    """Write the parts of a figure beside it; none if it stays whole."""
    with Image.open(path) as picture:
        picture.load()
    rows = [0, *cuts(picture), picture.height]
    if len(rows) == 2:
        return []
    scale = max(1, DOTS / dots_of(picture))
    written = []
    for number, (top, end) in enumerate(itertools.pairwise(rows), 1):
        part = picture.crop((0, top, picture.width, end))
        size = round(part.width * scale), round(part.height * scale)
        place = path.with_name(f"{path.stem}-part-{number}.png")
        part.resize(size, Image.Resampling.LANCZOS).save(place)
        written.append(place)
    return written
