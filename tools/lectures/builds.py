"""A picture that appears step by step: a click uncovers one more part of it.

The picture stays one file. White covers lie over the parts that are to come;
reveal.js takes away one at each click. Without a script, and on paper, there
are no covers.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bs4 import BeautifulSoup, Tag
from PIL import Image

from tools.lectures.figures import size_of
from tools.lectures.parts import ROOM, WHITE
from tools.lectures.plan import BadPlan

WIDTH = 800
"""Pixels that a picture has on a slide beside its caption."""
Step = list[float]
"""Left, top, right and bottom of a rectangle, in per cent of the picture;
then those of another one, if one is not enough."""


def build(image: Tag, picture: Path, steps: list[Step]) -> None:
    """Put covers over a figure's image; its caption comes at the last click.

    Raises:
        BadPlan: the edge of a step would cut through what is drawn.
    """
    soup = BeautifulSoup("", "html.parser")
    width, height = size_of(picture)
    wide = min(width, WIDTH, round(ROOM * width / height))
    shape = f"width: {wide}px; aspect-ratio: {width} / {height}"
    box = soup.new_tag("div", attrs={"class": "build", "style": shape})
    figure = image.find_parent("figure")
    (image.parent if image.parent.name == "a" else image).wrap(box)
    parts = [
        (number, step[at : at + 4])
        for number, step in enumerate(steps)
        for at in range(0, len(step), 4)
    ]
    for number, part in parts:
        if picture.suffix == ".png" and cuts_through(picture, part):
            raise BadPlan(
                f"units.yml: step {number + 1} of {picture.stem}, {part}, "
                "cuts through the drawing, which may have changed: give it "
                "edges that are white"
            )
        left, top, right, bottom = part
        place = (
            f"left: {left}%; top: {top}%; width: {right - left}%; "
            f"height: {bottom - top}%"
        )
        cover = {
            "class": "cover fragment fade-out",
            "data-fragment-index": str(number),
            "style": place,
        }
        box.append(soup.new_tag("span", attrs=cover))
    caption = figure.find("figcaption")
    caption["class"] = "fragment"
    caption["data-fragment-index"] = str(len(steps) - 1)


def cuts_through(picture: Path, part: Sequence[float]) -> bool:
    """Whether a rectangle's edges meet what is drawn inside the picture."""
    dots = np.asarray(Image.open(picture).convert("L"))
    rows, columns = dots.shape
    left, top, right, bottom = (
        round(share / 100 * size)
        for share, size in zip(part, (columns, rows) * 2, strict=True)
    )
    inside = dots[top:bottom, left:right]
    edges = [
        *([inside[0]] if top > 0 else []),
        *([inside[-1]] if bottom < rows else []),
        *([inside[:, 0]] if left > 0 else []),
        *([inside[:, -1]] if right < columns else []),
    ]
    return any((edge <= WHITE).any() for edge in edges)
