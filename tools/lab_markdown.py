"""The Markdown of a chapter as JupyterLab can show it, without MyST."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count, groupby
from pathlib import Path

import yaml
from docutils.nodes import make_id
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from nbformat import NotebookNode
from pybtex.database import Entry, parse_file
from pybtex.richtext import Text

from course_exercises.path.parts import FILE, PARTS, stub
from tools.edition import BUILT, say

ROOT = Path(__file__).resolve().parent.parent
SERVED = "/static"
"""Where `make lab` lets JupyterLab serve these pages."""
PARSER = MarkdownIt("commonmark").use(colon_fence_plugin)
PARSER.disable(["lheading", "inline"])
"""Finds fences and headings; a line of = in a formula makes no heading."""
SOURCES = "cited-sources"
"""Id of a copy's last cell."""
FRAMED = ("live", "raw", "time-machine", "head-viewer")
"""Directives of figures that only a page of the book can show."""
NOTE = re.compile(r"^\{\.[\w-]+\}\n", re.M)
ROLE = re.compile(r"\{([\w:-]+)\}`([^`]+)`")
LINK = re.compile(r"\[([^\[\]]+)\]\(([^()\s]+)\)")
RENAMED = r"\n+~~~\{renamed\} (.+)\n~~~"  # the heading above it
IN_PAGE = re.compile(r'<a href="#([^"]+)">(.*?)</a>')
NAMED = re.compile(r"(.+?)\s*<(.+)>", re.S)


@dataclass(frozen=True)
class Frame:
    """A figure of the book that moves, to be shown in a frame."""

    address: str


@dataclass(frozen=True)
class Block:
    """A fence in a text: a directive, or code if it has no name."""

    lines: slice
    text: str
    name: str = ""
    argument: str = ""
    options: dict[str, str] = field(default_factory=dict)
    content: str = ""


@cache
def blocks_of(text: str) -> tuple[Block | str, ...]:
    """The fences of a text, and the headings between."""
    return tuple(_blocks(text))


def _blocks(text: str) -> Iterator[Block | str]:
    lines = text.splitlines()
    tokens = PARSER.parse(text)
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open":
            yield following.content
        if token.type in ("fence", "colon_fence"):
            where = slice(*token.map)
            whole = "\n".join(lines[where])
            name = re.match(r"\{([\w-]+)\} *(.*)", token.info.strip())
            if not name:
                yield Block(where, whole)
                continue
            head, content = re.match(
                r"((?::[\w-]+:[^\n]*\n)*)(.*)", token.content, re.S
            ).groups()
            options = dict(re.findall(r"^:([\w-]+): *(.*)$", head, re.M))
            yield Block(where, whole, *name.groups(), options, content)


@dataclass(frozen=True)
class Paper:
    """What is cited."""

    authors: str
    year: str
    title: str
    address: str

    @classmethod
    def read(cls, entry: Entry) -> "Paper":
        """From an entry of the bibliography."""
        names = [
            " ".join([*person.prelast_names, *person.last_names])
            for person in entry.persons["author"]
        ]
        if len(names) > 2 or names[-1] == "others":
            names = [f"{names[0]} et al."]
        said = " ".join(entry.fields.values())
        preprint = re.search(r"arXiv:(\d+\.\d+|[a-z.-]+/\d+)", said)
        address = f"https://arxiv.org/abs/{preprint[1]}" if preprint else ""
        return cls(
            unlatex(" and ".join(names)),
            entry.fields["year"],
            unlatex(entry.fields["title"]),
            entry.fields.get("url", address),
        )

    def cited(self, in_brackets: bool, page: str) -> str:
        """As a sentence of a chapter names it, or as it stands in brackets."""
        year = f", {self.year}" if in_brackets else f" ({self.year})"
        words = self.authors + year
        if self.address:
            return f"[{words}]({self.address})"
        return chapter_link(words, page, SOURCES)

    def listed(self) -> str:
        """As the chapter's last cell has it."""
        title = f"*{self.title}*"
        if self.address:
            title = f"[{title}]({self.address})"
        return f"- {self.authors} ({self.year}). {title}"


def unlatex(text: str) -> str:
    """BibTeX's text as a reader sees it."""
    return str(Text.from_latex(text))


