"""Exam questions, from files whose form ``questions/README.md`` explains."""

import random
import re
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from course_exercises.language import beside, translated
from tools.edition import say
from tools.translate.exercises import asked, files
from transformer_course.errors import CourseError

ABOUT = re.compile(
    r"\*(recall|apply|judge), (\d+) points, (\d+) minutes, (#[\w-]+)\*\s+"
)
ITEM = r"^- {}(.*(?:\n(?:  .*|[ ]*$))*)"  # with the lines that belong to it
CHOICE = re.compile(ITEM.format(r"\[([ x])\] "), re.M)
CREDIT = re.compile(ITEM.format(r"(\d+): (?:\*\*(-?[\d.]+)\*\* )?"), re.M)
ANSWER = re.compile(r"^\*\*(-?[\d.]+)\*\* ± ([\d.]+)$", re.M)


class BadExam(CourseError):
    """A question lacks a part, or an exam cannot be made."""


@dataclass(frozen=True)
class Item:
    """An answer, or a part of one, with the points that it has."""

    points: int
    text: str
    why: str = ""
    """Of a choice, what leads to it."""
    number: str = ""
    """What is answered, if that is a number."""

    @property
    def worth(self) -> str:
        """The points in words."""
        english = "{} point." if self.points == 1 else "{} points."
        return say(english).format(self.points)


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
    choices: list[Item]
    answer: str
    """The number that is asked for; else empty."""
    tolerance: str
    key: list[Item]
    wrong: list[Item]
    numbers: str
    """Python that computes what the key says."""


class Paper(NamedTuple):
    """Questions under one title."""

    title: str
    questions: list[Question]


def chapters() -> dict[str, Path]:
    """The file of each chapter's questions, by its number."""
    named = (path for name, path in files().items() if "exams/" in name)
    return {path.name[:2]: path for path in named}


def read(number: str) -> Paper:
    """The questions of a chapter.

    Raises:
        BadExam: there are none, or one of them lacks a part.
    """
    if number not in chapters():
        raise BadExam(
            f"there are no exam questions for chapter {number!r}; there are "
            f"for {', '.join(chapters())}"
        )
    path = chapters()[number]
    (title, _), *parts = (
        (translated(beside(path), name, text), numbers)
        for name, (text, numbers) in asked(path).items()
    )
    questions = [parsed(number, *part) for part in parts]
    return Paper(title.strip("# \n"), questions)


def parsed(number: str, text: str, numbers: str = "") -> Question:
    """One question, from its title on, with what computes its numbers."""
    title, _, text = text.lstrip("# ").partition("\n")
    body, *rest = re.split(r"^### (.*)\n", text.strip(), flags=re.M)
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    about = ABOUT.match(body)
    if not about or {*parts} - {"Key", "Often wrong"}:
        raise BadExam(
            f"exam question {title!r} of chapter {number} must begin with a "
            "line such as *apply, 3 points, 5 minutes, #section*, and have "
            "no parts but Key, Often wrong and Numbers"
        )
    level, points, minutes, anchor = about.groups()
    key = parts.get("Key", "")
    choices = [
        Item(int(points) * (mark == "x"), *said.strip().split("\n  - ", 1))
        for mark, said in CHOICE.findall(body)
    ]
    return Question(
        number,
        title,
        level,
        int(points),
        int(minutes),
        number + anchor,
        CHOICE.sub("", body[about.end() :]).strip(),
        choices,
        *(ANSWER.findall(key) or [("", "")])[0],
        credits_in(key),
        credits_in(parts.get("Often wrong", "")),
        re.sub(r"^```.*$", "", numbers, flags=re.M).strip(),
    )


def credits_in(text: str) -> list[Item]:
    """What a part of the key gives points for."""
    return [
        Item(int(points), said.strip(), number=number)
        for points, number, said in CREDIT.findall(text)
    ]


def draw(papers: list[Paper], points: int, seed: int) -> Paper:
    """Draw questions, from each chapter about as many.

    Raises:
        BadExam: there are fewer points than are wanted.
    """
    there = sum(one.points for paper in papers for one in paper.questions)
    if points > there:
        raise BadExam(
            f"{points} points are wanted, and these chapters have {there}; "
            "ask for fewer, or name more chapters"
        )
    generator = random.Random(seed)
    papers = generator.sample(papers, len(papers))
    mixed = [generator.sample(p.questions, len(p.questions)) for p in papers]
    chosen = []
    for one in chain.from_iterable(zip_longest(*mixed)):
        if one and one.points <= points:
            chosen.append(one)
            points -= one.points
    chosen.sort(key=lambda one: one.section)
    return Paper(say("Exam, seed {}").format(seed), chosen)
