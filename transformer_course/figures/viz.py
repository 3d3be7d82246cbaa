"""The course's figures and their one style.

Queries, keys and values keep one colour each in every chapter. All figures are
drawn on white; a page puts its own colours in the place of the palette's.
"""

import inspect
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

from transformer_course.errors import ConfigError, MissingPackage

try:
    import matplotlib.pyplot as plt
except ModuleNotFoundError as error:
    raise MissingPackage(error, "book") from error
import matplotlib_fontja
from IPython.display import Markdown, display
from jaxtyping import Float, Int
from matplotlib import colormaps, font_manager
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle
from matplotlib_inline.config import InlineBackend
from torch import Tensor, nn

from transformer_course.figures.palette import HUES, PARTS
from transformer_course.interpretation.hooks import Record, record
from transformer_course.models.transformer import LanguageModel, Transformer

POINT = 1.15 * 4 / 3
"""CSS pixels of a figure's point on a page, where letters of 11 points are as
large as the text's."""

BLACK = HUES["ink"].light
ORANGE = HUES["orange"].light
SKY = HUES["sky"].light
GREEN = HUES["green"].light
BLUE = HUES["blue"].light
VERMILION = HUES["vermilion"].light
PURPLE = HUES["purple"].light
GREY = HUES["muted"].light
ATTENTION = PARTS["attend-line"].light
FEED_FORWARD = PARTS["ffn-line"].light
NORM = PARTS["norm-line"].light

QUERY = VERMILION
KEY = BLUE
VALUE = GREEN
ROLES = {"Q": QUERY, "K": KEY, "V": VALUE}

STREAMS = {"src": GREY, "tgt": GREY, "M": GREEN, "out": PURPLE}

BOXES = {
    "self-attention": ATTENTION,
    "cross-attention": ATTENTION,
    "feed-forward": FEED_FORWARD,
    "norm": NORM,
    "add & norm": NORM,
}
"""Operations of a graph that are a part of the Transformer, in its colour."""

CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
    (0, (1, 1)),
)
"""Dashes of lines, in the order of the colours."""

MAPS = (
    LinearSegmentedColormap.from_list("attention", ("white", ATTENTION)),
    LinearSegmentedColormap.from_list("signs", (BLUE, "white", ORANGE)),
)
"""Colour maps of attention weights, and of numbers of either sign."""
for _colours in MAPS:
    colormaps.register(_colours, force=True)

_FONTS = Path(__file__).parent / "fonts"
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_RADIUS = 0.27  # of a tensor's circle, in units of a graph's grid
_PRINTED = 5  # a heat map of up to so many rows and columns shows its values
_ARROW = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.3}
_CENTRED = {"ha": "center", "va": "center"}
_PARTS = ("self_attention", "cross_attention", "feed_forward")
_COLUMNS = {"encoder": 1.2, "M": 2.68, "decoder": 4.1}  # of a flow
_FLOOR = 1.03  # from one box of a flow up to the next
_ON_PHONE = 0.93  # inches to a unit of a flow
_LETTER = 0.094  # inches, its width in a label
_CELL = (0.41, 0.29)  # inches, of a number in a drawing of vectors
_LABEL = 0.8  # cells, the height of a label above a column of them

Place = tuple[float | int, float | int]
Box = tuple[float | int, float | int, float | int, float | int]


