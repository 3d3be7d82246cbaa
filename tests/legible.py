"""Can a figure be read on a phone, and by those who do not see its colours?

The book's figures are looked at by this module when they are drawn by ``make
outputs`` and by the tests of the notebooks: ``matplotlibrc`` beside it says
so. A figure that fails stops the cell that drew it.
"""

import itertools
from collections.abc import Iterator

import matplotlib.pyplot as plt
from matplotlib.backend_bases import DrawEvent
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text

from transformer_course.errors import ConfigError
from transformer_course.figures.viz import POINT

PHONE = 390
"""CSS pixels that a figure has on a phone: its whole width."""
SMALLEST = 11.0
"""CSS pixels that the smallest letters of a figure must have there."""

_POINTS = 72  # to an inch
_ROUNDING = 0.05  # CSS pixels


def drawn_texts(figure: Figure) -> Iterator[Text]:
    """The texts of a figure that are to be seen."""
    hidden = {
        text
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        if not (ax.axison and axis.get_visible())
        for text in axis.findobj(Text)
    }
    for text in figure.findobj(Text):
        seen = text.get_visible() and text.get_text().strip()
        if seen and text not in hidden:
            yield text


def point_on_phone(figure: Figure) -> float:
    """CSS pixels of a point, in which letters are measured, on a phone.

    A figure that is wider than the screen is made smaller, and its letters
    with it.
    """
    margins = 2 * plt.rcParams["savefig.pad_inches"]
    width = (figure.get_tightbbox().width + margins) * _POINTS * POINT
    return POINT * min(1.0, PHONE / width)


def same_but_for_colour(legend: Legend) -> list[tuple[str, str]]:
    """Labels of a legend's lines that differ in colour alone."""
    names = [text.get_text() for text in legend.get_texts()]
    lines = [
        _look(handle) if isinstance(handle, Line2D) else None
        for handle in legend.legend_handles
    ]
    pairs = itertools.combinations(zip(names, lines, strict=True), 2)
    return [(a, b) for (a, one), (b, other) in pairs if one and one == other]


def _look(line: Line2D) -> tuple:
    """A line's style without its colour.

    ``get_linestyle`` calls any tuple of dashes "--".
    """
    dashes = line._unscaled_dash_pattern
    return dashes, line.get_marker(), line.get_linewidth()


def check(figure: Figure) -> None:
    """Refuse a figure that cannot be read on a phone or without colours.

    Raises:
        ConfigError: letters are smaller than :data:`SMALLEST` there, or two
            lines of a legend differ in nothing but their colour.
    """
    text = min(drawn_texts(figure), key=Text.get_fontsize, default=None)
    size = text.get_fontsize() * point_on_phone(figure) if text else SMALLEST
    if size < SMALLEST - _ROUNDING:
        width = figure.get_tightbbox().width
        raise ConfigError(
            f"the text {text.get_text()!r} of this figure, {width:.1f} inches "
            f"wide, has {size:.1f} pixels on a phone, below {SMALLEST:g}: "
            "draw the figure narrower (panels below one another), or its "
            "text larger."
        )
    for legend in figure.findobj(Legend):
        for pair in same_but_for_colour(legend):
            raise ConfigError(
                f"the lines {pair[0]!r} and {pair[1]!r} of this figure differ "
                "in nothing but their colour: give one of them another "
                "linestyle or marker."
            )


def watch(figure: Figure) -> None:
    """Check a figure whenever it is drawn; for ``figure.hooks``."""

    def drawn(event: DrawEvent) -> None:
        check(event.canvas.figure)

    figure.canvas.mpl_connect("draw_event", drawn)
