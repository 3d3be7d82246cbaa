"""A deck for each unit: question, figure and result, a slide each.

The markup is that of reveal.js: a ``section`` for each slide, its notes in an
``aside``, its seconds in ``data-timing``. Without a script it is a plain page,
slide below slide.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
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
"""Shares of a topic's minutes; the result has the rest."""
CLOSING = 60
"""Seconds for the homework, out of those of the opening."""
GUESS = "First alone, then with a neighbour, then hands. Show nothing of "
GUESS += "what follows."
SURPRISE = "Who is surprised, and by what? Let somebody say in a sentence "
SURPRISE += "what is to be seen."
ROWS, COLUMNS = 14, 72
"""Largest code or output in large letters."""


@dataclass(frozen=True)
class Slide:
    """One slide."""

    kind: str
    """title, question, show, result or homework."""
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
        topics = self.unit.topics(self.length)
        shown = [slide for topic in topics for slide in self.topic(topic)]
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

    def topic(self, topic: Topic) -> Iterator[Slide]:
        """A section's question, figure and result."""
        found = self.page.round(topic)
        spent = {
            part: round(topic.minutes * 60 * share)
            for part, share in SHARES.items()
        }
        left = topic.minutes * 60 - sum(spent.values())
        yield Slide(
            "question",
            found.title,
            f'<div class="question">{found.question}</div>',
            spent["question"],
            self.asking(topic, found),
        )
        yield Slide(
            "show",
            found.title,
            shown(found.show),
            spent["show"],
            self.showing(topic, found),
        )
        yield Slide(
            "result",
            found.title,
            f'<p class="result">{found.result}</p>',
            left,
            [self.concluding(found)],
        )

    def asking(self, topic: Topic, found: Round) -> list[str]:
        """Notes on a question: how to ask it, and its answer."""
        notes = [GUESS]
        name = f"{self.unit.chapter}#{topic.section}"
        for ask in (self.unit.ask, self.unit.ask_more):
            meant = name in linked(ask, self.unit.chapter)
            if meant and self.is_last(topic):
                notes.append(f"Ask the room: {self.html(ask)}")
        notes.append(f"Answer: {found.whole}")
        if topic.board:
            notes.append(f"Board plan: {to_html(topic.board)}")
        return notes

    def showing(self, topic: Topic, found: Round) -> list[str]:
        """Notes on an exhibit: what to run, and what is to be seen."""
        notes = [SURPRISE]
        for live in (self.unit.live, self.unit.live_more):
            meant = live and live.section == topic.section
            if meant and self.is_last(topic):
                notes.insert(0, self.running(live))
        if (image := found.show.find("img")) and image.get("alt"):
            notes.append(f"What is to be seen: {image['alt']}")
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

    def is_last(self, topic: Topic) -> bool:
        """Whether it is the section's last round, which has its demo."""
        rounds = self.unit.topics(self.length)
        same = [one for one in rounds if one.section == topic.section]
        return same[-1] == topic

    def html(self, text: str) -> str:
        """A text of the plan."""
        return to_html(expand(text, self.plan, self.unit.chapter))


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
