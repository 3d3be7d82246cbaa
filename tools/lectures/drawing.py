"""The picture of the whole Transformer as files, and in pieces for slides.

On the book's pages it is a drawing with links, whose colours come from the
page. Here each file carries the style itself, in the colours of a light page.
On one slide its letters would be too small, so that slides have pieces.
"""

import re
from dataclasses import dataclass
from functools import cache

from tools.lectures.headings import BOOK
from tools.lectures.parts import DOTS, LETTERS

PICTURE = BOOK / "figures/transformer.svg"
STYLE = BOOK.parent / "_static/course.css"
THEME = {
    "text-base": "#222832",
    "text-muted": "#48566b",
    "background": "#fff",
    "surface": "#f3f4f5",
}
"""Colours of the book's theme, by the names of its variables."""
SCALE = LETTERS * DOTS / 14
"""Makes the smallest letters as high as those of the other figures."""


@dataclass(frozen=True)
class Drawing:
    """The picture, or a piece of it."""

    view: str
    """Left, top, width and height of what is seen, as SVG writes it."""
    caption: str
    alt: str = ""
    """What is to be seen; without it, what the picture says of itself."""
    left_out: str = ""
    """Beginnings of the names of groups that are not drawn: a pattern."""


DRAWINGS = {
    "transformer": Drawing(
        "0 -62 430 762",
        "The Transformer, part by part. A number names the chapter.",
    ),
    "transformer-encoder": Drawing(
        "0 280 275 420",
        "The encoder. It turns each token of the source into a vector that "
        "knows its context: the memory.",
        "A column, read upwards: source tokens, embedding, positional "
        "encoding added; then N layers, each with multi-head self-attention "
        "and a feed-forward part, each followed by add and norm. What comes "
        "out is the memory.",
        left_out="Decoder|Output",
    ),
    "transformer-lower": Drawing(
        "0 256 430 444",
        "The lower half. Encoder layers have two parts, decoder layers "
        "three. The memory goes to the decoder's second part.",
        "Two columns, read upwards. Left: source tokens, embedding, "
        "positional encoding, then self-attention, add and norm, "
        "feed-forward, add and norm; the memory leads to the right. Right: "
        "target tokens so far, embedding, positional encoding, then masked "
        "self-attention, add and norm, cross-attention over the memory, add "
        "and norm, feed-forward.",
    ),
    "transformer-upper": Drawing(
        "0 -62 430 362",
        "The upper half. From the decoder's vectors come probabilities. In "
        "training the loss compares them with the right next token; in use, "
        "the next token is chosen by them.",
        "Read upwards: feed-forward, add and norm, the end of the decoder's "
        "layers; then linear, softmax, and a probability for every next "
        "token. From there one arrow leads to choosing the next token, and "
        "one to loss and training, where the right next token enters too.",
        left_out="Encoder",
    ),
}


@cache
def rules() -> str:
    """The rules of the book's style sheet for the picture, without variables.

    Raises:
        KeyError: a rule uses a variable whose value is not known here.
    """
    style = STYLE.read_text("utf-8")
    colours = {f"pst-color-{name}": value for name, value in THEME.items()}
    for name, value in re.findall(r"--(course-[\w-]+): (#\w+);", style):
        colours.setdefault(name, value)  # the first is that of a light page
    found = re.findall(r"^(\.transformer-map [^{:]+\{[^}]*\})", style, re.M)
    return re.sub(
        r"var\(--([\w-]+)\)", lambda m: colours[m[1]], "\n".join(found)
    )


def draw(drawing: Drawing) -> str:
    """The picture, or a piece of it, as a file of SVG."""
    source = PICTURE.read_text("utf-8")
    if drawing.left_out:
        group = f'  <g role="group" aria-label="(?:{drawing.left_out})'
        source = re.sub(rf"{group}.*?\n  </g>\n", "", source, flags=re.S)
    *_, width, height = drawing.view.split()
    font = "font-family: 'Noto Sans', Arial, 'DejaVu Sans', sans-serif"
    source = re.sub(
        r'viewBox="[^"]*"',
        f'viewBox="{drawing.view}" width="{SCALE * int(width):.0f}" '
        f'height="{SCALE * int(height):.0f}" style="{font}; font-size: 15px"',
        source,
        count=1,
    )
    style = f"<style>\n{rules()}\n</style>\n"
    return source.replace("  <defs>", f"{style}  <defs>", 1)


def alt_of(drawing: Drawing) -> str:
    """What is to be seen."""
    said = re.search("<desc[^>]*>(.*?)</desc>", PICTURE.read_text("utf-8"))
    return drawing.alt or said[1]


def figure_of(name: str) -> str:
    """A drawing as the book's figures are marked up."""
    drawing = DRAWINGS[name]
    return (
        f'<figure id="{name}"><img alt="{alt_of(drawing)}" src="{name}.svg"/>'
        f"<figcaption><p>{drawing.caption}</p></figcaption></figure>"
    )
