"""The plan: units, lectures, and what may not be left out.

It stands in ``book/en/units.yml``. A section is named by its address on
the built page: ``#clocks`` within a unit's own chapter, ``03#clocks`` in any.
Texts are Markdown; a link in them may name its section in that way, and has
the section's title where it has no words.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from course_exercises.contents import by_chapter
from course_exercises.engine.exercise import Exercise
from tools.lectures.headings import BOOK, Heading, chapter_files, headings
from transformer_course.errors import CourseError

LENGTHS = (45, 90)
LINK = re.compile(r"\[([^\]]*)\]\((\d\d)?#([\w-]*)\)")
"""A link to a section, or, without its name, to a chapter."""


class BadPlan(CourseError):
    """The plan says what cannot be."""


@dataclass(frozen=True)
class Topic:
    """A section that is shown in class, or one round of it."""

    section: str
    minutes: int
    question: str = ""
    """How the question in the chapter begins; else its first guess."""
    asks: str = ""
    """A question that the chapter does not put."""
    show: str = ""
    """A figure's name, or output, math, table, code; else what follows."""
    result: str = ""
    """How the result begins; else what follows the figure."""
    says: str = ""
    """A result that the chapter does not say in a sentence."""
    board: str = ""
    """What to write or draw."""
    numbers: int = 0
    """How many of the section's outputs stand beside that."""
    before: list[str] = field(default_factory=list)
    """Figures from elsewhere that are shown before the question."""
    also: list[str] = field(default_factory=list)
    """Figures from elsewhere that are shown before the result."""


@dataclass(frozen=True)
class Live:
    """A cell to be run in front of the class, named by one of its lines."""

    section: str
    line: str
    say: str = ""


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
    core: list[Topic]
    more: list[Topic]
    read: str
    ask: str
    live: Live
    after: list[Task]
    handout: str
    """The figure on the page to hand out."""
    ask_more: str = ""
    live_more: Live | None = None
    formula: str = ""
    """The section whose last formula is on the handout; else the first."""

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

    def exercises(self) -> list[Exercise]:
        """Exercises of the chapter's assignment."""
        return by_chapter().get(self.notebook, [])


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

    def path(self, chapter: str) -> Path:
        """A chapter's notebook."""
        return chapter_files()[chapter]

    def heading(self, name: str) -> Heading:
        """The section ``03#clocks``.

        Raises:
            BadPlan: there is none.
        """
        chapter, _, section = name.partition("#")
        files = chapter_files()
        there = headings(files[chapter]) if chapter in files else {}
        if section not in there:
            raise BadPlan(
                f"units.yml names the section {name}, which is not there; "
                f"chapter {chapter} has: {', '.join(there) or 'no page'}"
            )
        return there[section]

    def covers(self, sections: list[str], name: str) -> bool:
        """Whether a section is among these, or a part of one of them."""
        parent = f"{name[:2]}#{self.heading(name).parent}"
        return name in sections or parent in sections

    def before(self, unit: Unit) -> list[Unit]:
        """Earlier units on the same chapter."""
        names = list(self.units)
        earlier = names[: names.index(unit.unit)]
        same = (self.units[name] for name in earlier)
        return [one for one in same if one.chapter == unit.chapter]

    def exercises_of(self, unit: Unit) -> list[Exercise]:
        """Exercises of the chapter that no earlier unit on it has set."""
        known = [s for one in self.before(unit) for s in one.known(90)]
        return [
            exercise
            for exercise in unit.exercises()
            if not self.covers(known, self.rests_on(unit, exercise))
        ]

    def doable(
        self, unit: Unit, exercises: list[Exercise], length: int
    ) -> list[Exercise]:
        """Exercises that rest on what was read or shown."""
        known = unit.known(length)
        return [
            e for e in exercises if self.covers(known, self.rests_on(unit, e))
        ]

    def rests_on(self, unit: Unit, exercise: Exercise) -> str:
        """The section of a unit's exercise, as ``03#clocks``."""
        return f"{unit.chapter}#{exercise.section.partition('#')[2]}"


def linked(text: str, chapter: str) -> list[str]:
    """The sections that a text links, as ``03#clocks``."""
    found = LINK.findall(text)
    return [f"{to or chapter}#{name}" for _, to, name in found if name]


@cache
def read_plan() -> Plan:
    """The plan.

    Raises:
        BadPlan: an entry lacks something, or has what no entry has.
    """
    path = BOOK / "units.yml"
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    units = [_unit(entry) for entry in data["units"]]
    return Plan(
        {unit.unit: unit for unit in units},
        {
            number: [_made(Lecture, entry) for entry in entries]
            for number, entries in data["lectures"].items()
        },
        [_made(Chapter, entry) for entry in data["chapters"]],
        data["builds"],
    )


def _unit(entry: dict[str, Any]) -> Unit:
    parts = dict(entry)
    for key in ("core", "more"):
        parts[key] = [_made(Topic, one) for one in parts.get(key, [])]
    for key in ("live", "live_more"):
        if key in parts:
            parts[key] = _made(Live, parts[key])
    parts["after"] = [_made(Task, one) for one in parts.get("after", [])]
    return _made(Unit, parts)


def _made(kind: type, entry: dict[str, Any]) -> Any:
    """One entry; YAML's values must fit the fields' names."""
    try:
        return kind(**entry)
    except TypeError as error:
        raise BadPlan(f"units.yml: {error}: {entry}") from None