def use_style() -> None:
    """Set the course's style for all figures that follow.

    Latin letters are drawn in Course Sans, Japanese ones in IPAex Gothic. In a
    notebook figures are SVG with real text, the same bytes every time.
    """
    matplotlib_fontja.japanize()
    for path in sorted(_FONTS.glob("*.ttf")):
        font_manager.fontManager.addfont(path)
    plt.rcParams.update(
        {
            "font.family": ["Course Sans", "DejaVu Sans", "IPAexGothic"],
            "font.size": 11,
            "mathtext.fontset": "custom",
            "mathtext.rm": "Course Sans",
            "mathtext.it": "Course Sans:italic",
            "mathtext.bf": "Course Sans:semibold",
            "mathtext.sf": "Course Sans",
            "mathtext.cal": "Course Sans:italic",
            "mathtext.tt": "DejaVu Sans Mono",
            "svg.fonttype": "none",
            "svg.hashsalt": "transformer_course",
            "image.interpolation": "none",
            "axes.unicode_minus": True,
            "axes.prop_cycle": plt.cycler(color=CYCLE, linestyle=DASHES),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 11.5,
            "figure.facecolor": "white",
            "figure.figsize": (5.4, 3.2),
            "figure.dpi": 220,  # of what is no drawing
            "figure.constrained_layout.use": True,
            "legend.frameon": False,
            "lines.linewidth": 1.8,
            "savefig.pad_inches": 0.05,
        }
    )
    if InlineBackend.initialized():
        backend = InlineBackend.instance()
        backend.print_figure_kwargs |= {"metadata": _NO_METADATA}
        backend.figure_formats = {"svg"}


def show_source(obj: Any) -> None:
    """Show the source of a function, class, method or module in a notebook.

    Args:
        obj: what to show, as imported from the package.
    """
    target = inspect.unwrap(obj.fget if isinstance(obj, property) else obj)
    source = textwrap.dedent(inspect.getsource(target)).strip()
    module = inspect.getmodule(target)
    end = "/__init__.py" if hasattr(module, "__path__") else ".py"
    path = module.__name__.replace(".", "/") + end
    display(Markdown(f"*From `{path}`:*\n\n````python\n{source}\n````"))


def heatmap(
    weights: Float[Tensor, "query key"],
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    title: str = "",
    marked: Iterable[tuple[int, int]] = (),
    limits: tuple[float, float] = (0.0, 1.0),
    cmap: str = "attention",
    ax: Axes | None = None,
) -> Axes:
    """Attention weights as a map: one row a query, one column a key.

    Up to five rows and columns, the values are printed in the cells.

    Args:
        weights: what to draw.
        queries: a label for each row.
        keys: a label for each column.
        title: stands above.
        marked: cells (row, column) to outline, gold alignments for instance.
        limits: the values drawn as white and as the darkest.
        cmap: colours, ``"Blues"`` for instance where it shows no attention.
        ax: where to draw; a new figure of fitting size if left out.

    Raises:
        ConfigError: there is not one label for each row and column.
    """
    rows, columns = weights.shape
    check_labels("queries", queries, "rows", rows)
    check_labels("keys", keys, "columns", columns)
    ax = ax or new_axes(1.3 + 0.55 * columns, 1.0 + 0.42 * rows)
    values = weights.detach().float().cpu()
    low, high = limits
    ax.imshow(values.numpy(), cmap=cmap, vmin=low, vmax=high, aspect="auto")
    if max(rows, columns) <= _PRINTED:
        _print_values(ax, values)
    for row, column in marked:
        corner = (column - 0.5, row - 0.5)
        outline = Rectangle(corner, 1, 1, fill=False, ec=BLACK, lw=1.8)
        outline.set_clip_on(False)  # at the border, half of it would be cut
        ax.add_patch(outline)
    _label_axes(ax, queries, keys)
    ax.set_title(title)
    return ax


