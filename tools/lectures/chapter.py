"""The chapters as a lecture needs them: sections, and what stands in each.

They are read from the notebooks. Prose is Markdown, and stays so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path

from docutils.nodes import make_id
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from nbformat import NotebookNode
from nbformat.v4 import reads

from tools.edition import SOURCES as BOOK
from tools.edition import say
from transformer_course.errors import CourseError

READER = create_md_parser(
    MdParserConfig(enable_extensions={"amsmath", "colon_fence", "dollarmath"}),
    RendererHTML,
)
KINDS = {
    "paragraph_open": "text",
    "blockquote_open": "text",
    "bullet_list_open": "text",
    "ordered_list_open": "text",
    "table_open": "table",
    "math_block": "math",
    "math_block_label": "math",
    "amsmath": "math",
}
ANSWERS = ("{live}", "{time-machine}", "{head-viewer}")
"""Directives of figures that answer."""
MAP = "transformer"
"""The picture of the whole, a file of its own."""


class BadPlan(CourseError):
    """The plan says what cannot be."""


@dataclass(frozen=True)
class Block:
    """A piece of a section, one below another."""

    kind: str
    """guess, figure, code, output, math, table, text, or live, a figure that
    answers."""
    text: str
    """As it stands in the notebook; of a guess the question, of a figure its
    name."""
    answer: str = ""
    """To a guess; of a figure that answers its id on the built page."""
    choices: tuple[str, ...] = ()
    """Of a guess."""

    @property
    def bare(self) -> str:
        """Its words without marks."""
        return bare(self.text)


@dataclass(frozen=True)
class Section:
    """A section of a chapter, without the sections below it."""

    title: str
    """In Markdown, as it stands in the notebook."""
    anchor: str
    """Its id on the built page."""
    slug: str
    """Its name in a Markdown link, ``page.ipynb#slug``."""
    parent: str
    """The anchor of the section that it is a part of; else its own."""
    blocks: list[Block] = field(default_factory=list)

    def all(self, kind: str) -> list[str]:
        """The texts of its blocks of a kind."""
        return [block.text for block in self.blocks if block.kind == kind]


@cache
def chapter_files() -> dict[str, Path]:
    """The notebook of each chapter, by its number."""
    return {
        path.name[:2]: path for path in sorted(BOOK.glob("[0-9][0-9]_*.ipynb"))
    }


@cache
def notebook_of(path: Path) -> NotebookNode:
    """A chapter's notebook; none of its readers may change it."""
    return reads(path.read_text(encoding="utf-8"))


@cache
def sections_of(path: Path) -> dict[str, Section]:
    """The sections of a chapter in their order, by their anchors."""
    found = {"": Section("", "", "", "")}  # what stands above the first one
    blocks, parent, anchor, unnamed = found[""].blocks, "", "", count()
    for cell in notebook_of(path).cells:
        read = prose if cell.cell_type == "markdown" else code
        for part in read(cell):
            if isinstance(part, Block):
                if part.kind == "live" and not part.answer:
                    part = replace(part, answer=f"live-{next(unnamed)}")
                blocks.append(part)
                continue
            level, title = part
            if level == "renamed":  # in another edition
                found[anchor] = replace(found[anchor], title=title)
                continue
            anchor = make_id(re.sub(r"['’]", "", title))  # as Sphinx has it
            parent = anchor if level == "h2" else parent
            found[anchor] = Section(title, anchor, slug_of(title), parent)
            blocks = found[anchor].blocks
    return found


def section(name: str) -> Section:
    """The section ``03#clocks``.

    Raises:
        BadPlan: there is none.
    """
    chapter, _, anchor = name.partition("#")
    files = chapter_files()
    there = sections_of(files[chapter]) if chapter in files else {}
    if not anchor or anchor not in there:
        has = ", ".join(filter(None, there)) or "no page"
        raise BadPlan(
            f"units.yml names the section {name}, which is not there; "
            f"chapter {chapter} has: {has}"
        )
    return there[anchor]


