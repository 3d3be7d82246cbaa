"""A deck for each unit: question, formula, pictures and answer."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tools.lectures.chapter import (
    ANSWERS,
    BadPlan,
    Block,
    Section,
    bare,
    chapter_files,
    portable,
    projected,
    section,
    sections_of,
)
from tools.lectures.figures import Figure, Part, parts_of
from tools.lectures.page import expand
from tools.lectures.plan import Plan, Topic, Unit

SHARES = {"question": 0.4, "show": 0.35}
"""Shares of a topic's minutes; the answer has the rest. What stands before
the question shares in its minutes, and all that is shown in those of
showing."""
TITLE, OUTLINE, SUMMARY, CLOSING = 20, 30, 60, 40
"""Seconds of title, outline, summary and homework, out of the opening."""
LINES = 22
"""Lines of code or output that a slide holds."""
FEW, ROWS = 5, 14
"""Lines of it in large letters, and in those of medium size."""
LONG = 34
"""Words beside a picture from which on they are smaller."""
MANY = 4
"""Terms of a formula from which on they stand closer."""
BROAD = 111
"""Letters of a term's TeX from which on its words stand below it."""
CELLS = ("output", "code", "table")
"""Kinds of blocks that have no name of their own."""


@dataclass(frozen=True)
class Slide:
    """One slide; what its notes say, stands in the template."""

    kind: str
    """title, why, outline, before, question, formula, show, result,
    summary or homework."""
    title: str
    seconds: int
    text: str = ""
    """In Markdown."""
    part: Part | None = None
    """A figure beside it, or a part of one."""
    block: str = ""
    """Code, output, a table or a formula above it, in Markdown."""
    live: str = ""
    """The address of a figure that answers."""
    strokes: tuple[tuple[str, str], ...] = ()
    """A formula, term after term, with words and numbers."""
    topic: Topic | None = None
    first: bool = False
    """Whether it is the first that shows something."""

    @property
    def layout(self) -> str:
        """How picture and words stand on it: classes of its body."""
        names = [self.kind]
        if self.part:
            names += [self.part.layout]
        if len(bare(self.text).split()) > LONG or len(self.strokes) > MANY:
            names += ["long"]
        if any(len(term) > BROAD for term, _ in self.strokes):
            names += ["broad"]
        return " ".join(names)


