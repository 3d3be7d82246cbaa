"""The training time machine: what a model said, epoch by epoch.

The directive ``time-machine`` puts the samples of a stored run into a page,
with controls for the epoch and the way of decoding, and no server::

    ```{time-machine} enja
    :caption: What the translator said after each epoch.
    :label: fig-enja-samples
    :sentences: 5 3 1
    ```

``sentences`` are the numbers of those to show, in this order; without it all
are shown.

Everything is written here, when the book is built: the curve, the words of
the interface, what changed since the epoch before. The script
``_static/time_machine.js`` only chooses what is shown. Without it a reader
sees the curve, and each sentence after the first, a middle and the last epoch.

The address of a page keeps what is shown: ``#LABEL--epoch-7--beam``. Sphinx
never puts two hyphens in a row into an anchor, so that none is taken.
"""

import difflib
import json
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from course_edition import say
from course_run_figure import RunFigure, register
from course_templates import template
from docutils.parsers.rst import directives
from matplotlib.ticker import MaxNLocator
from sphinx.application import Sphinx

from experiments import store
from transformer_course.errors import CourseError

Record = dict[str, Any]
Segments = list[str]

WAYS = {"greedy": "greedy", "beam": "beam search", "sampled": "sampled"}
FILE = "epochs.jsonl"
TEMPLATE = "course_time_machine.html"

PARTS = {"train": "training", "dev": "held-out"}
AVERAGE = "average"
MEASURES = {
    "nll": lambda value: f"{value:.2f}",
    "perplexity": lambda value: f"{value:,.{1 if value < 100 else 0}f}",
    "accuracy": lambda value: f"{100 * value:.1f}",
    "bleu": lambda value: f"{value:.1f}",
}
"""The figures of an epoch, and how they are written."""

# --- what is stored ----------------------------------------------------------


def with_samples(name: str) -> list[Record]:
    """The records of a stored run that hold samples, oldest first.

    Raises:
        CourseError: there is no such run, or it has none.
    """
    file = store.folder(name) / FILE
    if not file.is_file() or not (records := _sampled(file)):
        why = "holds no samples" if file.is_file() else "is not there"
        root = store.folder(".")
        there = [
            path.parent.relative_to(root).as_posix()
            for path in sorted(root.rglob(file.name))
            if _sampled(path)
        ]
        raise CourseError(
            f"time-machine: the stored run {name!r} {why}; runs with samples: "
            f"{', '.join(there) or 'none'}"
        )
    return records


def _sampled(file: Path) -> list[Record]:
    lines = file.read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    # a run that went on has an earlier average too: the latest counts
    latest = {key_of(r): r for r in records if r.get("samples")}
    return sorted(latest.values(), key=lambda r: r.get("epoch", math.inf))


def sentences_of(name: str, records: list[Record]) -> list[tuple[str, str]]:
    """Source and reference of each sample, the same in every record.

    Both are empty for a language model, which draws from nothing.

    Raises:
        CourseError: the epochs have samples of different sentences.
    """
    asked = [[(s["src"], s["tgt"]) for s in r["samples"]] for r in records]
    for record, sentences in zip(records, asked, strict=True):
        if sentences != asked[0]:
            raise CourseError(
                f"time-machine: the run {name!r} has samples of other "
                f"sentences at {key_of(record)} than at "
                f"{key_of(records[0])}; the samples of a run must be of the "
                "same sentences throughout"
            )
    return asked[0]


def chosen(name: str, records: list[Record], numbers: str) -> list[Record]:
    """The records with these of their samples, counted from 1.

    Raises:
        CourseError: there is no such sample.
    """
    there = len(records[0]["samples"])
    order = numbers.split()
    known = {str(i + 1): i for i in range(there)}
    if wrong := [number for number in order if number not in known]:
        raise CourseError(
            f"time-machine: the run {name!r} has the sentences 1 to {there}, "
            f"and {wrong[0]!r} is asked for: choose among them"
        )
    return [
        {**record, "samples": [record["samples"][known[i]] for i in order]}
        for record in records
    ]


def key_of(record: Record) -> str:
    """A record's name in the page's address."""
    if record["kind"] == "average":
        return "average"
    return f"epoch-{record['epoch']}"


