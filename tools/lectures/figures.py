"""The figures of the chapters as files with names that say what they show."""

import base64
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from PIL import Image

from tools.lectures.chapter import BOOK, MAP, chapter_files, portable
from tools.lectures.plan import Plan
from tools.refresh_outputs import client_of

DRAW = "%config InlineBackend.figure_formats = ['png', 'svg']"
"""A cell behind the imports, whose style has chosen PNG alone."""
DOTS = 160
"""To the inch, as most figures are drawn, and all are shown."""
LETTERS = 10 / 72
"""Inches: how high letters are drawn."""
LEAST = 18
"""Pixels of a figure's letters on a slide of 1280 by 720."""
WIDTH, HEIGHT = 800, 696
"""Pixels that a picture has on a slide, beside its caption."""
TALL = 0.7
"""Height by width from which on a picture has the slide's whole height."""
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
    """As PNG, and as SVG where the chapter was drawn anew."""
    size: tuple[float, float]
    """Width and height, as they are shown."""
    caption: str
    alt: str
    """What is to be seen."""

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
    steps: Collection[Collection[float]] = ()
    """What is covered until the first click, the second, and so on."""
    blank: Collection[Collection[float]] = ()
    """What is covered for good."""

    @property
    def window(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of what is seen, as it is shown."""
        width, height = self.figure.size
        left, top, right, bottom = (
            round(share * size / 100, 1)
            for share, size in zip(self.view, (width, height) * 2, strict=True)
        )
        return left, top, right - left, bottom - top

    @property
    def tall(self) -> bool:
        """Whether it has the whole height of a slide."""
        return self.window[3] > TALL * self.window[2]

    @property
    def shown(self) -> int:
        """Pixels of its width on a slide."""
        *_, width, height = self.window
        return round(min(width, WIDTH, HEIGHT * width / height))


def parts_of(name: str, figures: dict[str, Figure], plan: Plan) -> list[Part]:
    """A figure, or as many parts of it as the plan cuts it into."""
    if piece := plan.drawings.get(name):
        steps, whole = plan.builds.get(name, []), figures[MAP]
        alt = piece.alt or whole.alt
        view = tuple(piece.view)
        return [
            Part(name, whole, view, piece.caption, alt, steps, piece.blank)
        ]
    figure = figures[name]
    rows = [0, *plan.cuts.get(figure.stem, []), 100]
    parts = []
    for number, (top, bottom) in enumerate(pairwise(rows), 1):
        stem = figure.stem + (f"-part-{number}" if len(rows) > 2 else "")
        steps, view = plan.builds.get(stem, []), (0, top, 100, bottom)
        caption = portable(figure.caption)
        parts.append(Part(stem, figure, view, caption, figure.alt, steps))
    return parts


def write_figures(
    folder: Path, svg: Collection[str] = ()
) -> dict[str, Figure]:
    """Write all figures, those of some chapters as SVG too; by name."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = [drawing(folder)]
    for chapter, path in chapter_files().items():
        notebook = nbformat.read(path, as_version=4)
        if chapter in svg:
            notebook.cells.insert(2, new_code_cell(DRAW))
            client_of(notebook, path.parent).execute()
        figures += figures_of(chapter, notebook, folder)
    return {figure.name: figure for figure in figures}


def figures_of(
    chapter: str, notebook: NotebookNode, folder: Path
) -> Iterator[Figure]:
    """Write the figures of a notebook, from its outputs."""
    for cell in notebook.cells:
        about = cell.metadata.get("mystnb", {})
        for output in cell.get("outputs", []) if "figure" in about else []:
            data = output.get("data", {})
            if "image/png" not in data:
                continue
            figure, alt = about["figure"], about.get("image", {}).get("alt")
            name = figure["name"]
            words = re.sub(rf"^fig-(?:{chapter}-)?|-figure$", "", name)
            files = [f"{chapter}-{words}.png"]
            png = base64.b64decode(data["image/png"])
            (folder / files[0]).write_bytes(png)
            if vectors := data.get("image/svg+xml"):
                files.append(f"{chapter}-{words}.svg")
                (folder / files[1]).write_text(vectors, encoding="utf-8")
            with Image.open(BytesIO(png)) as picture:
                scale = DOTS / picture.info.get("dpi", (DOTS, DOTS))[0]
                size = picture.width * scale, picture.height * scale
            yield Figure(name, files, size, figure["caption"], alt or "")


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
    for name, value in re.findall(r"--(course-[\w-]+): (#\w+);", style):
        colours.setdefault(name, value)  # the first is that of a light page
    rules = re.findall(r"^\.transformer-map [^{:]+\{[^}]*\}", style, re.M)
    css = re.sub(
        r"var\(--([\w-]+)\)", lambda m: colours[m[1]], "\n".join(rules)
    )
    source = source.replace("<defs>", f"<style>\n{css}\n</style>\n<defs>", 1)
    *_, width, height = re.search('viewBox="([^"]*)"', source)[1].split()
    scale = LETTERS * DOTS / 14  # letters as high as those of other figures
    size = scale * int(width), scale * int(height)
    font = "font: 15px 'Noto Sans', Arial, 'DejaVu Sans', sans-serif"
    attributes = 'width="{}" height="{}" style="{}" viewBox='
    picture = source.replace("viewBox=", attributes.format(*size, font), 1)
    (folder / f"{MAP}.svg").write_text(picture, encoding="utf-8")
    said = re.search("<desc[^>]*>(.*?)</desc>", source)[1]
    return Figure(MAP, [f"{MAP}.svg"], size, "", said)
