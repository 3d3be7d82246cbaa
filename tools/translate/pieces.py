"""The pieces of a page that are translated, and the file that has them.

A piece is a Markdown cell, by its id; of a figure the caption, and the text
for who cannot see it; the title of a fold; what a code cell writes as
Markdown, its ``output``; of a page that is no notebook a section, by its
address. In the file of translations a comment begins each
piece. It names the piece and has a digest of the English text that was
translated, and the Japanese text follows::

    <!-- lookup 3fa2b1c0 -->

    ## 学習できる辞書引き

Behind the digest may stand what the rules let pass, and why: ``adapted:
reason`` for a piece that says something else, ``free numbers: reason`` for one
that breaks that rule. Below it, in the comment, ``skeleton`` quotes the
English of what is to be done. The last piece is a table of the words in the
page's drawings.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from docutils.nodes import make_id

from course_exercises import language
from course_exercises.language import Translation
from tools.translate import exercises

ROOT = Path(__file__).resolve().parents[2]
ENGLISH = ROOT / "book/en"
JAPANESE = ROOT / "book/ja"
FENCE = re.compile(r"^ *(`{3,}|:{3,}).*?^ *\1 *$", re.M | re.S)
HEADING = re.compile(r"^(#{1,6}) +(.+?) *$", re.M)
BARE = re.compile(r"#+ [a-z\d_.]+\s*")
"""A section that has a module's name, and what that documents."""
DRAWN = re.compile(
    r'(<(?:text|title|desc)\b[^>]*>|\baria-label=")'
    r'((?<=>)[^<>]+(?=</)|[^<>"]+(?="))'
)
"""Words of a drawing, behind what begins them."""
FORMULA = re.compile(r"<!-- ([^<>]*\$[^<>]*) -->")
"""Words of a drawing with a formula, above their letters one by one."""
MARKDOWN = "text/markdown"
PLAN = "units"
"""What is lectured: it is translated as a page is."""
TOLD = re.compile(
    r"\.(?:title|aim|says|asks|answer|board|read|ask|ask_more|say|do|leave"
    r"|caption|alt|captions\.[^.]+|keeps\.\d+|formula\.\d+\.1"
    r"|chapters\.\d+\.rests)$"
)
"""Its texts; what has several lines is one as well."""


def headings_of(text: str) -> list[re.Match]:
    """The headings of some Markdown; code has none."""
    fences = [found.span() for found in FENCE.finditer(text)]
    return [
        found
        for found in HEADING.finditer(text)
        if not any(a <= found.start() < b for a, b in fences)
    ]


def names() -> list[str]:
    """All that is translated, such as ``04_attention`` or ``api/models``."""
    paths = [*ENGLISH.glob("*.ipynb"), *ENGLISH.rglob("*.md")]
    return sorted(
        path.relative_to(ENGLISH).with_suffix("").as_posix()
        for path in [*paths, ENGLISH / f"{PLAN}.yml"]
    )


def source_of(page: str) -> Path:
    """The English file of a page."""
    files = [ENGLISH / f"{page}.{kind}" for kind in ("ipynb", "yml", "md")]
    return next((path for path in files if path.exists()), files[-1])


def sections_of(text: str) -> Iterator[tuple[str, str]]:
    """The sections of a Markdown page; labels stand with their heading."""
    starts, name = [0], "title"
    for heading in headings_of(text)[1:]:
        label = re.search(
            r"(^\([\w-]+\)=\n+)*\Z", text[: heading.start()], re.M
        )
        starts.append(label.start())
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if start:
            name = make_id(headings_of(text[start:end])[0][2])
        yield name, text[start:end].strip()


def words_of(cell: dict) -> Iterator[tuple[str, dict, str]]:
    """What a code cell says to readers beside its code: kind and place."""
    shown = cell["metadata"].get("mystnb", {})
    parts = [("caption", shown.get("figure", {}), "caption")]
    parts += [("alt", shown.get("image", {}), "alt")]
    parts += [("prompt", shown, f"code_prompt_{w}") for w in ("show", "hide")]
    for output in cell.get("outputs", []):
        if not FENCE.search(markdown_in(output)):  # a source stays as it is
            parts += [("output", output.get("data", {}), MARKDOWN)]
    yield from (part for part in parts if part[2] in part[1])


def markdown_in(output: dict) -> str:
    """What an output of a cell says as Markdown."""
    return "".join(output.get("data", {}).get(MARKDOWN, ""))


def with_words(value: Any, put: Callable, key: str = "") -> Any:
    """An entry of the plan with what ``put`` makes of each text in it.

    ``put`` is given a text and its address, such as ``04.core.2.asks``.
    """
    if isinstance(value, list):
        names = (
            each.get("unit", each.get("chapter", number))
            if isinstance(each, dict)
            else number
            for number, each in enumerate(value)
        )
        value = dict(zip(names, value, strict=True))
        return [*with_words(value, put, key).values()]
    if isinstance(value, dict):
        return {
            name: with_words(each, put, f"{key}.{name}")
            for name, each in value.items()
        }
    bare = re.sub(r"~{4}.*?~{4}|\$[^$]*\$", "", str(value), flags=re.S)
    is_told = TOLD.search(key) or "\n" in bare
    if is_told and re.search("[A-Za-z]{2}", bare):
        return put(key[1:].removeprefix("units."), value)
    return value


def pieces_of(page: str) -> dict[str, str]:
    """The English pieces of a page, without the words of its drawings."""
    if page in exercises.files():
        return exercises.pieces_of(page)
    path, found = source_of(page), {}
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return {
            key: part
            for key, part in sections_of(text)
            if key == "title" or not BARE.fullmatch(FENCE.sub("", part))
        }
    if path.suffix == ".yml":
        with_words(yaml.load(text, yaml.CSafeLoader), found.setdefault)
        return found
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "markdown":
            found[cell["id"]] = "".join(cell["source"])
        for kind, of, name in words_of(cell):
            found[f"{cell['id']}.{kind}"] = "".join(of[name])
    return found


def picture_of(page: str) -> Path:
    """A page's picture that no cell draws; it need not be there."""
    name = "transformer" if page == "index" else f"openings/{page[:2]}"
    return ENGLISH / f"figures/{name}.svg"


def labels_of(page: str) -> list[str]:
    """The words in a page's drawings, each once, in their order."""
    if page in exercises.files():
        return exercises.labels_of(page)
    drawn = source_of(page).read_text("utf-8").replace('\\"', '"')
    if picture_of(page).exists():
        drawn += picture_of(page).read_text("utf-8")
    texts = [text.strip() for _, text in DRAWN.findall(drawn)]
    texts += FORMULA.findall(drawn)
    return [
        text
        for text in dict.fromkeys(texts)
        if re.search("[A-Za-z]{2}", re.sub(r"\$[^$]*\$", "", text))
    ]


def file_of(page: str) -> Path:
    """The Japanese pieces of a page, or of an exercise's texts."""
    if beside := exercises.files().get(page):
        return beside.with_suffix(".ja.md")
    return JAPANESE / f"{page}.md"


def read(page: str) -> dict[str, Translation]:
    """The Japanese pieces of a page, in the order of their file."""
    return language.read(file_of(page))


def read_labels(page: str) -> dict[str, str]:
    """The words of drawings in Japanese; empty where one is to be done."""
    return language.labels_in(read(page))


def pages() -> list[str]:
    """The pages that have a file of translations."""
    return [page for page in [*names(), *exercises.files()] if read(page)]