@dataclass
class Book:
    """What chapters say of each other, and of the book's other pages."""

    papers: dict[str, Paper]
    macros: dict[str, str]
    """Commands of formulas that the book defines."""
    targets: dict[str, tuple[str, str]]
    """By label: a page that is no chapter, and the heading there."""
    pages: str
    """Address of the folder with the book's pages."""
    is_built: bool
    headings: dict[tuple[str, str], str] = field(default_factory=dict)
    """By chapter and address within it: the cell."""
    figures: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """By label: the chapter, the figure's name, and its cell."""
    frames: dict[tuple[str, str], str] = field(default_factory=dict)
    """By chapter and directive: the address in the page."""

    @classmethod
    def read(
        cls, folder: Path, chapters: dict[str, list[NotebookNode]]
    ) -> "Book":
        """From the folder of the book, and the cells of its chapters."""
        entries = parse_file(folder.parent / "references.bib").entries
        config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
        mathjax = config["sphinx"]["config"]["mathjax3_config"]
        site = os.environ.get("SITE_URL", "").rstrip("/")
        book = cls(
            {key: Paper.read(entry) for key, entry in entries.items()},
            mathjax["tex"]["macros"],
            {
                label: (page.stem, renamed or heading)
                for page in folder.glob("*.md")
                for label, heading, renamed in re.findall(
                    rf"^\(([\w-]+)\)=\n+(.+)(?:{RENAMED})?",
                    page.read_text("utf-8"),
                    re.M,
                )
            },
            site or SERVED,
            bool(site) or BUILT.is_dir(),
        )
        for page, cells in chapters.items():
            book._add(page, cells)
        return book

    def _add(self, page: str, cells: list[NotebookNode]) -> None:
        """Note what stands in a chapter."""
        live = count()
        form = say("Figure {}.{}").format
        numbers = (form(int(page[:2]), n) for n in count(1))

        def note(label: str | None, cell: NotebookNode) -> None:
            if label:
                self.figures[label] = (page, next(numbers), cell.id)

        for cell in cells:
            if cell.cell_type == "code":
                figure = cell.metadata.get("mystnb", {}).get("figure", {})
                note(figure.get("name"), cell)
                continue
            for block in blocks_of(cell.source):
                if isinstance(block, str):
                    self.headings[page, section_id(block)] = cell.id
                elif block.name in FRAMED:
                    label = block.options.get("label")
                    note(label, cell)
                    file = Path(block.options.get("file", "")).stem
                    anchor = label or file or f"live-{next(live)}"
                    self.frames[page, block.text] = anchor


def section_id(heading: str) -> str:
    """A heading's address in the book."""
    return make_id(re.sub("['’]", "", heading))


def chapter_link(words: str, page: str, cell: str = "") -> str:
    """A link to a copy, or to one of its cells.

    JupyterLab finds a heading by its words only once it has drawn it, but a
    cell by its id always, if the link also names the file.
    """
    return f"[{words}]({page}.ipynb{cell and '#cell-id=' + cell})"


