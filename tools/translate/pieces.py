"""The pieces of a page that are translated, and the file that has them.

A piece is a Markdown cell, by its id; of a figure the caption, the text for
who cannot see it and the words of its drawing; the title of a fold; of a page
that is no notebook a section, by its address. In the file of translations a
comment begins each piece. It names the piece and has a digest of the English
text that was translated, and the Japanese text follows::

    <!-- lookup 3fa2b1c0 -->

    ## 学習できる辞書

Behind the digest may stand what the rules let pass, and why: ``adapted:
reason`` for a piece that says something else, ``free digits: reason`` for one
that breaks that rule. Below it, in the comment, ``skeleton`` quotes the
English of what is to be done.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml
from docutils.nodes import make_id

ROOT = Path(__file__).resolve().parents[2]
ENGLISH = ROOT / "book/en"
JAPANESE = ROOT / "book/ja"
LABELS = "labels"
"""Name of the piece with the words of drawings, as a table."""
SAME = "="
"""In that table, for a word that stays as it is."""
MARK = re.compile(
    r"^<!-- ([\w.-]+)(?: ([0-9a-f]{8}))?([^\n]*?)(?:\n[\s\S]*?)?\s*-->$", re.M
)
FENCE = re.compile(r"^ *(`{3,}|:{3,}).*?^ *\1 *$", re.M | re.S)
HEADING = re.compile(r"^(#{1,6}) +(.+?) *$", re.M)
DRAWN = re.compile(r"<text\b[^>]*>([^<>]+)</text>")


class Translation(NamedTuple):
    """A piece in Japanese."""

    digest: str
    """Of the English text that it translates."""
    allowed: str
    """What the rules let pass: ``adapted: …`` or ``free …: …``."""
    text: str


@cache
def toc_titles() -> dict[str, str]:
    """Of pages that are called otherwise in the contents, that title."""
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))["parts"]
    return {
        page["file"]: re.sub(r"^\d\d · ", "", page["title"])
        for part in parts
        for page in part["chapters"]
        if "title" in page
    }


def digest_of(english: str) -> str:
    """A short digest, of what is not white space."""
    return hashlib.sha256(" ".join(english.split()).encode()).hexdigest()[:8]


def headings_of(text: str) -> list[re.Match]:
    """The headings of some Markdown; code has none."""
    fences = [found.span() for found in FENCE.finditer(text)]
    return [
        found
        for found in HEADING.finditer(text)
        if not any(a <= found.start() < b for a, b in fences)
    ]


def source_of(page: str) -> Path:
    """The English file of a page, such as ``04_attention`` or ``index``."""
    notebook = ENGLISH / f"{page}.ipynb"
    return notebook if notebook.exists() else ENGLISH / f"{page}.md"


def sections_of(text: str) -> dict[str, str]:
    """The sections of a Markdown page; labels stand with their heading."""
    starts = [0]
    for heading in headings_of(text)[1:]:
        label = re.search(
            r"(?:^\([\w-]+\)=\n+)+\Z", text[: heading.start()], re.M
        )
        starts.append(label.start() if label else heading.start())
    found: dict[str, str] = {}
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        name = (
            make_id(headings_of(text[start:end])[0][2]) if start else "title"
        )
        while name in found:
            name += "-again"
        found[name] = text[start:end].strip()
    return found


def figure_text(cell: dict) -> Iterator[tuple[str, str]]:
    """What the metadata of a code cell says to readers."""
    shown = cell["metadata"].get("mystnb", {})
    yield "caption", shown.get("figure", {}).get("caption", "")
    yield "alt", shown.get("image", {}).get("alt", "")
    yield "prompt", shown.get("code_prompt_show", "")


def drawings_of(page: str) -> list[str]:
    """The drawings of a page: outputs of its cells, and its pictures."""
    path, drawn = source_of(page), []
    if path.suffix == ".ipynb":
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                svg = output.get("data", {}).get("image/svg+xml", "")
                drawn.append("".join(svg))
    pictures = [ENGLISH / "figures/openings" / f"{page[:2]}.svg"]
    if page == "index":
        pictures = [ENGLISH / "figures/transformer.svg"]
    return drawn + [p.read_text("utf-8") for p in pictures if p.exists()]


def labels_of(page: str) -> list[str]:
    """The words in a page's drawings, each once, in their order."""
    texts = [
        text.strip()
        for svg in drawings_of(page)
        for text in DRAWN.findall(svg)
    ]
    return [t for t in dict.fromkeys(texts) if re.search("[A-Za-z]{2}", t)]


def pieces_of(page: str) -> dict[str, str]:
    """The English pieces of a page, without the words of its drawings."""
    path, found = source_of(page), {}
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        found = sections_of(text)
    else:
        for cell in json.loads(text)["cells"]:
            if cell["cell_type"] == "markdown":
                found[cell["id"]] = "".join(cell["source"])
            for kind, said in figure_text(cell):
                found |= {f"{cell['id']}.{kind}": said} if said else {}
    return (
        {"toc": toc_titles()[page]} if page in toc_titles() else {}
    ) | found


def read(page: str) -> dict[str, Translation]:
    """The Japanese pieces of a page, in the order of their file."""
    path = JAPANESE / f"{page}.md"
    text = path.read_text("utf-8") if path.exists() else ""
    marks = [*MARK.finditer(text)]
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    return {
        mark[1]: Translation(
            mark[2] or "", mark[3].strip(), text[mark.end() : end].strip()
        )
        for mark, end in zip(marks, ends, strict=bool(marks))
    }


def read_labels(page: str) -> dict[str, str]:
    """The words of drawings in Japanese; empty where one is to be done."""
    table = read(page).get(LABELS, Translation("", "", "")).text
    rows = [
        row.strip().strip("|").split(" | ") for row in table.splitlines()[2:]
    ]
    return {
        row[0].strip(): row[-1].strip() if len(row) > 1 else "" for row in rows
    }


def is_fresh(english: str, found: Translation | None) -> bool:
    """Whether a piece is translated from the English that stands there."""
    return bool(found and found.text) and found.digest == digest_of(english)


def pages() -> list[str]:
    """The pages that have a file of translations."""
    paths = JAPANESE.rglob("*.md")
    return sorted(
        p.relative_to(JAPANESE).with_suffix("").as_posix() for p in paths
    )
