"""The plan: units, lectures, and what may not be left out.

It stands in ``book/en/units.yml``. A section is named by its address on
the built page: ``#clocks`` within a unit's own chapter, ``03#clocks`` in any.
Texts are Markdown; a link in them may name its section in that way, and has
the section's title where it has no words.
"""

import re
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from course_exercises.contents import by_chapter
from course_exercises.engine.exercise import Exercise
from tools.lectures.chapter import BOOK, BadPlan, chapter_files, section

LENGTHS = (45, 90)
LINK = re.compile(r"\[([^\]]*)\]\((\d\d)?#([\w-]*)\)")
"""A link to a section, or, without its name, to a chapter."""


@dataclass(frozen=True)
class Topic:
    """A section that is shown in class, or one round of it."""

    section: str
    minutes: int
    asks: str = ""
    """A question in place of the section's first guess."""
    answer: str = ""
    """The answer to it; a guess has its own."""
    says: str = ""
    """What else is said then."""
    given: str = ""
    """What the question rests on: a figure's name, or Markdown."""
    before: list[str] = field(default_factory=list)
    """What is shown before the question."""
    formula: list[list[str]] = field(default_factory=list)
    """How it grows, term after term, each time with words and numbers."""
    shows: list[str] = field(default_factory=list)
    """What is shown after the question: figures by their names, cells by words
    of theirs, or table, code, output where the section has one."""
    beside: str = ""
    """Which of these the answer speaks of, or which part of a figure; else the
    last."""
    board: str = ""
    """What to write or draw."""
    numbers: int = 0
    """How many of the section's outputs stand beside that."""

    def __post_init__(self) -> None:
        """Refuse a question without its answer.

        Raises:
            BadPlan: one of the two is missing.
        """
        if bool(self.asks) != bool(self.answer):
            raise BadPlan(
                f"units.yml: the topic {self.section} has "
                f"{'asks' if self.asks else 'answer'} alone; a question of "
                "the plan's own has both `asks:` and `answer:`"
            )


@dataclass(frozen=True)
class Opening:
    """What a deck begins with: why anybody should want to know."""

    shows: str
    """A figure's name, or Markdown."""
    says: str


@dataclass(frozen=True)
class Live:
    """A cell to be run in front of the class, named by one of its lines."""

    section: str
    line: str
    say: str = ""
    length: int = 45
    """Of the unit from which on it is run."""


@dataclass(frozen=True)
class Task:
    """Homework, and the sections that it rests on."""

    do: str
    rests: list[str]
    length: int = 45
    """Of the unit from which on it is set."""


@dataclass(frozen=True)
class Unit:
    """A unit of 45 minutes, or 90."""

    unit: str
    title: str
    chapter: str
    """Its number."""
    opening: int
    """Minutes for what was read at home."""
    aim: str
    """What one can do afterwards."""
    opens: Opening
    keeps: list[str]
    """The summary."""
    core: list[Topic]
    more: list[Topic]
    read: str
    ask: str
    live: list[Live]
    after: list[Task]
    handout: str
    """The figure on the page to hand out."""
    ask_more: str = ""
    formula: str = ""
    """The section whose formula stands above the summary."""

    def check_minutes(self) -> None:
        """Refuse a unit that is too long or too short.

        Raises:
            BadPlan: one of its parts is not 45 minutes long.
        """
        for part, first in (("core", self.opening), ("more", 0)):
            minutes = first + sum(one.minutes for one in getattr(self, part))
            if minutes != LENGTHS[0]:
                raise BadPlan(
                    f"units.yml: unit {self.unit}, {part}: its topics, and "
                    f"the opening of a core, take {minutes} minutes; expected "
                    f"{LENGTHS[0]}"
                )

    def topics(self, length: int) -> list[Topic]:
        """Topics shown in class."""
        return self.core + (self.more if length == 90 else [])

    def sections(self, length: int) -> list[str]:
        """Sections of these topics, each once."""
        names = (f"{self.chapter}#{t.section}" for t in self.topics(length))
        return list(dict.fromkeys(names))

    def tasks(self, length: int) -> list[Task]:
        """The homework."""
        return [task for task in self.after if task.length <= length]

    @property
    def notebook(self) -> str:
        """The chapter's name, such as ``04_attention``."""
        return chapter_files()[self.chapter].stem

    def known(self, length: int) -> list[str]:
        """The sections that a student has met: shown in class, or read."""
        return self.sections(length) + linked(self.read, self.chapter)

    def covers(self, exercise: Exercise, length: int) -> bool:
        """Whether an exercise rests on what was read or shown."""
        return is_covered(self.rests_on(exercise), self.known(length))

    def rests_on(self, exercise: Exercise) -> str:
        """The section of one of its exercises, as ``03#clocks``."""
        return f"{self.chapter}#{exercise.section.partition('#')[2]}"


