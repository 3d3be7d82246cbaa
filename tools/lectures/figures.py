"""The figures of the chapters as files with names that say what they show."""

import base64
import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import course_figures
from nbformat import NotebookNode
from PIL import Image

from tools.lectures.chapter import (
    BOOK,
    MAP,
    chapter_files,
    notebook_of,
    portable,
)
from tools.lectures.plan import Plan
from transformer_course.figures import palette

DOTS = 160
"""To the inch, as most figures are drawn, and all are shown."""
LETTERS = 11 / 72
"""Inches: how high letters are drawn."""
SMALL = 0.7
"""Size of an index beside that of its letter."""
LEAST = 20
"""Pixels of a figure's letters on a slide of 1280 by 720."""
WIDTH, WIDEST = 800, 900
"""Pixels that a picture has on a slide, beside its words; more than the first
of them where its letters would be too small."""
LOW, HIGH = 560, 696
"""Pixels of its height below the title, and beside it."""
LARGER = 1.3
"""How many times as large as in the book a picture is shown at most."""
FLAT, WHOLE = 0.36, 1160
"""Height by width below which a picture has the slide's whole width, with its
caption below."""
SVG = "http://www.w3.org/2000/svg"
OPENED, SIGNS = 1.8, 20
"""How many times as large an opening is shown, and pixels of its letters."""
STYLE = BOOK.parent / "_static/course.css"
THEME = {
    "text-base": "#222832",
    "text-muted": "#48566b",
    "background": "#fff",
    "surface": "#f3f4f5",
}
"""Colours of the book's theme, by the names of its variables."""


@dataclass(frozen=True)
class Figure:
    """A figure, written as a file."""

    name: str
    """As prose refers to it, such as ``fig-04-by-hand``."""
    files: list[str]
    """What is shown, as SVG or as PNG, and its other forms."""
    size: tuple[float, float]
    """Width and height, as they are shown."""
    caption: str
    alt: str
    """What is to be seen."""
    letters: float = LETTERS * DOTS
    """Pixels of its smallest letters, as they are shown."""
    drawn: str = ""
    """Its SVG, if it may stand in a page."""

    @property
    def stem(self) -> str:
        """Its file's name without the kind, such as ``04-by-hand``."""
        return Path(self.files[0]).stem