@cache
def projected() -> dict[str, str]:
    """Ids of the demonstrations on the page for a projector.

    By the directives of the figures that answer there.
    """
    text = (BOOK / "projector.md").read_text("utf-8")
    renamed = r"(?:~~~\{renamed\}.*\n~~~\n+)?"
    found = re.findall(rf"^## (.*)\n+{renamed}```(\{{live\}} \S+)", text, re.M)
    return {live: make_id(title) for title, live in found}


def slug_of(title: str) -> str:
    """Slug of a title, as MyST makes it: without formulas."""
    words = re.sub(r"\$[^$]*\$", "", title.strip().lower())
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


# --- cells -------------------------------------------------------------------


def prose(cell: NotebookNode) -> Iterator[Block | tuple[str, str]]:
    """Blocks of a cell of prose; of a heading its level and title."""
    lines = cell.source.splitlines()
    tokens = READER.parse(cell.source)
    for token, after in zip(tokens, [*tokens[1:], None], strict=False):
        if token.level or token.map is None:
            continue
        text = "\n".join(lines[slice(*token.map)]).strip()
        if token.type == "heading_open" and token.tag != "h1":
            yield token.tag, after.content
        elif token.info.startswith("{renamed}"):
            yield "renamed", token.info.removeprefix("{renamed}").strip()
        elif token.type in KINDS:
            if token.type == "math_block_label":
                text = f"$${token.content}$$"
            yield Block(KINDS[token.type], text)
        elif token.info.startswith("{guess}"):
            yield guess(token.info.removeprefix("{guess}"), token.content)
        elif token.info.startswith(ANSWERS):
            named = re.search(r"^:(?:label|file): *(\S+)", token.content, re.M)
            name = Path(named[1]).stem if named else ""
            yield Block("live", token.info, name)
        elif f"{MAP}.svg" in token.content:
            yield Block("figure", MAP)


def guess(question: str, content: str) -> Block:
    """A guess: its choices below the question, and its own answer."""
    options = dict(re.findall(r"^:(\w+): *(.*)$", content, re.M))
    said = re.sub(r"^:\w+:.*\n?", "", content, flags=re.M).strip()
    answer, choices = options["answer"], ()
    if "choices" in options:
        choices = tuple(one.strip() for one in options["choices"].split("|"))
        answer = choices[int(answer) - 1].replace("*", "")
    else:
        answer = " ".join([answer, *options["slider"].split()[2:]])
    answer = answer[:1].upper() + answer[1:]
    told = f"**{answer}{say('.')}** {said}"
    return Block("guess", question.strip(), told, choices)


def code(cell: NotebookNode) -> Iterator[Block]:
    """A cell's code and what it put out, unless they are folded."""
    if "hide-cell" in cell.metadata.get("tags", []):
        return
    yield Block("code", cell.source)
    figure = cell.metadata.get("mystnb", {}).get("figure", {})
    for output in cell.outputs:
        data = output.get("data", {})
        if {"image/png", "image/svg+xml"} & {*data} and figure:
            yield Block("figure", figure["name"])
        elif output.get("name") == "stdout":
            yield Block("output", output.text)
        elif {*data} == {"text/plain"}:
            yield Block("output", data["text/plain"])


# --- words -------------------------------------------------------------------


def portable(text: str) -> str:
    """Markdown without links and references to what is not here.

    Citations stay: the folder has a page of sources.
    """
    text = re.sub(r"\s*\(\{(?:num)?ref\}`[^`]*`\)", "", text)
    text = re.sub(
        r"(?:^|(?<=[.:?] ))\{numref\}`[^`]*`", say("The figure"), text
    )
    text = re.sub(r"\{numref\}`[^`]*`", say("the figure"), text)
    text = re.sub(r"\{(?!cite)\w+\}`([^`<]+?)(?: <[^`]*>)?`", r"\1", text)
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)


def bare(text: str) -> str:
    """The words of some Markdown: no marks, one kind of quotes and spaces."""
    words = re.sub(r"[*`$]", "", portable(text).replace("’", "'"))
    return " ".join(words.split())