@dataclass
class Deck:
    """The slides of a unit at one length."""

    plan: Plan
    unit: Unit
    length: int
    figures: dict[str, Figure]
    """Of all chapters, by their names."""
    book: str = ""
    """Address of the built book, if it lies beside."""

    def slides(self) -> list[Slide]:
        """All of them, in order; their seconds are the unit's minutes."""
        unit = self.unit
        title = f"Unit {unit.unit} · {unit.title}"
        left = unit.opening * 60 - TITLE - OUTLINE - SUMMARY - CLOSING
        opening, *_ = self.exhibit(
            Slide("why", "Why?", left, self.text(unit.opens.says)),
            unit.opens.shows,
        )
        opening = replace(opening, title="Why?", seconds=left)
        return [
            Slide("title", title, TITLE, self.text(unit.aim)),
            opening,
            Slide("outline", "What is to come", OUTLINE, self.outline()),
            *(s for topic in self.topics() for s in self.topic(topic)),
            self.summary(),
            Slide("homework", "Afterwards", CLOSING),
        ]

    def topics(self, anchor: str = "") -> list[Topic]:
        """The topics, or those of a section."""
        topics = self.unit.topics(self.length)
        return [one for one in topics if anchor in ("", one.section)]

    def outline(self) -> str:
        """The titles of the sections, each once."""
        titles = dict.fromkeys(map(self.title, self.topics()))
        return "\n".join(f"1. {title}" for title in titles)

    def summary(self) -> Slide:
        """What to keep, below the unit's longest formula."""
        keeps = "\n".join(f"- {self.text(one)}" for one in self.unit.keeps)
        formula = max(self.formulas(), key=len, default="")
        return Slide("summary", "To keep", SUMMARY, keeps, block=formula)

    def formulas(self) -> list[str]:
        """The unit's formulas, as they end up."""
        found = [t.formula[-1][0] for t in self.unit.core if t.formula]
        return [f"$\\displaystyle {one}$" for one in found]

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
        """A section's question, formula, pictures and answer."""
        title, left = self.title(topic), topic.minutes * 60
        shown = len(self.still(topic) + self.alive(topic))
        shown += bool(topic.formula)
        asking = round(left * SHARES["question"] / (len(topic.before) + 1))
        showing = round(left * SHARES["show"] / shown)
        left -= asking * (len(topic.before) + 1) + showing * shown
        slide = Slide("before", title, asking, topic=topic)
        for name in topic.before:
            yield from self.exhibit(slide, name)
        slide = replace(slide, kind="question", text=self.question(topic))
        yield next(self.exhibit(slide, topic.given))
        after = list(self.shown(topic, title, showing))
        yield from (
            replace(one, first=number == 0) for number, one in enumerate(after)
        )
        yield self.result(topic, title, left)

    def shown(self, topic: Topic, title: str, each: int) -> Iterator[Slide]:
        """The formula, and what is shown after the question."""
        if topic.formula:
            strokes = tuple((one, words) for one, words in topic.formula)
            yield Slide("formula", title, each, strokes=strokes, topic=topic)
        for address in self.alive(topic):
            yield Slide("live", title, each, live=address, topic=topic)
        for name in self.still(topic):
            slide = Slide("show", title, each, topic=topic)
            yield from self.exhibit(slide, name)

    def still(self, topic: Topic) -> list[str]:
        """What is shown that does not answer."""
        return [name for name in topic.shows if not name.startswith(ANSWERS)]

    def alive(self, topic: Topic) -> list[str]:
        """Addresses of what answers, on pages of the book."""
        there = sections_of(chapter_files()[self.unit.chapter]).values()
        alive = [b for one in there for b in one.blocks if b.kind == "live"]
        page = f"{self.unit.notebook}.html?only="
        places = {one.text: page + one.answer for one in reversed(alive)}
        for name, place in projected().items():
            places[name] = f"projector.html?show={place}"
        return [
            f"{self.book}/{places[name]}"
            for name in topic.shows
            if self.book and name.startswith(ANSWERS)
        ]

    def result(self, topic: Topic, title: str, seconds: int) -> Slide:
        """The answer, beside what shows it."""
        answer = self.answer(topic)
        slide = Slide("result", title, seconds, answer, topic=topic)
        name = topic.beside or (self.still(topic) or [""])[-1]
        if name:
            *_, last = self.exhibit(slide, name)
            return replace(last, seconds=seconds, title=title)
        formula = f"$\\displaystyle {topic.formula[-1][0]}$"
        return replace(slide, block=formula)

    def question(self, topic: Topic) -> str:
        """The question that a topic asks.

        Raises:
            BadPlan: neither the plan nor the section has one.
        """
        return self.text(topic.asks) or portable(self.guess(topic).text)

    def answer(self, topic: Topic) -> str:
        """The answer that was written for it, and what else is said."""
        answer = self.text(topic.answer) or portable(self.guess(topic).answer)
        return f"{answer}\n\n{self.text(topic.says)}".strip()

    def basis(self, topic: Topic) -> Iterator[Slide]:
        """What is shown before the question, and stands beside it."""
        slide = Slide("before", self.title(topic), 0, topic=topic)
        for name in filter(None, [*topic.before, topic.given]):
            yield from self.exhibit(slide, name)

    def guess(self, topic: Topic) -> Block:
        """The first guess of its section."""
        for block in self.section(topic).blocks:
            if block.kind == "guess":
                return block
        raise BadPlan(
            f"{self.unit.notebook}#{topic.section} has no guess: put one into "
            "the chapter, or give the unit's topic `asks:` and `answer:`, a "
            "question of its own"
        )

    # --- what is shown -------------------------------------------------------

    def exhibit(self, slide: Slide, name: str) -> Iterator[Slide]:
        """A slide with what the plan names, or one for each of its parts.

        A figure that stands alone has its caption.
        """
        if name not in {**self.figures, **self.plan.drawings}:
            block = self.block(slide.topic, name) if name else ""
            yield replace(slide, block=block)
            return
        parts = self.parts(name)
        for number, part in enumerate(parts, 1):
            own = slide.seconds // len(parts)
            own += slide.seconds % len(parts) if number == 1 else 0
            where = f" ({number}/{len(parts)})" if len(parts) > 1 else ""
            text = slide.text or part.caption
            if slide.kind in ("why", "result"):  # it stands as a whole
                part = replace(part, steps=())
            yield replace(
                slide,
                title=slide.title + where,
                seconds=own,
                text=text,
                part=part,
            )

    def block(self, topic: Topic | None, name: str) -> str:
        """A cell's code or output, a table, or the Markdown itself."""
        if "\n" in name or name[0] in "|$" or topic is None:
            return name
        found = find_cell(
            self.section(topic).blocks,
            name,
            f"{self.unit.notebook}#{topic.section}",
        )
        return (portable if found.kind == "table" else printed)(found.text)


# --- what a section gives ----------------------------------------------------


def find_cell(blocks: list[Block], name: str, where: str) -> Block:
    """The first output, code or table that has these words.

    Raises:
        BadPlan: there is none that a slide can hold.
    """
    kinds, words = ((name,), "") if name in CELLS else (CELLS, bare(name))
    for kind in kinds:
        for block in blocks:
            fits = len(block.text.strip().splitlines()) <= LINES
            if block.kind == kind and words in block.bare and fits:
                return block
    raise BadPlan(
        f"{where} has nothing {name!r} for a slide: name a figure, words of "
        f"an output or of code, or one of {', '.join(CELLS)} (of at most "
        f"{LINES} lines)"
    )


def printed(text: str) -> str:
    """Code or output, in letters as large as there is room for."""
    lines = text.strip("\n").splitlines()
    block = "\n".join(["~~~~text", *lines, "~~~~"])
    size = "large" if len(lines) <= FEW else "small"
    sized = f'<div class="{size}">\n\n{block}\n\n</div>'
    return block if FEW < len(lines) <= ROWS else sized
