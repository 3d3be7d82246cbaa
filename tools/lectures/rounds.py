"""What a section of a built chapter asks, shows and concludes."""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString, Tag

from tools.lectures.drawing import DRAWINGS, figure_of
from tools.lectures.plan import BadPlan, Topic
from tools.lectures.texts import to_html

SHORT = 45
"""Words of a result that stand on a slide; the notes have all of it."""
LINES = 22
"""Lines of code or output that a slide holds."""
DEFAULTS = ("figure", "output", "math")
NAMED = ("output", "math", "table", "code")
"""Kinds of blocks that have no name of their own."""
ENDS = re.compile(r"(?:(?<=[.?!])|(?<=[.?!][)”]))\s+(?=[A-Z“(])")
"""Between two sentences."""
NAME = re.compile(r"\\\([A-Z]")
"""A formula that a sentence can begin with."""


@dataclass(frozen=True)
class Round:
    """A question, what is shown for it, and what it says."""

    title: str
    question: str
    show: Tag
    result: str
    """The first sentences."""
    whole: str
    """The paragraph that they begin."""
    above: list[Tag]
    """The section's other figures that stand above the question."""
    exhibits: list[Tag]
    """Those below it, in their order, what is shown among them."""


@dataclass(frozen=True)
class Block:
    """A piece of a section, one below another."""

    kind: str
    """guess, figure, code, output, math, table or text."""
    tag: Tag

    @property
    def text(self) -> str:
        """Its words."""
        return " ".join(self.tag.get_text().split())

    @property
    def fits(self) -> bool:
        """Whether a slide holds it."""
        lines = self.tag.get_text().strip().splitlines()
        return self.tag.name != "pre" or len(lines) <= LINES


class BuiltChapter:
    """A chapter's page as ``make book`` has built it."""

    def __init__(self, page: Path):
        self.page = page
        self.name = page.stem

    @cached_property
    def article(self) -> Tag:
        """The chapter, without what the theme puts around it."""
        text = self.page.read_text(encoding="utf-8")
        return BeautifulSoup(text, "html.parser").article

    def section(self, anchor: str) -> Tag:
        """A section by the name in its address."""
        found = self.article.find(id=anchor)
        if found is None:
            raise BadPlan(f"{self.name}: no section {anchor} on the page")
        return found

    def figure(self, name: str) -> Tag:
        """A figure by its name, ready for another page."""
        if name in DRAWINGS:
            return portable(drawing(name))
        found = self.article.find("figure", id=name)
        if found is None:
            raise BadPlan(f"{self.name}: no figure {name} on the page")
        return portable(found)

    def formulas(self, anchor: str) -> list[Tag]:
        """The displayed formulas of a section."""
        blocks = blocks_of(self.section(anchor))
        return [portable(b.tag) for b in blocks if b.kind == "math"]

    def outputs(self, anchor: str) -> list[Tag]:
        """Printed outputs of a section."""
        blocks = blocks_of(self.section(anchor))
        return [portable(b.tag) for b in blocks if b.kind == "output"]

    def round(self, topic: Topic) -> Round:
        """Question, exhibit and result of a topic of the plan.

        Raises:
            BadPlan: the section has no question, nothing to show, or no
                result.
        """
        section = self.section(topic.section)
        blocks = list(blocks_of(section))
        where = f"{self.name}#{topic.section}"
        at, question = 0, to_html(topic.asks)
        if not question:
            at, question = find_question(blocks, topic.question, where)
        shown = find_shown(blocks, at, topic.show, where)
        result = whole = to_html(topic.says)
        if not result:
            said = portable(find_result(blocks, shown, topic.result, where))
            result, whole = begin_of(said, topic.result), inner(said)
        title = inner(portable(section.find(re.compile("h[1-6]"))))
        show = portable(blocks[shown].tag)
        above, exhibits = [], []
        for number, block in enumerate(blocks):
            if number == shown:
                exhibits.append(show)
            elif block.kind == "figure":
                (above if number < at else exhibits).append(
                    portable(block.tag)
                )
        return Round(title, question, show, result, whole, above, exhibits)


# --- the parts of a section --------------------------------------------------


def blocks_of(section: Tag) -> Iterator[Block]:
    """Blocks of a section, without sections and folds inside it."""
    for child in section.find_all(True, recursive=False):
        classes = set(child.get("class", []))
        if child.name == "figure":
            if child.img:  # else it is one that answers
                yield Block("figure", child)
        elif child.name == "svg" and child.get("id") in DRAWINGS:
            yield Block("figure", drawing(child["id"]))
        elif "cell" in classes:
            yield from _outputs(child)
        elif is_guess(child):
            yield Block("guess", child)
        elif "math" in classes:
            yield Block("math", child)
        elif child.name == "table" or child.find("table", recursive=False):
            yield Block("table", child)
        elif child.name in ("p", "ol", "ul", "blockquote"):
            yield Block("text", child)


def is_guess(tag: Tag) -> bool:
    """Whether it is a box that asks for a guess."""
    classes = {*tag.get("class", [])}
    return "guess" in classes or {"tip", "admonition"} <= classes


def _outputs(cell: Tag) -> Iterator[Block]:
    """A cell's code and what it put out, unless they are folded."""
    if "tag_hide-cell" in cell.get("class", []):
        return
    for code in cell.select(":scope > .cell_input pre"):
        yield Block("code", code)
    for box in cell.select(".cell_output"):
        for child in box.find_all(True, recursive=False):
            if figure := child if child.name == "figure" else child.figure:
                yield Block("figure", figure)
            elif "output" in child.get("class", []) and child.pre:
                yield Block("output", child.pre)