@dataclass(frozen=True)
class Part:
    """A figure on a page, or a part of it: a window onto its file."""

    stem: str
    figure: Figure
    view: tuple[float, float, float, float]
    """Left, top, right and bottom of what is seen, in per cent."""
    caption: str
    alt: str
    frame: tuple[float, float] = (0, 100)
    """Where the head ends and the foot begins that all its parts show."""
    steps: Collection[Collection[float]] = ()
    """What is covered until the first click, the second, and so on."""
    blank: Collection[Collection[float]] = ()
    """What is covered for good."""

    @property
    def bands(self) -> list[tuple[float, float, float, float]]:
        """Left, top, width and height of what is seen, as it is shown.

        One below another: a head, the part itself, a foot.
        """
        left, top, right, bottom = self.view
        head, foot = self.frame
        rows = [(0, min(head, top)), (top, bottom), (max(foot, bottom), 100)]
        width, height = (size / 100 for size in self.figure.size)
        return [
            tuple(
                round(edge, 1)
                for edge in (
                    left * width,
                    a * height,
                    (right - left) * width,
                    (b - a) * height,
                )
            )
            for a, b in rows
            if a < b
        ]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, as they are shown."""
        return self.bands[0][2], sum(height for *_, height in self.bands)

    @property
    def layout(self) -> str:
        """How it stands on a slide: tall, wide or flat."""
        width, height = self.size
        flat = "flat" if height < FLAT * width else "wide"
        return "tall" if self.shown * height > (LOW + 1) * width else flat

    @property
    def shown(self) -> int:
        """Pixels of its width on a slide."""
        width, height = self.size
        usual, most = WIDTH, WIDEST
        if height < FLAT * width:
            usual, most = WHOLE, WHOLE
        legible = math.ceil(width * LEAST / self.figure.letters)
        wanted = min(LARGER * width, usual, LOW * width / height)
        return round(min(max(wanted, legible), most, HIGH * width / height))

    @property
    def letters(self) -> float:
        """Pixels of its smallest letters on a slide."""
        return self.figure.letters * self.shown / self.size[0]


def with_drawings(html: str, figures: dict[str, Figure]) -> str:
    """A page with the drawings that its comments name.

    A comment also gives a drawing's place, which keeps its ids apart from
    those of others. Sphinx would take its time over the drawings themselves.
    """

    def drawing(found: re.Match[str]) -> str:
        svg = inlined(figures[found[1]].drawn)
        named = r'(\bid="|url\(#|href="#)([\w.-]+)'
        return re.sub(named, rf"\1{found[2]}-\2", svg)

    return re.sub(r"<!--drawn (\S+) (\S+)-->", drawing, html)


@cache
def inlined(svg: str) -> str:
    """A drawing as it stands in a page, as large as the place it has."""
    if "<?xml" not in svg:  # made for a page, where it may have links
        whole = re.sub('<a href="[^"]*"', "<a", svg)
        return re.sub(
            r'\b(width|height)="[^"]*"', r'\1="100%"', whole, count=2
        )
    drawn = course_figures.inline(svg, "")
    return re.sub(r' style="width:\d+px"| role="img"', "", drawn, count=2)


def parts_of(name: str, figures: dict[str, Figure], plan: Plan) -> list[Part]:
    """A figure, or as many parts of it as the plan cuts it into."""
    if piece := plan.drawings.get(name):
        steps, whole = plan.builds.get(name, []), figures[MAP]
        alt = piece.alt or whole.alt
        return [
            Part(
                name,
                whole,
                tuple(piece.view),
                piece.caption,
                alt,
                steps=steps,
                blank=piece.blank,
            )
        ]
    figure = figures[name]
    rows = plan.cuts.get(figure.stem, [0, 100])
    parts = []
    for number, edges in enumerate(pairwise(rows), 1):
        top, bottom = sorted(edges)
        stem = figure.stem + (f"-part-{number}" if len(rows) > 2 else "")
        parts.append(
            Part(
                stem,
                figure,
                (0, top, 100, bottom),
                plan.captions.get(stem) or portable(figure.caption),
                figure.alt,
                tuple(plan.frames.get(figure.stem, (0, 100))),
                plan.builds.get(stem, []),
            )
        )
    return parts


def write_part(part: Part, folder: Path) -> str:
    """Write what a part shows as a file of its own, and name it."""
    figure = part.figure
    if len(part.bands) == 1 and part.size == figure.size:
        return figure.files[0]
    path = folder / f"{part.stem}{Path(figure.files[0]).suffix}"
    if path.suffix == ".svg":
        drawing = (folder / figure.files[0]).read_text("utf-8")
        path.write_text(cut_svg(part, drawing), encoding="utf-8")
        return path.name
    with Image.open(folder / figure.files[0]) as picture:
        scale = picture.width / figure.size[0]
        pieces = [
            picture.crop([round(scale * e) for e in (x, y, x + w, y + h)])
            for x, y, w, h in part.bands
        ]
    whole = Image.new("RGB", (pieces[0].width, sum(p.height for p in pieces)))
    for number, piece in enumerate(pieces):
        above = sum(one.height for one in pieces[:number])
        whole.paste(piece, (0, above))
    whole.save(path)
    return path.name


def cut_svg(part: Part, drawing: str) -> str:
    """A drawing in a window: what a part shows of it."""
    inner = drawing[drawing.index("<svg") :]
    width, height = part.size
    lines = [
        f'<svg xmlns="{SVG}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">'
    ]
    below = 0.0
    for left, top, wide, high in part.bands:
        lines += [
            f'<svg y="{below}" width="{wide}" height="{high}" '
            f'viewBox="{left} {top} {wide} {high}">{inner}</svg>'
        ]
        below += high
    for x, y, right, bottom in part.blank:
        lines += [
            f'<rect x="{x}%" y="{y}%" width="{right - x}%" '
            f'height="{bottom - y}%" fill="#fff"/>'
        ]
    return "\n".join([*lines, "</svg>"])


def write_figures(folder: Path) -> dict[str, Figure]:
    """Write all figures; by name."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = [drawing(folder), *openings(folder)]
    for chapter, path in chapter_files().items():
        figures += figures_of(chapter, notebook_of(path), folder)
    return {figure.name: figure for figure in figures}


