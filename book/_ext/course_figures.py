"""Figures of notebooks as drawings in the page.

A figure's SVG stands in the page itself, so that its letters are the page's
and its colours follow the page into the dark.
"""

import base64
import hashlib
import io
import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import course_edition
from PIL import Image
from sphinx.application import Sphinx

from transformer_course.figures import palette, viz

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
PNG = "data:image/png;base64,"
IMAGE = re.compile(r'<img\b[^>]*\bsrc="([^"]+\.svg)"[^>]*>')
NUMBER = re.compile(r"-?\d+\.\d{2,}")
"""With more digits than a hundredth of a point, which nobody sees."""
CURVE = 50
"""Lines of a path that is drawn to a tenth of a point."""
WIDE = re.compile(r"[\u2e80-\u9fff\uff00-\uff60]")
"""A letter as wide as it is high; the others are about half as wide."""
LEFT_OF = {"start": 0, "middle": 0.5, "end": 1}
"""The share of some words that is to the left of their place."""
FONT = re.compile(r"(font-family: |(?<=px) )'Course Sans'[^;\"]*(; )?")


def inline(svg: str, alt: str) -> str:
    """A figure that matplotlib drew, to stand in a page.

    Args:
        svg: the file.
        alt: the words for who cannot see it.
    """
    ElementTree.register_namespace("", SVG[1:-1])
    root = ElementTree.fromstring(svg)
    height = float(root.get("viewBox").split()[3])
    left, right = ends_of(root)
    width = right - left
    own = hashlib.sha256(svg.encode()).hexdigest()[:6]
    lighten(root, own)
    root.attrib = {
        "class": "figure",
        "viewBox": f"{left:.2f} 0 {width:.2f} {height:.2f}",
        "role": "img",
        "aria-label": alt,
        "style": f"width:{width * viz.POINT:.0f}px",
    }
    text = ElementTree.tostring(root, encoding="unicode")
    text = re.sub(r">\s+<", "><", text.replace("xlink:href", "href"))
    return palette.with_variables(text)


def ends_of(root: ElementTree.Element) -> tuple[float, float]:
    """The left and the right end of a drawing.

    Japanese words may be wider than the English ones that were drawn.
    """
    ends = [0.0, float(root.get("viewBox").split()[2])]
    for text in root.iter(f"{SVG}text"):
        words, style = "".join(text.itertext()).strip(), text.get("style", "")
        is_level = re.match(r"rotate\(-?0 ", text.get("transform", ""))
        if course_edition.language == "ja" and is_level and WIDE.search(words):
            shares = [1.04 if WIDE.match(letter) else 0.6 for letter in words]
            size = float(re.search(r"([\d.]+)px", style)[1])
            anchor = re.search(r"text-anchor: (\w+)|$", style)[1] or "start"
            start = float(text.get("x")) - size * sum(shares) * LEFT_OF[anchor]
            ends += [start, start + size * sum(shares)]
    return min(ends), max(ends)


def lighten(root: ElementTree.Element, own: str) -> None:
    """Leave out what a page does not need; ids get the figure's own name."""
    used = set(re.findall(r"#([\w-]+)", ElementTree.tostring(root, "unicode")))
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith(("metadata", "style")):
                parent.remove(child)
    for element in root.iter():
        if (fill := element.attrib.pop("fill", None)) is not None:
            element.set("style", f"fill: {fill}")  # of a hatching
        if (name := element.get("id")) is not None:
            if name in used:
                element.set("id", f"{own}{name}")
            else:
                del element.attrib["id"]
        for key, value in element.attrib.items():
            if key == LINK and value.startswith("#"):
                value = f"#{own}{value[1:]}"
            elif key == LINK:
                value = PNG + with_palette(value.removeprefix(PNG))
            value = re.sub(r"url\(#", f"url(#{own}", value)
            if key in ("d", "x", "y", "width", "height", "transform", "style"):
                curve = key == "d" and value.count("L") > CURVE
                value = NUMBER.sub(tenths if curve else hundredths, value)
            element.set(key, FONT.sub(" ", value).strip())
        if re.match(r"rotate\(-?0 ", element.get("transform", "")):
            del element.attrib["transform"]
        if LINK in element.attrib:
            element.set("href", element.attrib.pop(LINK))


def with_palette(png: str) -> str:
    """A picture of a map, in base64, with the 256 colours that it needs."""
    picture = Image.open(io.BytesIO(base64.b64decode(png)))
    small = io.BytesIO()
    picture.quantize(256, Image.Quantize.FASTOCTREE).save(
        small, "PNG", optimize=True
    )
    return min(png, base64.b64encode(small.getvalue()).decode(), key=len)


def hundredths(number: re.Match) -> str:
    """A number with two decimals, or fewer."""
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def tenths(number: re.Match) -> str:
    """A number with one decimal, or none."""
    return f"{float(number[0]):.1f}".removesuffix(".0")


def change(
    app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any
) -> None:
    """Put the drawings of a page's figures into it."""
    originals = {name: path for path, name in app.builder.images.items()}

    def drawing(image: re.Match) -> str:
        path = originals.get(Path(unquote(image[1])).name)
        if path is None or "jupyter_execute" not in path:
            return image[0]
        alt = re.search(r'\balt="([^"]*)"', image[0])
        svg = Path(app.srcdir, path).read_text("utf-8")
        return inline(svg, unescape(alt[1]) if alt else "")

    if "body" in context:
        context["body"] = IMAGE.sub(drawing, context["body"])


def finish(app: Sphinx, error: Exception | None) -> None:
    """Write the colours; drop the files of what stands in the pages."""
    if error is None:
        for path, name in app.builder.images.items():
            if "jupyter_execute" in path and name.endswith(".svg"):
                Path(app.outdir, "_images", name).unlink(missing_ok=True)
        target = Path(app.outdir, "_static/palette.css")
        target.write_text(palette.css(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", change, priority=400)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
