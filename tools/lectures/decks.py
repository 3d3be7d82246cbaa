"""A deck for each unit: question, figures and result, a slide each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

from tools.lectures.chapter import (
    BadPlan,
    Block,
    Section,
    bare,
    portable,
    section,
)
from tools.lectures.figures import Figure, Part, parts_of
from tools.lectures.page import expand
from tools.lectures.plan import Plan, Topic, Unit

SHARES = {"question": 0.4, "show": 0.35}
"""Shares of a topic's minutes; the result has the rest. Figures before the
question share in its minutes, and all that is shown in those of showing."""
CLOSING = 60
"""Seconds for the homework, out of those of the opening."""
SHORT = 45
"""Words of a result that stand on a slide; the notes have all of it."""
LINES = 22
"""Lines of code or output that a slide holds."""
ROWS = 16
"""Lines of it in large letters."""
NAMED = ("output", "math", "table", "code")
"""Kinds of blocks that have no name of their own."""
ENDS = re.compile(r'(?<=[.?!])([)”"*]*)\s+(?=["“(*$`{\[]*[A-Z]|[{$])')
"""Between two sentences."""


@dataclass(frozen=True)
class Answered:
    """A topic's question, what is shown for it, and what comes out."""

    question: str
    at: int
    """Its place among the section's blocks."""
    shown: Block
    result: str
    """What stands on the slide."""
    whole: str
    """What the speaker reads."""


@dataclass(frozen=True)
class Slide:
    """One slide; what its notes say, stands in the template."""

    kind: str
    """title, question, before, show, result or homework."""
    title: str
    seconds: int
    body: str = ""
    """In Markdown."""
    part: Part | None = None
    """A figure, or part of one, in place of a body."""
    topic: Topic | None = None
    found: Answered | None = None
    first: bool = False
    """Whether it is the first that shows something."""


@dataclass
class Deck:
    """The slides of a unit at one length."""

    plan: Plan
    unit: Unit
    length: int
    figures: dict[str, Figure]
    """Of all chapters, by their names."""

    def slides(self) -> list[Slide]:
        """All of them, in order; their seconds are the unit's minutes."""
        unit = self.unit
        title = f"Unit {unit.unit} · {unit.title}"
        read = f"Read before: {self.text(unit.read)}"
        return [
            Slide("title", title, unit.opening * 60 - CLOSING, read),
            *(s for topic in self.topics() for s in self.topic(topic)),
            Slide("homework", "Afterwards", CLOSING),
        ]

    def topics(self, anchor: str = "") -> list[Topic]:
        """The topics, or those of a section."""
        topics = self.unit.topics(self.length)
        return [one for one in topics if anchor in ("", one.section)]

    def formula(self) -> str:
        """The unit's formula: of the section that it names, or the first."""
        named = [self.unit.formula] if self.unit.formula else []
        found = [
            section(name).all("math")[-1:]
            for name in named or self.unit.sections(45)
        ]
        return next(filter(None, found), [""])[0]

    def text(self, text: str) -> str:
        """A text of the plan without its links."""
        return portable(expand(text, self.unit.chapter))

    def section(self, topic: Topic) -> Section:
        """The section of a topic."""
        return section(f"{self.unit.chapter}#{topic.section}")

    def title(self, topic: Topic) -> str:
        """Its title."""
        return portable(self.section(topic).title)

    def parts(self, name: str) -> list[Part]:
        """The parts of a figure."""
        return parts_of(name, self.figures, self.plan)

    # --- a topic -------------------------------------------------------------

    def topic(self, topic: Topic) -> Iterator[Slide]:
        """A section's question, figures and result."""
        found, title = self.answered(topic), self.title(topic)
        before, after = self.exhibits(topic, found)
        left = topic.minutes * 60
        asking = round(left * SHARES["question"] / (len(before) + 1))
        showing = round(left * SHARES["show"] / len(after))
        left -= asking * (len(before) + 1) + showing * len(after)
        about = {"topic": topic, "found": found}
        for block in before:
            yield from self.exhibit("before", title, asking, block)
        yield Slide("question", title, asking, found.question, **about)
        first = True
        for block in after:
            for slide in self.exhibit("show", title, showing, block):
                yield replace(slide, first=first, **about)
                first = False
        yield Slide("result", title, left, found.result, **about)

    def answered(self, topic: Topic) -> Answered:
        """A topic's question, what is shown, and what comes out.

        Raises:
            BadPlan: the section has no question, nothing to show, or no
                result.
        """
        blocks = self.section(topic).blocks
        where = f"{self.unit.notebook}#{topic.section}"
        at, question, answer = 0, topic.asks, ""
        if not question:
            at = find_guess(blocks, where)
            question, answer = blocks[at].text, blocks[at].answer
        shown = find_shown(blocks, at, topic.show, where)
        result = whole = topic.says
        if not whole and (topic.result or not answer):
            below = blocks[blocks.index(shown) + 1 :]
            whole = find_result(
                blocks if topic.result else below, topic.result, where
            )
            result = begin_of(whole, topic.result)
        result, whole = (
            portable(f"{answer}\n\n{said}".strip()) for said in (result, whole)
        )
        return Answered(portable(question), at, shown, result, whole)

    def exhibits(
        self, topic: Topic, found: Answered
    ) -> tuple[list[Block], list[Block]]:
        """What is shown before the question, and what after it.

        All figures of a section are shown: with its first question those
        that no other one shows.
        """
        blocks = self.section(topic).blocks
        first, *others = self.topics(topic.section)
        shown = [found.shown, *(self.answered(one).shown for one in others)]
        more = [
            block
            for block in (blocks if topic == first else [])
            if block.kind == "figure" and block not in shown
        ]
        above = [block for block in more if blocks.index(block) < found.at]
        below = [b for b in blocks if b in [found.shown, *more]]
        before, also = (
            [Block("figure", name) for name in names]
            for names in (topic.before, topic.also)
        )
        below = [b for b in dict.fromkeys(below) if b not in above]
        return before + above, below + also

    def exhibit(
        self, kind: str, title: str, seconds: int, block: Block
    ) -> Iterator[Slide]:
        """A slide that shows something, or one for each part of a figure."""
        if block.kind != "figure":
            literal = block.kind in ("code", "output")
            body = (printed if literal else portable)(block.text)
            yield Slide(kind, title, seconds, body)
            return
        parts = self.parts(block.text)
        for number, part in enumerate(parts, 1):
            own = seconds // len(parts)
            own += seconds % len(parts) if number == 1 else 0
            where = f" ({number}/{len(parts)})" if len(parts) > 1 else ""
            yield Slide(kind, title + where, own, part=part)