def draw_graph(
    tensors: Mapping[str, Place],
    operations: Mapping[str, Place],
    arrows: Iterable[tuple[str, str, str]],
    *,
    colors: Mapping[str, str] = ROLES,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """A computation graph: circles are tensors, boxes operations.

    Names are drawn as they stand and must differ; what follows a ``#`` in a
    name is not drawn. The second line of an operation's name stands smaller
    below the first, and a part of the Transformer has its colour. A place is
    (x, y) in inches, y upwards.

    Args:
        tensors: where each tensor stands.
        operations: where each operation stands.
        arrows: from, to, and the shape of what flows along ("" for none).
        colors: of tensors, by name; others are grey.
        title: stands above.
        ax: where to draw; a new figure of fitting size if left out.
    """
    places = {**tensors, **operations}
    box = _bounds(places)
    ax = ax or new_axes(box[1] - box[0], box[3] - box[2])
    nodes = {
        name: _draw_tensor(ax, name, at, colors.get(name, GREY))
        for name, at in tensors.items()
    }
    for name, at in operations.items():
        nodes[name] = _draw_operation(ax, name, at)
    ax.set(xlim=box[:2], ylim=box[2:], aspect="equal", title=title)
    for start, end, shape in arrows:
        _draw_arrow(
            ax, nodes[start], nodes[end], shape, places[start], places[end]
        )
    ax.axis("off")
    return ax


def draw_flow(
    model: Transformer | LanguageModel,
    src: Int[Tensor, "batch source"] | None,
    tgt_in: Int[Tensor, "batch target"],
) -> Axes:
    """The shapes of a batch on its way through a Transformer, as recorded.

    To be read upwards; each box with its add & norm. On the arrows stands
    the shape of the stream. In the boxes, that of what is inside: attention
    weights (batch × heads × who asks × who is asked), and the feed-forward
    part's wide vectors. M is the memory. Chapter 10.

    Args:
        model: of any size.
        src: source ids; None for a language model.
        tgt_in: target ids.

    Raises:
        ConfigError: an id outside the vocabulary.
    """
    source = () if src is None else (src,)
    given, gave = record(model, *source, tgt_in)
    inside = _shapes_inside(given, gave, model.config.n_heads)
    tensors, boxes, arrows = _flow_graph(model, src, tgt_in, gave, inside)
    left, right, bottom, top = _bounds({**tensors, **boxes})
    ax = new_axes((right - left) * _ON_PHONE, (top - bottom) * _ON_PHONE)
    draw_graph(tensors, boxes, arrows, colors=STREAMS, ax=ax)
    if src is not None:
        _draw_memory(ax, tensors["M"], boxes, _by(gave["encoder"].shape))
    return ax


@dataclass(frozen=True)
class Cells:
    """Vectors to be drawn by :func:`draw_vectors`: each a row of cells.

    The further a number is from 0, the darker its cell. Numbers have two
    decimals, or fewer where none of them needs as many.

    Args:
        values: a row for each vector, a column for each component.
        at: (x, y) of the upper left corner, in cells; y downwards.
        color: of the cells and of the title.
        title: stands above.
        rows: what stands to the left of each row; nothing if left out.
        marked: rows to be outlined.
        columns: what stands above each column, below the title.

    Raises:
        ConfigError: there is not one label for each row, or column.
    """

    values: Float[Tensor, "row column"]
    at: Place
    color: str = GREY
    title: str = ""
    rows: Sequence[str] = ()
    marked: Sequence[int] = ()
    columns: Sequence[str] = ()

    def __post_init__(self):
        sides = {"rows": self.rows, "columns": self.columns}
        for count, (side, labels) in zip(
            self.values.shape, sides.items(), strict=True
        ):
            if labels:
                check_labels("labels", labels, side, count)

    @property
    def box(self) -> Box:
        """Left, top, right and bottom, without labels on the left."""
        (left, top), (rows, columns) = self.at, self.values.shape
        above = bool(self.title) + _LABEL * bool(self.columns)
        return left, top - above, left + columns, top + rows


def draw_vectors(
    blocks: Mapping[str, Cells],
    arrows: Iterable[tuple[str, str, str]] = (),
) -> Axes:
    """Vectors as rows of coloured cells with their numbers, and arrows.

    Up to 13 cells side by side, labels included, fit on a phone.

    Args:
        blocks: what to draw, by name; the names are not drawn.
        arrows: from, to, and what happens on the way ("" for nothing): to
            the right if there is room between the two, else downwards.
    """
    boxes = [cells.box for cells in blocks.values()]
    left = min(c.at[0] - _room_for_labels(c) for c in blocks.values())
    right = max(box[2] for box in boxes) + 0.1
    top = min(box[1] for box in boxes) - 0.1
    bottom = max(box[3] for box in boxes) + 0.1
    width, height = _CELL
    ax = new_axes((right - left) * width, (bottom - top) * height)
    for cells in blocks.values():
        _draw_cells(ax, cells)
    for start, end, text in arrows:
        _draw_step(ax, blocks[start].box, blocks[end].box, text)
    ax.set(xlim=(left, right), ylim=(bottom, top))
    ax.set_aspect(height / width)
    ax.axis("off")
    return ax


def attention_cells(
    query: Float[Tensor, "query d_k"],
    key: Float[Tensor, "key d_k"],
    value: Float[Tensor, "key d_v"],
    *,
    scale: float = 1.0,
    words: Sequence[str] = (),
    at: Place = (0, 0),
    head: str = "",
    marked: Sequence[int] = (),
    keys: Sequence[str] = (),
) -> dict[str, Cells]:
    """Attention in numbers, laid out for :func:`draw_vectors`.

    Each product stands where the rows of its left factor meet the columns
    of what is above it: the scores to the right of Q and below the
    transposed K, the output to the right of the weights and below V. From
    the scores down to the weights leads the softmax: ``("S", "A",
    "softmax")``. Chapters 04 and 07.

    Args:
        query: who asks.
        key: what is compared.
        value: what is mixed.
        scale: what scores are divided by.
        words: labels for the queries.
        at: (x, y) of the upper left corner of Q, in cells.
        head: a number for the names and titles, of one head among several.
        marked: queries whose rows are outlined.
        keys: labels for the columns of scores and weights.

    Returns:
        Q, K, S (scores), A (weights), V and O by name, ``head`` appended.
    """
    x, y = at
    scores = query @ key.T / scale
    weights = scores.softmax(dim=-1)
    low = f"_{head}" if head else ""
    over = " / √$d_k$" if scale != 1 else ""
    n_keys, d_k = key.shape
    labels = _LABEL * bool(keys)
    left = x + d_k + 0.3  # of scores and weights
    right = left + n_keys + 0.6  # of V and the output
    lower = y + len(query) + 2.3 + labels  # top of weights and output
    laid = {
        "Q": (query, (x, y), QUERY, f"$Q{low}$"),
        "K": (key.T, (left, y - 1.3 - labels - d_k), KEY, f"$K{low}^T$"),
        "S": (scores, (left, y), GREY, f"scores{over}"),
        "A": (weights, (left, lower), ATTENTION, "weights"),
        "V": (value, (right, lower - 1.3 - n_keys), VALUE, f"$V{low}$"),
        "O": (weights @ value, (right, lower), PURPLE, "output"),
    }
    return {
        name + head: Cells(
            values,
            place,
            color,
            name_above,
            rows=words if name in "QA" else (),
            marked=marked if name in "QSAO" else (),
            columns=keys if name in "SA" else (),
        )
        for name, (values, place, color, name_above) in laid.items()
    }


def new_axes(width: float, height: float) -> Axes:
    """Axes in a figure of their own, of so many inches."""
    return plt.subplots(figsize=(width, height))[1]


def check_labels(
    what: str, labels: Sequence[str], side: str, count: int
) -> None:
    """Raise ConfigError unless there is one label for each."""
    if len(labels) != count:
        raise ConfigError(
            f"{len(labels)} {what} given for {count} {side}: "
            "give one label for each, in order."
        )


def _print_values(ax: Axes, values: Tensor) -> None:
    for row, line in enumerate(values.tolist()):
        for column, value in enumerate(line):
            ax.text(column, row, f"{value:.2f}", color=BLACK, **_CENTRED)


def _label_axes(ax: Axes, queries: Sequence[str], keys: Sequence[str]) -> None:
    turn = {}
    cell = ax.get_window_extent().width / ax.figure.dpi / max(len(keys), 1)
    if max(map(len, keys), default=0) * _LETTER > cell:  # they would touch
        turn = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(keys)), keys, **turn)
    ax.set_yticks(range(len(queries)), queries)
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("key", color=KEY)
    ax.set_ylabel("query", color=QUERY)
    ax.spines[:].set_visible(False)


