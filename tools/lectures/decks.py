"""A deck for each unit: question, formula, pictures and answer."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tools.edition import EDITION, say
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
ROOM = 1140, 420
"""Pixels that code or output has on a slide, across and down."""
CELL = 20, 34
"""Pixels of its letters, from and to."""
LETTER, LINE = 0.6, 1.35
"""Width of a letter, and height of a line, beside the height of a letter."""
LONG = 34
"""Words from which on they are smaller."""
DENSE = 70
"""Words of a table from which on they are smaller."""
BRIEF = 30
"""Words of a caption on a slide."""
BROAD = 32
"""Signs of a term from which on its words stand below it."""
SENTENCE = r"(?<=[.?!])\s+(?=[A-Z“*$])|(?<=。)(?=[^」）,])"
GROUPS = str.maketrans("", "", "{}^_&")
"""What TeX does not draw."""
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
    more: str = ""
    """The rest of a caption, for the notes."""
    choices: tuple[str, ...] = ()
    """Of a question."""
    answer: str = ""
    """To the question, in the place of the text: at once on a slide of its
    own, else at the last click."""
    name: str = ""
    """The plan's name of what it shows."""
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
        longest = max((self.text, self.answer), key=len)
        if length(longest) > LONG:
            names += ["long"]
        if "|--" in self.block and len(self.block.split()) > DENSE:
            names += ["dense"]
        if any(signs(term) > BROAD for term, _ in self.strokes):
            names += ["broad"]
        return " ".join(names)

    @property
    def steps(self) -> int:
        """Clicks until its picture is whole."""
        return len(self.part.steps) if self.part else 0


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
        title = say("Unit {} · {}").format(unit.unit, unit.title)
        left = unit.opening * 60 - TITLE - OUTLINE - SUMMARY - CLOSING
        opening, *_ = self.exhibit(
            Slide("why", say("Why?"), left, self.text(unit.opens.says)),
            unit.opens.shows,
        )
        opening = replace(opening, title=say("Why?"), seconds=left)
        return [
            Slide("title", title, TITLE, self.text(unit.aim)),
            opening,
            Slide("outline", say("What is to come"), OUTLINE, self.outline()),
            *(s for topic in self.topics() for s in self.topic(topic)),
            self.summary(),
            Slide("homework", say("Afterwards"), CLOSING),
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
        """What to keep, below the formula that the plan names.

        Raises:
            BadPlan: there is no such formula.
        """
        keeps = "\n".join(f"- {self.text(one)}" for one in self.unit.keeps)
        named = self.formulas(self.unit.formula) if self.unit.formula else [""]
        if not named:
            raise BadPlan(
                f"unit {self.unit.unit} has formula: {self.unit.formula}, a "
                "section without one in its core"
            )
        title = say("To keep")
        return Slide("summary", title, SUMMARY, keeps, block=named[0])

    def formulas(self, anchor: str = "") -> list[str]:
        """The unit's formulas, or those of a section, as they end up."""
        found = [
            topic.formula[-1][0]
            for topic in self.unit.core
            if topic.formula and anchor in ("", topic.section)
        ]
        return [f"$\\displaystyle {one}$" for one in dict.fromkeys(found)]

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
        """A section's question, formula, pictures and answer.

        Raises:
            BadPlan: nothing stands beside the answer.
        """
        title, left = self.title(topic), topic.minutes * 60
        if not (self.still(topic) or topic.formula):
            raise BadPlan(
                f"{self.unit.notebook}#{topic.section} has nothing to stand "
                "beside its answer: give the topic a figure, a cell or a "
                "formula"
            )
        shown = len(self.still(topic) + self.alive(topic))
        shown += bool(topic.formula)
        asking = round(left * SHARES["question"] / (len(topic.before) + 1))
        showing = round(left * SHARES["show"] / shown)
        left -= asking * (len(topic.before) + 1) + showing * shown
        slide = Slide("before", title, asking, topic=topic)
        for name in topic.before:
            yield from self.exhibit(slide, name)
        asked = replace(
            slide,
            kind="question",
            text=self.question(topic),
            choices=self.choices(topic),
        )
        yield next(self.exhibit(asked, topic.given))
        first, *others = self.shown(topic, title, showing)
        shown = [replace(first, first=True), *others]
        yield from self.answered(topic, shown, left)

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

    def answered(
        self, topic: Topic, shown: list[Slide], seconds: int
    ) -> list[Slide]:
        """What is shown, with the answer beside what it speaks of.

        That is the last slide; or, on a slide of its own, what was shown
        before, or stands beside the answer only.
        """
        answer = self.answer(topic)
        still = [one for one in shown if one.part or one.block]
        if topic.beside:
            slide = Slide("result", self.title(topic), 0, topic=topic)
            named = [one for one in still if topic.beside in names_of(one)]
            still = named or [*self.exhibit(slide, topic.beside)]
        if still and still[-1] == shown[-1]:
            left = shown[-1].seconds + seconds
            return [
                *shown[:-1],
                replace(shown[-1], answer=answer, seconds=left),
            ]
        if still:
            part = still[-1].part and replace(still[-1].part, steps=())
            result = replace(still[-1], part=part, first=False)
        else:
            formula = f"$\\displaystyle {topic.formula[-1][0]}$"
            result = replace(shown[-1], strokes=(), first=False, block=formula)
        return [
            *shown,
            replace(
                result,
                kind="result",
                live="",
                text="",
                more="",
                answer=answer,
                seconds=seconds,
            ),
        ]

    def still(self, topic: Topic) -> list[str]:
        """What is shown that does not answer."""
        return [name for name in topic.shows if not name.startswith(ANSWERS)]

    def alive(self, topic: Topic) -> list[str]:
        """Addresses of what answers, on pages of the book."""
        there = sections_of(chapter_files()[self.unit.chapter]).values()
        alive = [b for one in there for b in one.blocks if b.kind == "live"]
        page = f"{self.unit.notebook}.html?deck&only="
        places = {one.text: page + one.answer for one in reversed(alive)}
        for name, place in projected().items():
            places[name] = f"projector.html?deck&show={place}"
        return [
            f"{self.book}/{places[name]}"
            for name in topic.shows
            if self.book and name.startswith(ANSWERS)
        ]

    def question(self, topic: Topic) -> str:
        """The question that a topic asks.

        Raises:
            BadPlan: neither the plan nor the section has one.
        """
        return self.text(topic.asks) or portable(self.guess(topic).text)

    def choices(self, topic: Topic) -> tuple[str, ...]:
        """What is offered with it."""
        offered = () if topic.asks else self.guess(topic).choices
        return tuple(map(portable, offered))

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
            yield replace(slide, block=block, name=name)
            return
        parts = self.parts(name)
        for number, part in enumerate(parts, 1):
            own = slide.seconds // len(parts)
            own += slide.seconds % len(parts) if number == 1 else 0
            where = f" ({number}/{len(parts)})" if len(parts) > 1 else ""
            text, more = (
                (slide.text, "") if slide.text else brief(part.caption)
            )
            if slide.kind == "why":  # it stands as a whole
                part = replace(part, steps=())
            yield replace(
                slide,
                title=slide.title + where,
                seconds=own,
                text=text,
                more=more,
                part=part,
                name=name,
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
        if found.kind == "table":
            return portable(found.text)
        return printed(found.text, found.kind)


# --- what a section gives ----------------------------------------------------


def find_cell(blocks: list[Block], name: str, where: str) -> Block:
    """The first output, code or table that has these words.

    Raises:
        BadPlan: there is none that a slide can hold, or the section has more
            than one of the kind.
    """
    kinds, words = ((name,), "") if name in CELLS else (CELLS, bare(name))
    if (many := [one.kind for one in blocks].count(name)) > 1:
        raise BadPlan(
            f"{where} has {many} of {name!r}: name one by words of its own"
        )
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


def printed(text: str, kind: str) -> str:
    """Code or output, in letters as large as there is room for."""
    lines = text.strip("\n").splitlines()
    wide, high = ROOM
    least, most = CELL
    fitting = min(
        wide / LETTER / max(map(len, lines)), high / LINE / len(lines)
    )
    size = int(max(least, min(fitting, most)))
    language = "python" if kind == "code" else "text"
    block = "\n".join([f"~~~~{language}", *lines, "~~~~"])
    return (
        f'<div class="cell" style="font-size: {size}px">\n\n{block}\n\n</div>'
    )


def names_of(slide: Slide) -> set[str]:
    """What the plan may call the thing that a slide shows."""
    return {slide.name, slide.part.stem} if slide.part else {slide.name}


def brief(caption: str) -> tuple[str, str]:
    """As many sentences of a caption as a slide has room for, and the rest."""
    first, *others = re.split(SENTENCE, caption.strip())
    while others and length(f"{first} {others[0]}") <= BRIEF:
        first += say(" ") + others.pop(0)
    return first, say(" ").join(others)


def length(text: str) -> int:
    """Words of a text; of Japanese, three letters are about one."""
    words = bare(text)
    if EDITION == "ja":
        words = re.sub("[　-ヿ一-鿿]{1,3}", "x ", words)
    return len(words.split())


def signs(tex: str) -> int:
    """About how many signs a formula has across."""
    tex = re.sub(r"\\t?frac\{(.*?)\}\{(.*?)\}", r"\1", tex)
    tex = re.sub(r"\\q?quad", "xxx", tex)
    tex = re.sub(r"\\(?:left|right|[bB]ig+[lr]?|,|;|!| )", "", tex)
    tex = re.sub(r"\\(?:operatorname|mathsf|mathrm|text)\b", "", tex)
    return len(
        re.sub(r"\\\w+|\S", "x", tex.translate(GROUPS)).replace(" ", "")
    )