# --- what a section gives ----------------------------------------------------


def find_guess(blocks: list[Block], where: str) -> int:
    """The place of the first guess."""
    for place, block in enumerate(blocks):
        if block.kind == "guess":
            return place
    raise BadPlan(
        f"{where} has no guess: put one into the chapter, or give the unit's "
        "topic an `asks:`, a question of its own"
    )


def find_shown(
    blocks: list[Block], after: int, name: str, where: str
) -> Block:
    """What is shown: a figure, else output, or a formula.

    With a name: the figure of that name, the first of that kind, or the
    first output, else the first code, that has these words in it.
    """
    kinds = ("output", "code") if name else ("figure", "output", "math")
    kinds, words = ((name,), "") if name in NAMED else (kinds, bare(name))
    order = blocks[after:] + blocks[:after]
    if (named := Block("figure", name)) in order:
        return named
    for kind in kinds:
        for block in order:
            fits = len(block.text.strip().splitlines()) <= LINES
            if block.kind == kind and words in block.bare and fits:
                return block
    raise BadPlan(
        f"{where} has nothing {name!r} for a slide: give the unit's topic a "
        "`show:`, a figure's name, some words of an output, or "
        f"{', '.join(NAMED)} (of at most {LINES} lines)"
    )


def find_result(blocks: list[Block], begins: str, where: str) -> str:
    """The paragraph, or the item of a list, that says what came out."""
    for block in blocks:
        items = re.split(r"^(?=[-*] |\d+\. )", block.text, flags=re.M)
        if block.kind != "text" or not (begins or len(items) == 1):
            continue
        for item in items:
            if bare(begins) in bare(item):
                return re.sub(r"^[-*] ", "", item.strip())
    raise BadPlan(
        f"{where} has no result {begins!r} for a slide: give the unit's topic "
        "a `result:`, the beginning of a sentence of that section"
    )


def begin_of(paragraph: str, begins: str) -> str:
    """Its first sentences, or those from a certain one on.

    What leads on to something else, or opens a bracket that stays open, is
    left out.
    """
    found = ENDS.sub(r"\1\n", " ".join(paragraph.split())).split("\n")
    starts = [bare(one).startswith(bare(begins)) for one in found]
    found = found[starts.index(True) :] if True in starts else found
    words = accumulate(len(bare(one).split()) for one in found)
    kept = found[: max(1, sum(many <= SHORT for many in words))]
    while len(kept) > 1 and leads_on(" ".join(kept)):
        kept.pop()
    return " ".join(kept)


def leads_on(text: str) -> bool:
    """Whether a text ends before it is done."""
    words = re.sub(r"\$.*?\$", "", text)
    return words[-1] in ":,;" or words.count("(") > words.count(")")


def printed(text: str) -> str:
    """Code or output, in letters as large as there is room for."""
    lines = text.strip("\n").splitlines()
    block = "\n".join(["~~~~text", *lines, "~~~~"])
    small = f'<div class="small">\n\n{block}\n\n</div>'
    return block if len(lines) <= ROWS else small