def _room_for_labels(cells: Cells) -> float:
    """Room for labels left of a block, in cells."""
    wide = [
        sum(1 + (east_asian_width(c) in "WF") for c in label)
        for label in cells.rows
    ]
    return max(wide, default=0) * 0.22 + 0.2


def _numbers(values: Tensor) -> list[list[str]]:
    """Format numbers with as few decimals as they need, at most two."""
    rounded = [[round(x, 2) for x in row] for row in values.tolist()]
    each = [x for row in rounded for x in row]
    decimals = next(
        d for d in (0, 1, 2) if all(round(x, d) == x for x in each)
    )

    def text(x: float) -> str:
        number = f"{x:.{decimals}f}".replace("-", "−") if x else "0"
        # a cell has room for four characters
        return number.removesuffix("0") if len(number) > 4 else number

    return [[text(x) for x in row] for row in rounded]


def _draw_cells(ax: Axes, cells: Cells) -> None:
    (left, top), columns = cells.at, cells.values.size(1)
    largest = max(cells.values.abs().max().item(), 1e-9)
    color = to_rgb(cells.color)
    for row, line in enumerate(_numbers(cells.values)):
        for column, number in enumerate(line):
            share = abs(cells.values[row, column].item()) / largest
            tint = 0.06 + 0.44 * share  # black letters can be read on it
            corner = (left + column, top + row)
            face = tuple(1 - tint * (1 - part) for part in color)
            ax.add_patch(Rectangle(corner, 1, 1, fc=face, ec="white", lw=1.2))
            middle = (corner[0] + 0.5, corner[1] + 0.5)
            ax.text(*middle, number, **_CENTRED)
    for row, label in enumerate(cells.rows):
        at = (left - 0.2, top + row + 0.5)
        ax.text(*at, label, ha="right", va="center")
    for row in cells.marked:
        corner = (left, top + row)
        ax.add_patch(
            Rectangle(corner, columns, 1, fill=False, ec=BLACK, lw=1.4)
        )
    for column, label in enumerate(cells.columns):
        at = (left + column + 0.5, top - 0.5)
        ax.text(*at, label, color=GREY, **_CENTRED)
    above = (left + columns / 2, cells.box[1] + 0.5)
    ax.text(*above, cells.title, color=cells.color, **_CENTRED)


