"""Exam questions as they stand in ``questions/``, a file for each chapter.

A question is a heading with a line below it, *level, points, minutes,
section*; what is asked; and parts with headings of their own::

    ## A title

    *apply, 3 points, 5 minutes, #three-tokens-by-hand*

    What is asked. Of a multiple choice, the choices, each with the mistake
    that leads to it:

    - [ ] a wrong one
      - why somebody chooses it
    - [x] the right one
      - why it is right

    ### Key

    **0.73** ± 0.01

    - 2: what two of the points are for
    - 1: and the third

    ### Often wrong

    - 1: **0.50** what gets one point, and why

    ### Numbers

A number in bold is one that Moodle marks by itself. The last part is Python
whose comparisons, ``0.73 == expression``, are what the key rests on.
"""

import random
import re
from dataclasses import dataclass
from pathlib import Path

from transformer_course.errors import CourseError

FOLDER = Path(__file__).with_name("questions")
LEVELS = ("recall", "apply", "judge")
ABOUT = re.compile(
    rf"\*({'|'.join(LEVELS)}), (\d+) points?, (\d+) minutes, (#[\w-]+)\*\s+"
)
LIST = r"^- {mark}(.*(?:\n(?:  .*|[ ]*$))*)"
"""An item of a list, with the lines that belong to it."""
CHOICE = re.compile(LIST.format(mark=r"\[([ x])\] "), re.M)
CREDIT = re.compile(LIST.format(mark=r"(\d+): (?:\*\*(-?[\d.]+)\*\* )?"), re.M)
ANSWER = re.compile(r"^\*\*(-?[\d.]+)\*\* ± ([\d.]+)$", re.M)
WHY = "\n  - "


class BadExam(CourseError):
    """A question lacks a part, or an exam cannot be made."""


@dataclass(frozen=True)
class Choice:
    """One of several answers, and what leads to it."""

    right: bool
    text: str
    why: str


@dataclass(frozen=True)
class Credit:
    """What some points are given for."""

    points: int
    number: str
    """What is answered, if that is a number; else empty."""
    text: str


@dataclass(frozen=True)
class Question:
    """A question of an exam, with its key."""

    chapter: str
    """Its number."""
    title: str
    level: str
    points: int
    minutes: int
    section: str
    """Where the chapter teaches it, as ``04#three-tokens-by-hand``."""
    ask: str
    choices: list[Choice]
    answer: str
    """The number that is asked for; else empty."""
    tolerance: str
    key: list[Credit]
    wrong: list[Credit]
    numbers: str
    """Python that computes what the key says."""


@dataclass(frozen=True)
class Paper:
    """Questions under one title."""

    title: str
    questions: list[Question]

    @property
    def points(self) -> int:
        """Of all questions."""
        return sum(one.points for one in self.questions)

    @property
    def minutes(self) -> int:
        """For all questions."""
        return sum(one.minutes for one in self.questions)


def chapters() -> dict[str, Path]:
    """The file of each chapter's questions, by its number."""
    return {path.name[:2]: path for path in sorted(FOLDER.glob("*.md"))}


def read(number: str) -> Paper:
    """The questions of a chapter, by its number.

    Raises:
        BadExam: there are none, or one of them lacks a part.
    """
    if number not in chapters():
        raise BadExam(
            f"there are no exam questions for chapter {number!r}; there are "
            f"for {', '.join(chapters())}"
        )
    text = chapters()[number].read_text("utf-8")
    title, *parts = re.split(r"^## ", text, flags=re.M)
    return Paper(
        title.removeprefix("# ").strip(),
        [parsed(number, one) for one in parts],
    )


def draw(papers: list[Paper], points: int, seed: int) -> Paper:
    """Draw questions of several chapters, from each about as many.

    Raises:
        BadExam: the chapters have fewer points than are wanted.
    """
    if points > (there := sum(one.points for one in papers)):
        raise BadExam(
            f"{points} points are wanted, and these chapters have {there}; "
            "ask for fewer, or name more chapters"
        )
    generator = random.Random(seed)
    turns = []
    for paper in generator.sample(papers, len(papers)):
        mixed = generator.sample(paper.questions, len(paper.questions))
        turns += [(turn, one) for turn, one in enumerate(mixed)]
    chosen, left = [], points
    for _, one in sorted(turns, key=lambda pair: pair[0]):
        if one.points <= left:
            chosen.append(one)
            left -= one.points
    chosen.sort(key=lambda one: one.section)
    return Paper(f"Exam, seed {seed}", chosen)


def parsed(number: str, text: str) -> Question:
    """One question, from its title on."""
    title, _, text = text.partition("\n")
    body, *rest = re.split(r"^### (.*)\n", text.strip(), flags=re.M)
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    about = ABOUT.match(body)
    if not about or {*parts} - {"Key", "Often wrong", "Numbers"}:
        raise BadExam(
            f"exam question {title!r} of chapter {number} must begin with a "
            "line such as *apply, 3 points, 5 minutes, #section*, and have "
            "no parts but Key, Often wrong and Numbers"
        )
    key = parts.get("Key", "")
    answer, tolerance = (ANSWER.findall(key) or [("", "")])[0]
    return Question(
        number,
        title.strip(),
        about[1],
        int(about[2]),
        int(about[3]),
        number + about[4],
        CHOICE.sub("", body[about.end() :]).strip(),
        [choice(*found) for found in CHOICE.findall(body)],
        answer,
        tolerance,
        credits_in(key),
        credits_in(parts.get("Often wrong", "")),
        re.sub(r"^```.*$", "", parts.get("Numbers", ""), flags=re.M).strip(),
    )


def choice(mark: str, text: str) -> Choice:
    """One of the choices, from the text behind its box."""
    said, _, why = text.strip().partition(WHY)
    return Choice(mark == "x", said, why)



def credits_in(text: str) -> list[Credit]:
    """The items of a part, with their points."""
    return [
        Credit(int(points), number, said.strip())
        for points, number, said in CREDIT.findall(text)
    ]