@dataclass(frozen=True)
class Writer:
    """What writes the Markdown of one chapter's copy."""

    page: str
    book: Book

    def parts(self, text: str) -> list[str | Frame]:
        """A text in plain Markdown, cut where a frame stands."""
        text = re.sub(rf"^(#+ ).+{RENAMED}", r"\1\2", text, flags=re.M)
        lines, end, parts = text.splitlines(), 0, []
        for block in blocks_of(text):
            if isinstance(block, Block):
                before = "\n".join(lines[end : block.lines.start])
                parts += [self.prose(before), self.block(block)]
                end = block.lines.stop
        parts.append(self.prose("\n".join(lines[end:])))
        joined = []
        for is_text, some in groupby(parts, lambda p: isinstance(p, str)):
            if is_text:
                stripped = (part.strip("\n") for part in some)
                some = ["\n\n".join(filter(None, stripped))]
            joined += some
        return list(filter(None, joined))

    def block(self, block: Block) -> str | Frame:
        """A directive in plain Markdown, or a frame; code as it is.

        Raises:
            ValueError: nothing here knows this directive.
        """
        match block.name:
            case "":
                return block.text
            case "guess":
                return self.guess(block)
            case "dropdown":
                return fold(block.argument, self.text(block.content))
            case "write":
                return self.write(block)
        if block.name in FRAMED:
            return self.frame(block)
        raise ValueError(f"say how a copy shows {block.text!r}")

    def text(self, text: str) -> str:
        """A text that has no frames, in plain Markdown."""
        [plain] = self.parts(text)
        return plain

    def guess(self, block: Block) -> str:
        """The question and its choices, and the answer in a fold."""
        answer = block.options["answer"]
        if "slider" in block.options:
            low, high, *unit = block.options["slider"].split()
            unit = " ".join(["", *unit])
            asked = say("*Guess a number from {} to {}{}.*").format(
                low, high, unit
            )
            right = answer + unit
        else:
            choices = block.options["choices"].split("|")
            choices = [choice.strip() for choice in choices]
            asked = "\n".join(f"1. {choice}" for choice in choices)
            right = choices[int(answer) - 1]
        content = f"**{right}**\n\n{block.content.strip()}"
        asks = say("**Guess.** {}").format(block.argument)
        question = self.prose(f"{asks}\n\n{asked}")
        return f"{question}\n\n{fold(say('Answer'), self.text(content))}"

    def write(self, block: Block) -> str:
        """What the chapter asks of the reader's own file, with its stubs."""
        stubs = map(stub, PARTS[self.page[:2]])
        code = [f"```python\n{text}\n```" for text in stubs]
        command = f"```bash\ntransformer-course check {FILE}\n```"
        return "\n\n".join([self.prose(block.content), *code, command])

    def frame(self, block: Block) -> str | Frame:
        """A figure of the book's page, or where to find it."""
        anchor = self.book.frames[self.page, block.text]
        address = f"{self.book.pages}/{self.page}.html"
        if self.book.is_built:
            return Frame(f"{address}?only={anchor}")
        label, caption = map(block.options.get, ("label", "caption"))
        said = caption or ""
        if label:
            said = f"{self.book.figures[label][1]}. {said}"
        return self.prose(
            say(
                "> **A figure that moves** stands [in the book]({}): "
                "`make book` builds it, and `make lab` then puts it here. {}"
            ).format(f"{address}#{anchor}", said)
        )

    def caption(self, figure: dict[str, str]) -> str:
        """What stands below a figure."""
        number = self.book.figures[figure["name"]][1]
        return f"**{number}.** {self.prose(figure['caption'])}"

    def prose(self, text: str) -> str:
        """Text between directives, its references written out."""
        text = NOTE.sub("", text)
        text = re.sub("^# ", f"# {self.page[:2]} · ", text)
        text = IN_PAGE.sub(
            rf"[\2]({self.book.pages}/{self.page}.html#\1)", text
        )
        text = LINK.sub(lambda found: self.link(*found.groups()), text)
        text = ROLE.sub(lambda found: self.role(*found.groups()), text)
        for name, meaning in self.book.macros.items():
            text = re.sub(
                rf"\\{name}(?![A-Za-z])", lambda _, m=meaning: m, text
            )
        return text

    def link(self, words: str, target: str) -> str:
        """A link of the book as one of a copy."""
        file, _, section = target.partition("#")
        page = re.sub(r"\.(ipynb|md)$", "", file)
        if ":" in target or target.startswith(self.book.pages):
            return f"[{words}]({target})"
        if target in self.book.targets:
            return self.role("ref", f"{words} <{target}>")
        if re.match(r"\d\d_|$", page):
            page = page or self.page
            cell = section and self.book.headings[page, make_id(section)]
            return chapter_link(words, page, cell)
        section = section and f"#{section}"
        return f"[{words}]({self.book.pages}/{page}.html{section})"

    def role(self, name: str, content: str) -> str:
        """A role of MyST in plain Markdown.

        Raises:
            ValueError: nothing here knows this role.
        """
        book = self.book
        named = NAMED.fullmatch(content)
        words, target = named.groups() if named else (content, content)
        match name:
            case "cite:t" | "cite:p":
                inside = name == "cite:p"
                papers = [
                    book.papers[key.strip()] for key in target.split(",")
                ]
                said = [paper.cited(inside, self.page) for paper in papers]
                return f"({'; '.join(said)})" if inside else ", ".join(said)
            case "numref":
                page, number, cell = book.figures[target]
                return chapter_link(number, page, cell)
            case "ref":
                page, heading = book.targets[target]
                words = words if named else heading.lstrip("# ")
                return f"[{words}]({book.pages}/{page}.html#{target})"
            case "doc":
                return f"[{words}]({book.pages}/{target}.html)"
            case "chapter":
                words = say("chapter {}").format(target[:2])
                return chapter_link(words, target)
        raise ValueError(f"say how a copy shows {{{name}}}`{content}`")


def fold(title: str, content: str) -> str:
    """A text that opens by a click."""
    start = f"<details><summary>{title}</summary>"
    return f"{start}\n\n{content}\n\n</details>\n<p></p>"


def sources(cells: list[NotebookNode], book: Book) -> str:
    """What a chapter cites, for its last cell; "" if that is nothing."""
    keys = {
        key.strip(): None
        for cell in cells
        for name, content in ROLE.findall(
            cell.source + str(cell.metadata.get("mystnb", ""))
        )
        if name.startswith("cite:")
        for key in content.split(",")
    }
    listed = sorted(book.papers[key].listed() for key in keys)
    return "\n".join([f"## {say('Sources')}", "", *listed]) if listed else ""