def _draw_step(ax: Axes, start: Box, end: Box, text: str) -> None:
    """An arrow from one box to another; its text above it, or beside it."""
    left, top, right, bottom = start
    next_left, next_top, next_right, next_bottom = end
    beside = right <= next_left
    if beside:
        level = (max(top, next_top) + min(bottom, next_bottom)) / 2
        tail, tip = (right + 0.1, level), (next_left - 0.1, level)
        at = ((tail[0] + tip[0]) / 2, level - 0.15)
        place = {"ha": "center", "va": "bottom"}
    else:
        middle = (max(left, next_left) + min(right, next_right)) / 2
        tail, tip = (middle, bottom + 0.1), (middle, next_top - 0.05)
        at = (middle + 0.2, (tail[1] + tip[1]) / 2)
        place = {"ha": "left", "va": "center"}
    style = {**_ARROW, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip, tail, arrowprops=style)
    ax.text(*at, text, color=GREY, **place)


def _text(name: str) -> str:
    return name.split("#")[0]


def _half_width(name: str) -> float:
    longest = max(map(len, _text(name).split("\n")))
    return max(0.3, 0.057 * longest + 0.12)


def _bounds(places: Mapping[str, Place]) -> tuple[float, float, float, float]:
    xs, ys = zip(*places.values(), strict=True)
    room = max(_half_width(name) for name in places) + 0.02  # for lines
    return (min(xs) - room, max(xs) + room, min(ys) - 0.4, max(ys) + 0.4)


