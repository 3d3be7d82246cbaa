"""The colours of the course, in light and in dark.

Figures, pages and decks take them from here, and :func:`css` gives them to a
page as variables. The strong hues are those of Okabe and Ito (2008, "Color
universal design"), which people with any kind of colour vision can tell apart;
in the dark they are lighter. What each stands for is on the page *Notation*.
"""

import re
from typing import NamedTuple


class Colour(NamedTuple):
    """A colour on a light page, and what it becomes on a dark one."""

    light: str
    dark: str


HUES = {
    "ink": Colour("#000000", "#e4e7ea"),
    "paper": Colour("#ffffff", "#14181e"),
    "muted": Colour("#666666", "#a3abb3"),
    "line": Colour("#d5d9de", "#39414b"),
    "vermilion": Colour("#d55e00", "#ff8b3d"),
    "blue": Colour("#0072b2", "#56b4e9"),
    "green": Colour("#009e73", "#2fd0a2"),
    "purple": Colour("#cc79a7", "#e0a1c6"),
    "orange": Colour("#e69f00", "#f2b632"),
    "sky": Colour("#56b4e9", "#8ccbf3"),
    "yellow": Colour("#f0e442", "#efe57a"),
}
ROLES = {
    "query": "vermilion",
    "key": "blue",
    "value": "green",
    "mix": "purple",
}
"""Hues that stand for one thing in every chapter."""
PARTS = {
    "attend": Colour("#fde3c8", "#5a3510"),
    "attend-line": Colour("#b45f06", "#e79a4b"),
    "ffn": Colour("#d6e9f8", "#14405c"),
    "ffn-line": Colour("#1f6f9f", "#6db5e0"),
    "embed": Colour("#dcefdc", "#1f4525"),
    "embed-line": Colour("#3c7d3c", "#7fc285"),
    "position": Colour("#d3eeee", "#0f4444"),
    "position-line": Colour("#1b7a7a", "#6cc9c9"),
    "norm": Colour("#f3efd2", "#454016"),
    "norm-line": Colour("#8a7a1e", "#cfc05a"),
    "output": Colour("#e8dff3", "#402a60"),
    "output-line": Colour("#6d4c9f", "#b698e0"),
    "right": Colour("#1b7f4b", "#5fce94"),
    "wrong": Colour("#b3261e", "#ff8a80"),
}
"""Parts of the Transformer, a tint and its line, and what is said of them."""
DRAWN = HUES | {
    name: PARTS[name] for name in ("attend-line", "ffn-line", "norm-line")
}
"""What a figure of a notebook is drawn in, and shades of it."""

_PAINT = re.compile(r"\b(fill|stroke): (#[0-9a-f]{6})\b")
_CLOSE = 2.5  # steps of 255, in which shades are rounded


def css() -> str:
    """The colours as CSS variables, ``--course-blue`` for instance."""
    colours = HUES | PARTS
    light, dark = (
        "".join(f"--course-{name}:{c[i]};" for name, c in colours.items())
        for i in range(2)
    )
    roles = "".join(
        f"--course-{role}:var(--course-{hue});" for role, hue in ROLES.items()
    )
    return (
        f"html{{{light}}}\n"
        f'@media not print{{html[data-theme="dark"]{{{dark}}}}}\n'
        f"html{{{roles}}}\n"
    )


def with_variables(svg: str) -> str:
    """A drawing on white with CSS variables in place of its colours.

    A hue becomes its variable, a shade of one a mixture of it with the paper.
    """
    return _PAINT.sub(lambda paint: f"{paint[1]}:{variable(paint[2])}", svg)


def variable(colour: str) -> str:
    """A colour, ``#80b8d8``, in CSS variables; itself if it is no hue."""
    wanted = _rgb(colour)
    for name, (hue, _) in DRAWN.items():
        if hue == colour:
            return f"var(--course-{name})"
    for name, (hue, _) in DRAWN.items():
        share = _share(wanted, _rgb(hue))
        if name not in ("paper", "line") and share:
            return (
                f"color-mix(in srgb,var(--course-{name}) {100 * share:.0f}%,"
                "var(--course-paper))"
            )
    return colour


def _share(wanted: list[int], hue: list[int]) -> float:
    """How much of a hue, the rest being white, gives a colour; 0 if none."""
    length = sum((255 - part) ** 2 for part in hue)
    product = sum(
        (255 - a) * (255 - b) for a, b in zip(wanted, hue, strict=True)
    )
    share = product / max(length, 1)
    mixed = [255 - share * (255 - part) for part in hue]
    apart = max(abs(a - b) for a, b in zip(mixed, wanted, strict=True))
    return share if apart < _CLOSE and share <= 1 else 0.0


def _rgb(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
