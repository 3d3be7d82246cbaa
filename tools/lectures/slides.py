"""A deck for each unit: question, figure and result, a slide each.

The markup is that of reveal.js: a ``section`` for each slide, its notes in an
``aside``, its seconds in ``data-timing``. Without a script it is a plain page,
slide below slide.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from unicodedata import east_asian_width

from bs4 import Tag

from tools.lectures.page import (
    assignment,
    expand,
    homework,
    seconds,
    where_questions_are,
)
from tools.lectures.plan import Live, Plan, Topic, Unit, linked
from tools.lectures.rounds import BuiltChapter, Round
from tools.lectures.texts import to_html

SHARES = {"question": 0.4, "show": 0.35}
"""Shares of a topic's minutes; the result has the rest. Figures before the
question share in its minutes, and all that is shown in those of showing."""
CLOSING = 60
"""Seconds for the homework, out of those of the opening."""
GUESS = "First alone, then with a neighbour, then hands. Show nothing of "
GUESS += "what follows."
SURPRISE = "Who is surprised, and by what? Let somebody say in a sentence "
SURPRISE += "what is to be seen."
ANSWERS = ".lv, .time-machine, .head-viewer"
"""Figures of the page that a slide cannot hold."""
ROWS, COLUMNS = 14, 72
"""Largest code or output in large letters."""


@dataclass(frozen=True)
class Slide:
    """One slide."""

    kind: str
    """title, before, question, show, result or homework."""
    title: str
    body: str
    seconds: int
    notes: list[str] = field(default_factory=list)


@dataclass
class Deck:
    """The slides of a unit at one length."""

    plan: Plan
    unit: Unit
    length: int
    page: BuiltChapter

    def slides(self) -> list[Slide]:
        """All of them, in order; their seconds are the unit's minutes."""
        topics = zip(self.unit.topics(self.length), self.rounds, strict=True)
        shown = [slide for each in topics for slide in self.topic(*each)]
        return [self.opening(), *shown, self.closing()]

    def opening(self) -> Slide:
        """The unit's name, and what was to be read."""
        read = self.html(self.unit.read)
        return Slide(
            "title",
            f"Unit {self.unit.unit} · {self.unit.title}",
            f"<p>Read before: {read}</p>",
            self.unit.opening * 60 - CLOSING,
            [f"Questions on what was read: {read}"],
        )

    def closing(self) -> Slide:
        """The slide with the homework."""
        tasks = "".join(
            f"<li>{self.html(task.do)}</li>"
            for task in self.unit.tasks(self.length)
        )
        return Slide(
            "homework",
            "Afterwards",
            f"<ul>{tasks}</ul>"
            f"<p>{where_questions_are(self.unit, self.length)}</p>"
            "<p>Assignment: "
            f"{self.html(assignment(self.unit, self.plan, self.length))}</p>",
            CLOSING,
            [self.html(homework(self.unit, self.plan))],
        )

    @cached_property
    def rounds(self) -> list[Round]:
        """What each topic asks, shows and says."""
        return [*map(self.page.round, self.unit.topics(self.length))]

    def topic(self, topic: Topic, found: Round) -> Iterator[Slide]:
        """A section's question, figures and result."""
        before, exhibits = self.figures(topic, found)
        left = topic.minutes * 60
        asking = round(left * SHARES["question"] / (len(before) + 1))
        showing = round(left * SHARES["show"] / len(exhibits))
        left -= asking * (len(before) + 1) + showing * len(exhibits)
        title = found.title
        for tag in before:
            yield Slide("before", title, shown(tag), asking, seen(tag))
        question = f'<div class="question">{found.question}</div>'
        notes = self.asking(topic, found)
        yield Slide("question", title, question, asking, notes)
        notes = self.showing(topic)
        for tag in exhibits:
            notes += seen(tag)
            yield Slide("show", title, shown(tag), showing, notes)
            notes = []
        result = f'<p class="result">{found.result}</p>'
        yield Slide("result", title, result, left, [self.concluding(found)])

    def figures(
        self, topic: Topic, found: Round
    ) -> tuple[list[Tag], list[Tag]]:
        """What is shown before the question, and what after it.

        All figures of a section are shown: in its first round those that no
        other one shows.
        """
        before = [*map(self.page.figure, topic.before)]
        also = [*map(self.page.figure, topic.also)]
        if self.same(topic)[0] != topic:
            return before, [found.show, *also]
        others = {name_of(one.show) for one in self.rounds if one != found}
        above, exhibits = (
            [tag for tag in tags if name_of(tag) not in others - {""}]
            for tags in (found.above, found.exhibits)
        )
        return before + above, exhibits + also

    def asking(self, topic: Topic, found: Round) -> list[str]:
        """Notes on a question: how to ask it, and its answer."""
        notes = [GUESS]
        name = f"{self.unit.chapter}#{topic.section}"
        for ask in (self.unit.ask, self.unit.ask_more):
            meant = name in linked(ask, self.unit.chapter)
            if meant and self.same(topic)[-1] == topic:
                notes.append(f"Ask the room: {self.html(ask)}")
        notes.append(f"Answer: {found.whole}")
        if topic.board:
            notes.append(f"Board plan: {to_html(topic.board)}")
        return notes

    def showing(self, topic: Topic) -> list[str]:
        """Notes on an exhibit: what to run or to project."""
        notes = [SURPRISE]
        for live in (self.unit.live, self.unit.live_more):
            meant = live and live.section == topic.section
            if meant and self.same(topic)[-1] == topic:
                notes.insert(0, self.running(live))
        if self.page.section(topic.section).select_one(ANSWERS):
            page = f"{self.page.name}.html#{topic.section}"
            notes.append(f"On the page a figure here answers: {page}")
        return notes

    def concluding(self, found: Round) -> str:
        """The result in full, where the slide has its beginning only."""
        if found.result == found.whole:
            return "Read it together. Who guessed otherwise, and why?"
        return f"In full: {found.whole}"

    def running(self, live: Live) -> str:
        """The cell to run, and the seconds it takes."""
        own, above = seconds(self.unit, live, self.plan)
        return to_html(
            f"Run the cell `{live.line}`: {own} s, after {above} s above. "
            f"{live.say}".strip()
        )

    def same(self, topic: Topic) -> list[Topic]:
        """The rounds of a topic's section."""
        rounds = self.unit.topics(self.length)
        return [one for one in rounds if one.section == topic.section]

    def html(self, text: str) -> str:
        """A text of the plan."""
        return to_html(expand(text, self.plan, self.unit.chapter))


def name_of(tag: Tag) -> str:
    """The name of a figure; of anything else, nothing."""
    return tag.img["data-figure"] if tag.name == "figure" else ""


def seen(tag: Tag) -> list[str]:
    """A note on what is to be seen in a figure."""
    alt = tag.img["alt"] if tag.name == "figure" else ""
    return [f"What is to be seen: {alt}"] if alt else []


def shown(tag: Tag) -> str:
    """HTML of a slide's exhibit, with a class for small letters."""
    if tag.name != "pre":
        return str(tag)
    lines = tag.get_text().strip("\n").splitlines()
    large = len(lines) <= ROWS and max(map(columns, lines)) <= COLUMNS
    small = "" if large else ' class="small"'
    return f"<pre{small}>{tag.decode_contents().strip()}</pre>"


def columns(line: str) -> int:
    """Columns of a line; a Japanese letter takes two."""
    return sum(1 + (east_asian_width(letter) in "WF") for letter in line)