def _draw_tensor(ax: Axes, name: str, at: Place, color: str) -> Circle:
    node = Circle(at, _RADIUS, facecolor=color, edgecolor="none", zorder=2)
    ax.add_patch(node)
    ax.text(*at, _text(name), color="white", zorder=3, **_CENTRED)
    return node


def _draw_operation(ax: Axes, name: str, at: Place) -> FancyBboxPatch:
    first, *second = _text(name).split("\n")
    half, height = _half_width(name), 0.54 if second else 0.4
    edge = BOXES.get(first, BLACK)
    tint = 0.15 if first in BOXES else 0
    node = FancyBboxPatch(
        (at[0] - half, at[1] - height / 2),
        2 * half,
        height,
        boxstyle="round,pad=0,rounding_size=0.07",
        facecolor=tuple(1 - tint * (1 - part) for part in to_rgb(edge)),
        edgecolor=edge,
        linewidth=1.2,
        zorder=2,
    )
    ax.add_patch(node)
    style = {"zorder": 3, **_CENTRED}
    ax.text(at[0], at[1] + 0.11 * len(second), first, **style)
    for line in second:
        below = (at[0], at[1] - 0.12)
        ax.text(*below, line, color=GREY, **style)
    return node


def _draw_arrow(ax: Axes, start, end, shape: str, tail: Place, tip: Place):
    ax.annotate(
        "",
        xy=tip,
        xytext=tail,
        zorder=1,
        arrowprops={
            **_ARROW,
            "patchA": start,
            "patchB": end,
            "shrinkA": 1,
            "shrinkB": 1,
        },
    )
    at, place = _beside(tail, tip, sum(ax.get_xlim()) / 2)
    ax.text(*at, shape, color=GREY, zorder=4, **place)


def _beside(
    tail: Place, tip: Place, centre: float
) -> tuple[Place, Mapping[str, str]]:
    """Where an arrow's label stands: off its line, away from the centre."""
    x, y = (tail[0] + tip[0]) / 2, (tail[1] + tip[1]) / 2
    right, up = tip[0] - tail[0], tip[1] - tail[1]
    if abs(up) < 0.2 * abs(right):
        return (x, y + 0.05), {"ha": "center", "va": "bottom"}
    side = -1 if x < centre - 0.01 else 1
    ha = "left" if side > 0 else "right"
    if abs(right) < 0.2 * abs(up):
        return (x + 0.07 * side, y), {"ha": ha, "va": "center"}
    va = "top" if side * right * up > 0 else "bottom"
    return (x + 0.05 * side, y), {"ha": ha, "va": va}


def _by(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))


def _shapes_inside(
    given: Record, gave: Record, n_heads: int
) -> Mapping[str, str]:
    """The shape of what is inside a part, by the part's name."""
    found = {}
    for part, inputs in given.items():
        if part.endswith("attention"):
            asks, asked = inputs[0], inputs[-1]
            found[part] = (len(asks), n_heads, asks.size(1), asked.size(1))
        elif part.endswith("feed_forward"):
            found[part] = gave[f"{part}.up_proj"].shape
    return {part: _by(shape) for part, shape in found.items()}