def find_question(
    blocks: list[Block], begins: str, where: str
) -> tuple[int, str]:
    """The place of the question, and its words."""
    for number, block in enumerate(blocks):
        if block.kind == "guess" and not begins:
            return number, guess_of(block)
        if block.kind == "guess" and begins in block.text:
            return number, guess_of(block)
    for number, block in enumerate(blocks):
        if block.kind == "text":
            for sentence in sentences(portable(block.tag)):
                words = plain(sentence)
                if words.startswith(begins) if begins else "?" in words:
                    return number, sentence
    raise BadPlan(
        f"{where} has no question{f' {begins!r}' if begins else ''}: put a "
        "guess into the chapter, or give the unit's topic a `question:`, "
        "the beginning of a sentence of that section"
    )


def find_shown(blocks: list[Block], after: int, name: str, where: str) -> int:
    """The place of what is shown: a figure, else output, or a formula.

    With a name: the figure of that name, the first of that kind, or the
    first output, else the first code, that has these words in it.
    """
    wanted = ([name] if name in NAMED else []) if name else DEFAULTS
    order = [*range(after, len(blocks)), *range(after)]
    for number in order:
        if name and blocks[number].tag.get("id") == name:
            return number
    for kind in wanted or ("output", "code"):
        for number in order:
            block = blocks[number]
            said = bool(wanted) or name in block.text
            if block.kind == kind and said and block.fits:
                return number
    raise BadPlan(
        f"{where} has no figure{f' {name!r}' if name else ''} for a slide: "
        "give the unit's topic a `show:`, a figure's name, some words of "
        f"an output, or {', '.join(NAMED)} (of at most {LINES} lines)"
    )


def find_result(
    blocks: list[Block], shown: int, begins: str, where: str
) -> Tag:
    """The paragraph, or the item of a list, that says what came out."""
    if begins:
        for block in blocks:
            if block.kind == "text" and begins in block.text:
                items = block.tag.find_all("li", recursive=False)
                found = [i for i in items if begins in i.get_text()]
                return found[0] if found else block.tag
    else:
        for block in blocks[shown + 1 :]:
            if block.kind == "text" and block.tag.name == "p":
                return block.tag
    raise BadPlan(
        f"{where} has no result{f' {begins!r}' if begins else ''} for a "
        "slide: give the unit's topic a `result:`, the beginning of a "
        "sentence of that section"
    )


# --- from one page to another ------------------------------------------------


def drawing(name: str) -> Tag:
    """A drawing, marked up as the chapters' figures are."""
    return BeautifulSoup(figure_of(name), "html.parser").figure


def portable(tag: Tag) -> Tag:
    """A copy without links and ids, which mean nothing on another page.

    A figure's image keeps the figure's name, as ``data-figure``.
    """
    tag = copy.copy(tag)
    if tag.name == "figure" and tag.img and tag.get("id"):
        tag.img["data-figure"] = tag["id"]
    for link in tag.select("a.headerlink"):
        link.decompose()
    for link in tag.find_all("a"):
        link.unwrap()
    for each in [tag, *tag.find_all(True)]:
        each.attrs.pop("id", None)
    return tag


def inner(tag: Tag) -> str:
    """HTML inside a tag."""
    return tag.decode_contents().strip()


def guess_of(block: Block) -> str:
    """A guess without its title and its answer; its choices are listed."""
    tag = portable(block.tag)
    for part in tag.select(".admonition-title, details"):
        part.decompose()
    if controls := tag.select_one(".guess-controls"):
        choices = controls.get("data-choices", "").replace("|", " · ")
        controls.replace_with(choices)
    return inner(tag)


def plain(html: str) -> str:
    """The words of some HTML."""
    text = BeautifulSoup(html, "html.parser").get_text()
    return " ".join(text.split())


def sentences(paragraph: Tag) -> list[str]:
    """A paragraph cut between its sentences, as HTML."""
    found = [""]
    for child in paragraph.children:
        if not isinstance(child, NavigableString):
            found[-1] += str(child)
            continue
        text = child.output_ready()
        if plain(found[-1]).endswith((".", "?", "!")):
            first, *rest = ENDS.split(f".{text}")  # the sign stands before it
            first = first.removeprefix(".")
        else:
            first, *rest = ENDS.split(text)
        found[-1] += first
        found += rest
        if re.search(r"[.?!]\s+$", text) and NAME.match(name_after(child)):
            found.append("")
    return [text.strip() for text in found if text.strip()]


def name_after(text: NavigableString) -> str:
    """The words of what follows a text, if it is a tag."""
    after = text.next_sibling
    return after.get_text() if isinstance(after, Tag) else ""


def begin_of(paragraph: Tag, begins: str) -> str:
    """Its first sentences, or those from a certain one on.

    What leads on to something else, or opens a bracket that stays open, is
    left out.
    """
    found = sentences(paragraph)
    if begins:
        starts = [plain(one).startswith(begins) for one in found]
        found = found[starts.index(True) :] if True in starts else found
    kept = found[:1]
    for sentence in found[1:]:
        if len(plain(" ".join([*kept, sentence])).split()) > SHORT:
            break
        kept.append(sentence)
    while len(kept) > 1 and leads_on(" ".join(kept)):
        kept.pop()
    return " ".join(kept)


def leads_on(html: str) -> bool:
    """Whether a text ends before it is done."""
    words = re.sub(r"\\\(.*?\\\)", "", plain(html))
    return words.endswith((":", ",", ";")) or words.count("(") > words.count(
        ")"
    )
