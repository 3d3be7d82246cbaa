"""An HTML page of heat maps over images and texts (chapter 19).

One HTML file that loads nothing: images stand in it as they are. What comes
from a user's files is escaped. It can be read in light and in dark.
"""

import base64
import html
import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor

ORANGE = (230, 97, 1)
"""Colour of heat."""
OPACITY = 0.8
"""Opacity of the largest value."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --ground: #fff;
  --line: #767676; --heat: 230 97 1; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #eee; --ground: #181818; --line: #999; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--ground); max-width: 50rem; margin: 2rem auto;
  padding: 0 1rem; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 0; }
p { margin: .4rem 0; }
.images { display: flex; flex-wrap: wrap; gap: 1rem; }
.image { position: relative; width: 14rem; height: 14rem;
  border: 1px solid var(--line); }
.image img { position: absolute; inset: 0; width: 100%; height: 100%;
  image-rendering: pixelated; }
"""


class Item(NamedTuple):
    """An answer and its heat map."""

    name: str
    """Name of the input: a file, a line. It is escaped."""
    answer: str
    """The model's answer. It is escaped."""
    shown: str
    """HTML: from :func:`image_heatmap` or :func:`text_heatmap`."""


def page(title: str, note: str, items: Iterable[Item]) -> str:
    """Build an HTML page.

    Args:
        title: of the page. It is escaped.
        note: how the colours are to be read. It is escaped.
        items: a section for each.
    """
    sections = "\n".join(
        f"<section>\n<h2>{html.escape(item.name)}</h2>\n"
        f"<p>{html.escape(item.answer)}</p>\n{item.shown}\n</section>"
        for item in items
    )
    title, note = html.escape(title), html.escape(note)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n<p>{note}</p>\n{sections}\n</body>\n</html>\n"
    )


def image_heatmap(
    pixels: UInt8[Tensor, "channels height width"],
    heat: Float[Tensor, "rows columns"],
    alt: str,
) -> str:
    """An image beside a copy under a heat map, as HTML.

    Args:
        pixels: from 0 to 255, grey or red, green and blue.
        heat: zero or more; the largest is painted strongest. A map of zeros
            leaves the image unchanged; the caption says so.
        alt: alternative text of the image.
    """
    largest = float(heat.max())
    share = heat / largest if largest > 0 else heat
    paint = torch.tensor(ORANGE, dtype=torch.uint8, device=heat.device)
    paint = paint.expand(*heat.shape, 3)
    alpha = (share * OPACITY * 255).round().to(torch.uint8)[..., None]
    below = _img(pixels.permute(1, 2, 0), alt)
    over = _img(torch.cat([paint, alpha], dim=-1), "")
    row, column = divmod(int(heat.argmax()), heat.size(1))
    rows, columns = heat.shape
    caption = (
        f"Hottest in row {row + 1} of {rows}, column {column + 1} of "
        f"{columns}."
        if largest > 0
        else "Nowhere above zero: nothing in it speaks for this answer."
    )
    return (
        f'<div class="images"><div class="image">{below}</div>\n'
        f'<div class="image">{below}{over}</div></div>\n<p>{caption}</p>'
    )


def text_heatmap(tokens: Sequence[str], heat: Float[Tensor, " tokens"]) -> str:
    """A text as HTML, with a background by the heat of each token.

    Args:
        tokens: in order; ▁ represents a space.
        heat: of each, zero or more; the largest is painted strongest.
    """
    largest = float(heat.max()) if len(heat) else 0.0
    shares = (heat / largest if largest > 0 else heat * 0).tolist()
    spans = (
        f'<span style="background: rgb(var(--heat) / {OPACITY * share:.2f})" '
        f'title="{share:.2f}">{html.escape(piece.replace("▁", " "))}</span>'
        for piece, share in zip(tokens, shares, strict=True)
    )
    return f"<p>{''.join(spans)}</p>"


def _img(pixels: UInt8[Tensor, "height width channels"], alt: str) -> str:
    """An inline PNG image."""
    array = np.ascontiguousarray(pixels.cpu().numpy())
    file = io.BytesIO()
    Image.fromarray(array.squeeze(-1) if array.shape[-1] == 1 else array).save(
        file, "PNG"
    )
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{html.escape(alt)}" src="data:image/png;base64,{data}">'
