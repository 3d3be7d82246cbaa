"""The picture that stands beside a link to the book where one is shared.

It is the picture of the first page, ``transformer.svg``, without its words,
beside the book's title; drawn when the book is built.
"""

import re
from pathlib import Path
from textwrap import fill
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib_fontja
from course_strip import PICTURE, SVG
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

PREVIEW = "preview.png"
SIZE = (1200, 630)
"""Its width and height in pixels, as Open Graph has them."""
DPI = 100
INK, GROUND = "#222832", "#ffffff"
MOVES = re.compile(r"([MHVhv])\s*(-?[\d.]+)(?:[ ,](-?[\d.]+))?")


def colours(css: str) -> dict[str, tuple[str, str]]:
    """Fill and line of each kind of box, as the light pages have them."""
    light = css[: css.index("data-theme")]
    found = dict(re.findall(r"--course-([\w-]+): (#\w+)", light))
    found["train"], found["train-line"] = found["output"], found["output-line"]
    return {
        kind: (colour, found[f"{kind}-line"])
        for kind, colour in found.items()
        if f"{kind}-line" in found
    }


def points_of(path: str) -> list[list[tuple[float, float]]]:
    """The lines of a path that goes along, up and down."""
    lines: list[list[tuple[float, float]]] = []
    x = y = 0.0
    for move, first, second in MOVES.findall(path):
        if move == "M":
            x, y = float(first), float(second)
            lines.append([])
        elif move in "Hh":
            x = float(first) + (x if move == "h" else 0)
        else:
            y = float(first) + (y if move == "v" else 0)
        lines[-1].append((x, y))
    return lines


def draw_shape(
    axes: Axes, shape: Element, kinds: dict[str, tuple[str, str]]
) -> None:
    """One box, circle or line of the picture."""
    kind = shape.get("class", "")
    face, edge = kinds.get(kind, ("none", INK))
    look = {"facecolor": face, "edgecolor": edge, "linewidth": 1.2}
    at = {
        key: float(shape.get(key, 0))
        for key in ("x", "y", "width", "height", "cx", "cy", "r")
    }
    if shape.tag == f"{SVG}rect":
        box = FancyBboxPatch(
            (at["x"] + 4, at["y"] + 4),
            at["width"] - 8,
            at["height"] - 8,
            boxstyle="round,pad=4",
            linestyle="--" if kind == "frame" else "-",
            **look,
        )
        axes.add_patch(box)
    elif shape.tag == f"{SVG}circle":
        axes.add_patch(Circle((at["cx"], at["cy"]), at["r"], **look))
    elif shape.tag == f"{SVG}path" and kind == "flow":
        for line in points_of(shape.get("d", "")):
            axes.plot(*zip(*line, strict=True), color=INK, linewidth=1.2)


def preview(picture: Element, css: str, title: str, line: str) -> Figure:
    """Title and line on the left, the picture on the right."""
    size = (SIZE[0] / DPI, SIZE[1] / DPI)
    figure = Figure(figsize=size, dpi=DPI, facecolor=GROUND)
    axes = figure.add_axes((0.62, 0.05, 0.34, 0.9))
    left, top, width, height = map(float, picture.get("viewBox", "").split())
    axes.set(
        xlim=(left - 4, left + width + 4),
        ylim=(top + height, top),
        aspect="equal",
    )
    axes.axis("off")
    kinds = colours(css)
    for shape in picture.iterfind(f"{SVG}g//*"):
        draw_shape(axes, shape, kinds)
    words = {"x": 0.07, "color": INK, "linespacing": 1.3}
    figure.text(y=0.6, s=fill(title, 14), size=58, va="center", **words)
    figure.text(y=0.25, s=fill(line, 36), size=22, va="center", **words)
    return figure


def write_preview(source: Path, static: Path, title: str, line: str) -> None:
    """Draw it from the sources of an edition, into its static files."""
    picture = ElementTree.parse(source / PICTURE).getroot()
    css = (static / "course.css").read_text(encoding="utf-8")
    with rc_context():
        matplotlib_fontja.japanize()
        rcParams["font.family"] = ["DejaVu Sans", "IPAexGothic"]
        figure = preview(picture, css, title, line)
        figure.savefig(static / PREVIEW, metadata={"Software": None})
