"""Attention as ribbons, and vectors as strips of colour.

A ribbon is a curve from a word to a word that it looks at.
"""

from collections.abc import Sequence

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import Tensor

from transformer_course.figures.viz import (
    ATTENTION,
    GREY,
    MAPS,
    check_labels,
    new_axes,
)

_WIDEST = 9  # points, of a ribbon with all the weight
_LEAST = 0.03  # a smaller weight is not drawn


def ribbons(
    weights: Float[Tensor, "query key"],
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Attention weights as ribbons from the queries, left, to the keys, right.

    A ribbon is as wide as its weight; the largest of each query is orange.
    Weights below 0.03 are left out. Beside a heat map that shares its y axis
    (``plt.subplots(1, 2, sharey=True)``) each query stands in its row.

    Args:
        weights: what to draw, between 0 and 1.
        queries: a label for each row.
        keys: a label for each column.
        title: stands above.
        ax: where to draw; a new figure of fitting size if left out.

    Raises:
        ConfigError: there is not one label for each row and column.
    """
    rows, columns = weights.shape
    check_labels("queries", queries, "rows", rows)
    check_labels("keys", keys, "columns", columns)
    ax = ax or new_axes(2.7, 0.7 + 0.3 * max(rows, columns))
    heights = [(key + 0.5) * rows / columns - 0.5 for key in range(columns)]
    for row, line in enumerate(weights.tolist()):
        for height, weight in zip(heights, line, strict=True):
            if weight >= _LEAST:
                _draw_ribbon(ax, row, height, weight, weight == max(line))
    for height, key in zip(heights, keys, strict=True):
        ax.text(1.04, height, key, va="center")
    ax.set(xlim=(0, 1), ylim=(rows - 0.5, -0.5), title=title, xticks=[])
    ax.set_yticks(range(rows), queries)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _draw_ribbon(
    ax: Axes, start: float, end: float, weight: float, largest: bool
) -> None:
    points = [(0, start), (0.5, start), (0.5, end), (1, end)]
    curve = Path(points, [Path.MOVETO] + [Path.CURVE4] * 3)
    ax.add_patch(
        PathPatch(
            curve,
            fill=False,
            edgecolor=ATTENTION if largest else GREY,
            linewidth=weight * _WIDEST,
            alpha=0.8 if largest else 0.4,
            clip_on=False,
            zorder=2 if largest else 1,
        )
    )


def strips(
    vectors: Float[Tensor, "vector component"],
    labels: Sequence[str],
    *,
    largest: float | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Vectors as strips of colour: negative is blue, positive is orange.

    Args:
        vectors: what to draw, a strip for each row.
        labels: what stands to the left of each strip.
        largest: the number of the deepest colour; the largest that is there
            if left out. Give it to compare several drawings.
        title: stands above.
        ax: where to draw; a new figure of fitting size if left out.

    Raises:
        ConfigError: there is not one label for each vector.
    """
    check_labels("labels", labels, "rows", len(vectors))
    ax = ax or new_axes(5.2, 0.5 + 0.3 * len(vectors))
    most = largest or vectors.abs().max().item()
    ax.imshow(vectors, cmap=MAPS[1], vmin=-most, vmax=most, aspect="auto")
    for row in range(1, len(vectors)):
        ax.axhline(row - 0.5, color="white", linewidth=4)
    ax.set_yticks(range(len(vectors)), labels)
    ax.set(title=title, xticks=[])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax
