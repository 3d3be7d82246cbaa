"""The decks for PowerPoint and LibreOffice, from their Markdown.

pandoc makes them. Chromium draws the pictures, twice as large as on a slide,
because both programs show a drawing small or not at all.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile

from PIL import Image

from tools.chromium import find_chromium, photograph
from tools.lectures.figures import WHOLE, Figure, Part, with_drawings
from tools.lectures.page import TEMPLATES
from transformer_course.errors import CourseError

SCALE, SHEET = 2, 8
"""Pixels to one of a slide, and pictures to a sheet."""
ROOM = 1232, 600
"""Pixels that a figure that answers has on a slide."""
LIVE = re.compile(r"\[A figure that answers[^\]]*\]\((.*?)\)")
CODE = re.compile(
    rb"<a:rPr([^>]*)>(?=\s*(?:<a:solidFill>.*?</a:solidFill>)?"
    rb'\s*<a:latin typeface="Courier")',
    re.S,
)
SMALL = rb'<a:rPr\1 sz="1400">'
"""Letters with which the longest lines of code have room."""
HEAD = """<!doctype html><meta charset="utf-8">
<link rel="stylesheet" href="_static/palette.css">
<link rel="stylesheet" href="_static/type.css">
<link rel="stylesheet" href="_static/openings.css">
<style>body { margin: 0; font-family: var(--course-font) }
div { position: absolute; left: 0 }</style>"""


def write_presentations(
    target: Path, parts: Iterable[Part], figures: dict[str, Figure]
) -> None:
    """Write a .pptx beside each deck's Markdown.

    Raises:
        CourseError: this machine lacks a program.
    """
    for name, found in (
        ("pandoc", shutil.which("pandoc")),
        ("Chromium", find_chromium()),
    ):
        if not found:
            raise CourseError(
                f"presentations need {name}, which is not here; install it, "
                "or leave --pptx out"
            )
    shown = [*parts]
    for first in range(0, len(shown), SHEET):
        draw(shown[first : first + SHEET], figures, target)
    for path in sorted(target.glob("slides/*.md")):
        text = path.read_text("utf-8").replace(".svg)", ".png)")
        text = LIVE.sub(lambda found: still(found[1], target), text)
        present(text, path.with_suffix(".pptx"))


def present(text: str, path: Path) -> None:
    """Let pandoc make a presentation of some Markdown."""
    subprocess.run(
        ["pandoc", "--from=markdown", "--citeproc", f"--output={path.name}"],
        input=text,
        text=True,
        check=True,
        cwd=path.parent,
    )
    with ZipFile(path) as made:
        files = {name: made.read(name) for name in made.namelist()}
    with ZipFile(path, "w", ZIP_DEFLATED) as smaller:
        for name, content in files.items():
            if name.startswith("ppt/slides/slide"):
                content = CODE.sub(SMALL, content)
            smaller.writestr(name, content)


def draw(
    parts: Iterable[Part], figures: dict[str, Figure], target: Path
) -> None:
    """Write some pictures as PNG, photographed from one sheet."""
    picture = TEMPLATES.get_template("figure.md").module.picture
    boxes, html, below = {}, [HEAD], 0
    for part in parts:
        width, height = part.size
        high = round(part.shown * height / width)
        boxes[part.stem] = (0, below, part.shown, below + high)
        html += [
            f'<div style="top:{below}px">{picture(part, part.stem)}</div>'
        ]
        below += high
    page = target / "sheet.html"
    page.write_text(with_drawings("\n".join(html), figures), "utf-8")
    with TemporaryDirectory() as folder:
        sheet = Path(folder, "sheet.png")
        photograph(page.as_uri(), sheet, (WHOLE, below), SCALE)
        with Image.open(sheet) as whole:
            for stem, box in boxes.items():
                cut = whole.crop([SCALE * edge for edge in box])
                cut.convert("RGB").save(target / f"figures/{stem}.png")
    page.unlink()


def still(address: str, target: Path) -> str:
    """A figure that answers as a picture, in Markdown."""
    page, _, query = address.partition("?")
    name = re.sub(r"\W", "-", query)
    file = f"figures/live-{name}.png"
    if not (target / file).exists():
        uri = (target / "slides" / page).resolve().as_uri()
        photograph(f"{uri}?{query}", target / file, ROOM, SCALE)
    return f"![](../{file})"
