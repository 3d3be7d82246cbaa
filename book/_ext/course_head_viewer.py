"""The head viewer: where every head of a translator looks in a sentence.

The directive ``head-viewer`` puts the maps of a stored run into a page, with
controls for the sentence, the kind of look, the head and the word::

    ```{head-viewer} enja-heads
    :caption: Where the translator's heads look.
    :label: fig-20-heads
    ```

``experiments/results/NAME/viewer.json`` has, for each sentence, the words of
``source``, what the decoder has ``read`` and what was ``written`` next, and
the ``maps`` of each kind: layer by head by asking word by word looked at, in
hundredths.

All is written here, when the book is built: words of the interface, and
tables which say for each word where each head looks most. The script
``_static/head_viewer.js`` shows one head at a time, and works from the same
numbers. Without it a reader has the tables.
"""

import json
from typing import Any

from course_run_figure import RunFigure, register
from course_templates import template
from sphinx.application import Sphinx

from experiments import store
from transformer_course.errors import CourseError

Record = dict[str, Any]

FILE = "viewer.json"
TEMPLATE = "course_head_viewer.html"

KINDS = {
    "cross": ("written", "source"),
    "encoder": ("source", "source"),
    "decoder": ("read", "read"),
}
"""Kinds of looks: which words ask, and which are looked at."""
LANGUAGES = {"source": "en", "read": "ja", "written": "ja"}

MARKS = {"<s>": "bos", "</s>": "eos"}


def stored(name: str) -> list[Record]:
    """The sentences of a stored run, with their maps.

    Raises:
        CourseError: there is no such run, or it has no maps.
    """
    path = store.folder(name) / FILE
    if not path.is_file():
        there = sorted(
            p.parent.name for p in path.parents[1].glob(f"*/{FILE}")
        )
        raise CourseError(
            f"head-viewer: the stored run {name!r} has no {FILE}; runs that "
            f"have one: {', '.join(there) or 'none'}"
        )
    return json.loads(path.read_text("utf-8"))["sentences"]


def shown(piece: str) -> str:
    """A piece as a reader sees it: a middle of a word begins with a hyphen."""
    if piece in MARKS:
        return MARKS[piece]
    return piece[1:] or "▁" if piece.startswith("▁") else f"-{piece}"


def sentences_of(records: list[Record]) -> list[Record]:
    """The sentences, with their pieces as they are shown."""
    return [
        {
            "title": "".join(record["source"][:-1]).replace("▁", " ").strip(),
            **{
                side: [shown(piece) for piece in record[side]]
                for side in LANGUAGES
            },
            "maps": record["maps"],
        }
        for record in records
    ]


def tables_of(sentence: Record) -> dict[str, list[Record]]:
    """By kind a row for each asking word: what each head looks at most."""
    found = {}
    for kind, (asks, looked_at) in KINDS.items():
        layers = sentence["maps"][kind]
        found[kind] = [
            {
                "word": word,
                "heads": [
                    {"word": sentence[looked_at][most], "share": head[i][most]}
                    for layer in layers
                    for head in layer
                    for most in [head[i].index(max(head[i]))]
                ],
            }
            for i, word in enumerate(sentence[asks])
        ]
    return found


def render(name: str, anchor: str) -> str:
    """A run's head viewer in HTML.

    Args:
        name: of the stored run.
        anchor: the id of the figure; those of its parts begin so.

    Raises:
        CourseError: the run cannot be shown; the message says why.
    """
    sentences = sentences_of(stored(name))
    maps = sentences[0]["maps"]["cross"]
    return template(TEMPLATE).render(
        anchor=anchor,
        kinds=KINDS,
        languages=LANGUAGES,
        sentences=sentences,
        tables=[tables_of(sentence) for sentence in sentences],
        layers=len(maps),
        heads=len(maps[0]),
        data={
            "anchor": anchor,
            "kinds": KINDS,
            "languages": LANGUAGES,
            "sentences": sentences,
        },
    )


class HeadViewer(RunFigure):
    """``head-viewer``: the maps of a stored run, to be looked through."""

    kind = "head-viewer"
    file = FILE
    script = "head_viewer.js"
    style = "head_viewer.css"
    render = staticmethod(render)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    return register(app, HeadViewer)