def figures_of(
    chapter: str, notebook: NotebookNode, folder: Path
) -> Iterator[Figure]:
    """Write the figures of a notebook, from its outputs."""
    for cell in notebook.cells:
        about = cell.metadata.get("mystnb", {})
        for output in cell.get("outputs", []) if "figure" in about else []:
            data = output.get("data", {})
            name = about["figure"]["name"]
            words = re.sub(rf"^fig-(?:{chapter}-)?|-figure$", "", name)
            alt = about.get("image", {}).get("alt") or ""
            drawn = [
                form(data[kind], folder / f"{chapter}-{words}.{ending}")
                for kind, (ending, form) in FORMS.items()
                if kind in data
            ]
            if drawn:
                files = [f["file"] for f in drawn]
                caption = about["figure"]["caption"]
                looks = {k: v for k, v in drawn[0].items() if k != "file"}
                yield Figure(name, files, caption=caption, alt=alt, **looks)


def write_svg(data: str, path: Path) -> dict[str, Any]:
    """Write a drawing; its size, its smallest letters, and its text."""
    path.write_text(data, encoding="utf-8")
    box = re.search('viewBox="0 0 ([^ "]+) ([^ "]+)"', data)
    scale = DOTS / 72
    sizes = {
        float(size)
        for size in re.findall(r"\bfont(?:-size)?:[^;\"]*?([\d.]+)px", data)
    }
    sizes -= {round(SMALL * size, 1) for size in sizes}
    return {
        "file": path.name,
        "size": (float(box[1]) * scale, float(box[2]) * scale),
        "letters": min(sizes, default=LETTERS * 72) * scale,
        "drawn": data,
    }


def write_png(data: str, path: Path) -> dict[str, Any]:
    """Write a picture; its size."""
    png = base64.b64decode(data)
    path.write_bytes(png)
    with Image.open(BytesIO(png)) as picture:
        scale = DOTS / picture.info.get("dpi", (DOTS, DOTS))[0]
        size = picture.width * scale, picture.height * scale
    return {"file": path.name, "size": size}


FORMS = {
    "image/svg+xml": ("svg", write_svg),
    "image/png": ("png", write_png),
}
"""Kinds of outputs that are figures, the best first."""


def openings(folder: Path) -> Iterator[Figure]:
    """Write the pictures that chapters begin with, ``opening-04`` by name."""
    for path in sorted((BOOK / "figures/openings").glob("*.svg")):
        name = f"opening-{path.stem}"
        svg = path.read_text("utf-8")
        svg = svg[svg.index("<svg") :]
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        width, height = map(
            float, re.findall('(?:width|height)="(\\d+)"', svg)[:2]
        )
        said = re.search('aria-label="([^"]*)"', svg)[1]
        size = OPENED * width, OPENED * height
        letters = OPENED * SIGNS
        files = [f"{name}.svg"]
        yield Figure(name, files, size, "", unescape(said), letters, svg)


def drawing(folder: Path) -> Figure:
    """Write the picture of the Transformer, with style and size of its own.

    On the book's pages they come from the page. The colours are those of a
    light page.

    Raises:
        KeyError: the style uses a variable whose value is not known here.
    """
    source = (BOOK / f"figures/{MAP}.svg").read_text("utf-8")
    style = STYLE.read_text("utf-8")
    colours = {f"pst-color-{name}": value for name, value in THEME.items()}
    for name, hue in (palette.HUES | palette.PARTS).items():
        colours[f"course-{name}"] = hue.light
    for role, name in palette.ROLES.items():
        colours[f"course-{role}"] = palette.HUES[name].light
    rules = re.findall(r"^\.transformer-map [^{:]+\{[^}]*\}", style, re.M)
    css = re.sub(
        r"var\(--([\w-]+)\)", lambda m: colours[m[1]], "\n".join(rules)
    )
    source = source.replace("<defs>", f"<style>\n{css}\n</style>\n<defs>", 1)
    *_, width, height = re.search('viewBox="([^"]*)"', source)[1].split()
    scale = LETTERS * DOTS / 14  # letters as high as those of other figures
    size = scale * int(width), scale * int(height)
    font = "font: 15px var(--course-font, Arial, sans-serif)"
    attributes = 'width="{}" height="{}" style="{}" viewBox='
    picture = source.replace("viewBox=", attributes.format(*size, font), 1)
    (folder / f"{MAP}.svg").write_text(picture, encoding="utf-8")
    said = re.search("<desc[^>]*>(.*?)</desc>", source)[1]
    return Figure(MAP, [f"{MAP}.svg"], size, "", said, drawn=picture)