def _flow_boxes(
    model: nn.Module, side: str, stream: str, inside: Mapping[str, str]
) -> Iterable[str]:
    """Names of boxes: what is drawn, ``#``, and the part's own name."""
    added = model.config.position in ("sinusoidal", "learned")
    first = "embedding + position" if added else "embedding"
    parts = dict(model.named_children())
    own = f"{stream}_position"  # of a single stream without the prefix
    yield f"{first}#{own if own in parts else 'position'}"
    for i, layer in enumerate(getattr(model, side).layers):
        for part in _PARTS:
            if hasattr(layer, part):
                path = f"{side}.layers.{i}.{part}"
                yield f"{part.replace('_', '-')}\n{inside[path]}#{path}"


def _flow_graph(
    model: nn.Module,
    src: Tensor | None,
    tgt_in: Tensor,
    gave: Record,
    inside: Mapping[str, str],
) -> tuple[dict[str, Place], dict[str, Place], list[tuple[str, str, str]]]:
    """Tensors, boxes and arrows, as :func:`draw_graph` takes them."""
    tensors, boxes, arrows = {}, {}, []
    stacks = [("decoder", "tgt", tgt_in)]
    if src is not None:
        stacks.insert(0, ("encoder", "src", src))
    for side, stream, ids in stacks:
        x, top, shape = _COLUMNS[side], stream, ids.shape
        tensors[stream] = (x, -0.1)
        names = _flow_boxes(model, side, stream, inside)
        for floor, box in enumerate(names, start=1):
            boxes[box] = (x, floor * _FLOOR)
            arrows.append((top, box, _by(shape)))
            top, shape = box, gave[box.split("#")[1]].shape
        if side == "encoder":
            tensors["M"] = (_COLUMNS["M"], boxes[top][1])
            arrows.append((top, "M", ""))
    x, y = boxes[top]
    boxes["output matrix"] = (x, y + _FLOOR)
    tensors["out"] = (x, y + 2 * _FLOOR)
    arrows.append((top, "output matrix", _by(shape)))
    arrows.append(("output matrix", "out", _by(gave[""].shape)))
    return tensors, boxes, arrows


def _draw_memory(
    ax: Axes, memory: Place, boxes: Mapping[str, Place], shape: str
) -> None:
    """M's shape, and its way up and down to every cross-attention."""
    x, y = memory
    crosses = [(b, at) for b, at in boxes.items() if b.startswith("cross")]
    heights = [y, *(height for _, (_, height) in crosses)]
    ends = [min(heights), max(heights)]
    ax.plot([x, x], ends, color=GREY, linewidth=1.3, zorder=1)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    ax.text(x, y + 0.45, shape, color=GREY, zorder=4, bbox=box, **_CENTRED)
    for box, (right, height) in crosses:
        ax.annotate(
            "",
            xy=(right - _half_width(box), height),
            xytext=(x, height),
            zorder=1,
            arrowprops={**_ARROW, "shrinkA": 0, "shrinkB": 1},
        )


def dash_of(color: str) -> str | tuple:
    """Dashes of a colour of the style; solid for any other."""
    return dict(zip(CYCLE, DASHES, strict=True)).get(color, "-")


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """Moving average of each value and those just before it.

    Args:
        values: one for each step.
        window: how many to take together; fewer at the beginning.
    """
    total, means = 0.0, []
    for i, value in enumerate(values):
        total += value - (values[i - window] if i >= window else 0.0)
        means.append(total / min(i + 1, window))
    return means


def draw_curves(
    ax: Axes,
    steps: Sequence[float],
    curves: Sequence[Sequence[float]],
    label: str,
    color: str,
) -> None:
    """Draw the mean of several runs as a line, their range as a band.

    Args:
        ax: where to draw.
        steps: where the values stand, the same for all runs.
        curves: the values of each run.
        label: for the legend.
        color: of line and band; the line has that colour's dashes.
    """
    columns = list(zip(*curves, strict=True))
    means = [sum(column) / len(column) for column in columns]
    low, high = map(min, columns), map(max, columns)
    ax.fill_between(
        steps, list(low), list(high), color=color, alpha=0.2, linewidth=0
    )
    ax.plot(steps, means, color=color, linestyle=dash_of(color), label=label)