@dataclass(frozen=True)
class Lecture:
    """Ninety minutes: units with their lengths, and what to read besides."""

    units: dict[str, int]
    read: str = ""


@dataclass(frozen=True)
class Chapter:
    """Prerequisites of a chapter, and its indispensable sections."""

    chapter: str
    title: str
    rests: str
    leave: str
    must: list[str]


@dataclass(frozen=True)
class Drawing:
    """The picture of the whole Transformer, or a piece of it."""

    caption: str
    view: list[float]
    """Left, top, right and bottom of what is seen, in per cent."""
    alt: str = ""
    """What is to be seen; without it, what the picture says of itself."""
    blank: list[list[float]] = field(default_factory=list)
    """Rectangles of the piece that are left out."""


@dataclass(frozen=True)
class Plan:
    """All that the file says."""

    units: dict[str, Unit]
    lectures: dict[int, list[Lecture]] = field(default_factory=dict)
    """By how many there are."""
    chapters: list[Chapter] = field(default_factory=list)
    builds: dict[str, list[list[float]]] = field(default_factory=dict)
    """Of pictures that appear step by step, by their files' names: at each
    click one more rectangle, or more than one, as left, top, right and bottom
    in per cent."""
    cuts: dict[str, list[float]] = field(default_factory=dict)
    """The edges of the parts that tall figures are shown in, in per cent of
    their height and in the order in which the parts are shown."""
    captions: dict[str, str] = field(default_factory=dict)
    """Of such parts, by the names of their files."""
    frames: dict[str, list[float]] = field(default_factory=dict)
    """Where, in per cent of their height, the head of such a figure ends and
    its foot begins: rows that each part shows, such as an axis."""
    drawings: dict[str, Drawing] = field(default_factory=dict)
    """The picture of the whole Transformer, and pieces of it."""

    def of(self, names: list[str]) -> "Plan":
        """The plan of these units alone; of none, all.

        Raises:
            BadPlan: there is no such unit.
        """
        if unknown := set(names) - set(self.units):
            raise BadPlan(
                f"there is no unit {min(unknown)!r}; the units are "
                f"{', '.join(self.units)}"
            )
        return replace(
            self, units={n: self.units[n] for n in names or self.units}
        )

    def before(self, unit: Unit) -> list[Unit]:
        """Earlier units on the same chapter."""
        same = self._same(unit)
        return same[: same.index(unit)]

    def exercises_of(self, unit: Unit) -> list[Exercise]:
        """Exercises of the chapter that no other unit on it sets.

        The first unit that covers an exercise sets it; where none does, the
        last one.
        """
        same = self._same(unit)
        return [
            exercise
            for exercise in by_chapter().get(unit.notebook, [])
            if unit
            is next((u for u in same if u.covers(exercise, 90)), same[-1])
        ]

    def _same(self, unit: Unit) -> list[Unit]:
        """The units on a unit's chapter, in order."""
        return [u for u in self.units.values() if u.chapter == unit.chapter]


def linked(text: str, chapter: str) -> list[str]:
    """The sections that a text links, as ``03#clocks``."""
    found = LINK.findall(text)
    return [f"{to or chapter}#{name}" for _, to, name in found if name]


def is_covered(name: str, sections: list[str]) -> bool:
    """Whether a section is among these, or a part of one of them."""
    parent = f"{name[:2]}#{section(name).parent}"
    return name in sections or parent in sections


@cache
def read_plan() -> Plan:
    """The plan.

    Raises:
        BadPlan: an entry lacks something, or has what no entry has, or a unit
            has another length.
    """
    text = (BOOK / "units.yml").read_text(encoding="utf-8")
    data = yaml.load(text, Loader=yaml.CSafeLoader)  # the fast one
    data["units"] = {unit["unit"]: unit for unit in data["units"]}
    plan = made(Plan, data)
    for unit in plan.units.values():
        unit.check_minutes()
    return plan


def made(kind: Any, value: Any) -> Any:
    """A value of YAML as its type says, entries within entries."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        fields = {k: made(hints.get(k), each) for k, each in value.items()}
        try:
            return kind(**fields)
        except TypeError as error:
            raise BadPlan(f"units.yml: {error}: {value}") from None
    *_, inner = get_args(kind) or [None]
    if get_origin(kind) is list:
        return [made(inner, each) for each in value]
    if get_origin(kind) is dict:
        return {name: made(inner, each) for name, each in value.items()}
    return value