def figures_of(record: Record) -> dict[str, str]:
    """A record's figures as they are written, where it has them."""
    return {
        f"{part}_{measure}": write(value)
        for measure, write in MEASURES.items()
        for part in PARTS
        if _is_number(value := record.get(f"{part}_{measure}"))
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


# --- what is new -------------------------------------------------------------

JAPANESE = r"\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uffef"
SIGN_OR_WORD = re.compile(rf"[{JAPANESE}]\s*|[^\s{JAPANESE}]+\s*|\s+")
WORD = re.compile(r"\S+\s*|\s+")


def language_of(texts: list[str]) -> str:
    """``ja`` if there are Japanese signs in them, else ``en``."""
    return "ja" if re.search(f"[{JAPANESE}]", "".join(texts)) else "en"


def mark_new(text: str, before: str | None) -> Segments:
    """Cut a text at what is new: old, new, old, new, and so on.

    Compared are words, and in Japanese that is written without spaces
    between them single characters.

    Args:
        text: what was said.
        before: what was said an epoch earlier; None marks nothing.

    Returns:
        Segments, which joined are the text; every second one is new.
    """
    if before is None:
        return [text]
    spaced = re.search(f"[{JAPANESE}] [{JAPANESE}]", f"{before}\n{text}")
    unit_of = WORD if spaced else SIGN_OR_WORD
    units, old = unit_of.findall(text), unit_of.findall(before)
    match = difflib.SequenceMatcher(
        a=[unit.strip() for unit in old],
        b=[unit.strip() for unit in units],
        autojunk=False,
    )
    kept = {
        number
        for block in match.get_matching_blocks()
        for number in range(block.b, block.b + block.size)
    }
    segments = [""]
    for number, unit in enumerate(units):
        new = number not in kept
        word = unit.rstrip()
        # the space between an old and a new word is old
        _append(segments, word, new)
        gap_is_new = new and number + 1 < len(units) and number + 1 not in kept
        _append(segments, unit[len(word) :], gap_is_new)
    return segments


def _append(segments: Segments, text: str, new: bool) -> None:
    if text:
        if new == bool(len(segments) % 2):
            segments.append("")
        segments[-1] += text


# --- the curve ---------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """A drawing of the cross entropies, in the units of its viewBox."""

    series: dict[str, list[tuple[float, float, int]]]
    """For each part its points: x, y, and which record it is."""
    x: list[float]
    """Where each record stands."""
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    alt: str
    width: int = 420
    height: int = 250
    left: int = 52
    right: int = 408
    top: int = 34
    bottom: int = 206


def draw(records: list[Record]) -> Curve | None:
    """The curve of a run; None when it has no cross entropy."""
    values = {
        part: [
            (number, record[f"{part}_nll"])
            for number, record in enumerate(records)
            if _is_number(record.get(f"{part}_nll"))
        ]
        for part in PARTS
    }
    values = {part: points for part, points in values.items() if points}
    if not values:
        return None
    epochs = _epochs(records)
    across = _scale(min(epochs), max(epochs), Curve.left + 10, Curve.right)
    losses = [value for points in values.values() for _, value in points]
    ticks = MaxNLocator(6, steps=[1, 2, 5, 10])
    marks = ticks.tick_values(min(losses), max(losses)).tolist()
    up = _scale(marks[0], marks[-1], Curve.bottom, Curve.top)
    x = [across(epoch) for epoch in epochs]
    digits = max(0, -math.floor(math.log10(marks[1] - marks[0])))
    return Curve(
        series={
            part: [(x[n], up(value), n) for n, value in points]
            for part, points in values.items()
        },
        x=x,
        x_ticks=_epoch_ticks(records, x),
        y_ticks=[(up(mark), f"{mark:.{digits}f}") for mark in marks],
        alt=_describe(records, values),
    )


def _epochs(records: list[Record]) -> list[float]:
    """Positions of records on the axis; an average stands after all epochs."""
    last = max((r["epoch"] for r in records if "epoch" in r), default=0)
    gap = 1 + 0.04 * last
    return [record.get("epoch", last + gap) for record in records]


def _scale(low: float, high: float, start: float, end: float):
    """From values to places in the drawing."""
    span = (high - low) or 1
    return lambda value: round(start + (value - low) / span * (end - start), 1)


def _epoch_ticks(
    records: list[Record], x: list[float]
) -> list[tuple[float, str]]:
    """A label for some epochs, and for an average."""
    total = len(records)
    every = next(k for k in (1, 2, 5, 10, 20, 50, total) if total / k <= 9)
    ticks = []
    for place, record in zip(x, records, strict=True):
        epoch = record.get("epoch")
        if epoch is None:
            # its label reaches to the left, and would cover its neighbours
            ticks = [tick for tick in ticks if place - tick[0] > 50]
            ticks.append((place, say(AVERAGE)))
        elif epoch == 1 or epoch % every == 0:
            ticks.append((place, str(epoch)))
    return ticks


def _describe(
    records: list[Record],
    values: dict[str, list[tuple[int, float]]],
) -> str:
    """The curve in words."""
    text = [say("Cross entropy in nats per token by epoch.")]
    for part, points in values.items():
        points = [p for p in points if "epoch" in records[p[0]]] or points
        begin, finish = (
            say("{} after epoch {}").format(
                MEASURES["nll"](value),
                records[number].get("epoch", say(AVERAGE)),
            )
            for number, value in (points[0], points[-1])
        )
        text.append(f"{say(PARTS[part]).capitalize()}: {begin}, {finish}.")
    return " ".join(text)


# --- the page ----------------------------------------------------------------


def moments_of(records: list[Record], ways: list[str]) -> list[dict[str, Any]]:
    """Data of the script, record by record."""
    moments = []
    for before, record in pairwise([None, *records]):
        moments.append(
            {
                "key": key_of(record),
                "name": _name(record, records),
                "figures": figures_of(record),
                "said": {way: _marked(record, before, way) for way in ways},
                "changed": {
                    way: _changed(record, before, way) for way in ways
                },
            }
        )
    return moments


def _marked(
    record: Record, before: Record | None, way: str
) -> list[Segments | None]:
    return [
        None if now is None else mark_new(now, old)
        for now, old in _now_and_before(record, before, way)
    ]


def _changed(record: Record, before: Record | None, way: str) -> str:
    """Number of changed sentences; "" where nothing can be compared."""
    compared = [
        now != old
        for now, old in _now_and_before(record, before, way)
        if None not in (now, old)
    ]
    if not compared:
        return ""
    return say("{} of {} changed since epoch {}").format(
        sum(compared), len(compared), before["epoch"]
    )


def _now_and_before(record: Record, before: Record | None, way: str):
    """Answers to each sentence, now and an epoch earlier."""
    samples = record["samples"]
    earlier = before["samples"] if before else [{"src": ""}] * len(samples)
    for now, old in zip(samples, earlier, strict=True):
        yield now.get(way), old.get(way)


def _name(record: Record, records: list[Record]) -> str:
    if record["kind"] == "average":
        epochs = record["epochs"]
        return say("Average of epochs {} to {}").format(epochs[0], epochs[-1])
    last = max(r.get("epoch", 0) for r in records)
    return say("Epoch {} of {}").format(record["epoch"], last)


def render(name: str, anchor: str, sentences: str = "") -> str:
    """A run's time machine in HTML.

    Args:
        name: of the stored run.
        anchor: the id of the figure; the address of each moment begins so.
        sentences: the numbers of those to show, in order; all if left out.

    Raises:
        CourseError: the run cannot be shown; the message says why.
    """
    records = with_samples(name)
    pairs = sentences_of(name, records)
    if sentences:
        records = chosen(name, records, sentences)
        pairs = sentences_of(name, records)
    samples = [sample for record in records for sample in record["samples"]]
    ways = [
        way
        for way in WAYS
        if any(sample.get(way) is not None for sample in samples)
    ]
    moments = moments_of(records, ways)
    curve = draw(records)
    figures = {key for moment in moments for key in moment["figures"]}
    answers = [t for _, t in pairs] + [
        sample.get(way) or "" for sample in samples for way in ways
    ]
    return template(TEMPLATE).render(
        anchor=anchor,
        ways={way: say(WAYS[way]) for way in ways},
        moments=moments,
        sentences=pairs,
        source_language=language_of([source for source, _ in pairs]),
        language=language_of(answers),
        curve=curve,
        measures=[
            m for m in MEASURES if figures & {f"{p}_{m}" for p in PARTS}
        ],
        parts={
            part: say(name)
            for part, name in PARTS.items()
            if any(figure.startswith(part) for figure in figures)
        },
        figures=sorted(figures),
        data={
            "anchor": anchor,
            "moments": moments,
            "places": curve.x if curve else [],
        },
    )


class TimeMachine(RunFigure):
    """``time-machine``: the samples of a stored run, to be moved through."""

    kind = "time-machine"
    file = FILE
    script = "time_machine.js"
    option_spec: ClassVar[dict] = RunFigure.option_spec | {
        "sentences": directives.unchanged_required,
    }
    render = staticmethod(render)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    return register(app, TimeMachine)
