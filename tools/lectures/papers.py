"""What is printed for a unit: a page to hand out, and a plan of the board."""

from dataclasses import dataclass

from bs4 import Tag

from tools.lectures.page import assignment, expand, where_questions_are
from tools.lectures.plan import Plan, Topic, Unit
from tools.lectures.rounds import BuiltChapter
from tools.lectures.texts import to_html
from tools.lectures.words import WORDS


@dataclass(frozen=True)
class Handout:
    """Questions with room to write, a figure, a formula, the homework."""

    title: str
    questions: list[tuple[str, str]]
    """Of each section its title and its question."""
    figure: Tag
    formula: str
    tasks: list[str]
    where: str
    """Where the questions are that are set."""
    assignment: str


@dataclass(frozen=True)
class Step:
    """What is written on the board for a topic."""

    title: str
    minutes: int
    text: str
    formulas: list[str]
    numbers: list[str]


@dataclass(frozen=True)
class Board:
    """The steps of 45 minutes, and those that 90 add."""

    title: str
    core: list[Step]
    more: list[Step]


def handout(
    plan: Plan, unit: Unit, page: BuiltChapter, others: dict[str, BuiltChapter]
) -> Handout:
    """The page to hand out: no answer stands on it."""
    rounds = [page.round(topic) for topic in unit.core]

    def html(text: str) -> str:
        return to_html(expand(text, plan, unit.chapter))

    return Handout(
        WORDS.unit.format(unit.unit, unit.title),
        [(each.title, each.question) for each in rounds],
        page.figure(unit.handout),
        formula(unit, others),
        [html(task.do) for task in unit.tasks(45)],
        where_questions_are(unit, plan, 45),
        html(assignment(unit, plan, 45)),
    )


def formula(unit: Unit, pages: dict[str, BuiltChapter]) -> str:
    """The formula of a unit: the one that it names, else its first."""
    names = [unit.formula] if unit.formula else unit.sections(45)
    for name in names:
        chapter, _, section = name.partition("#")
        if found := pages[chapter].formulas(section):
            return str(found[-1])
    return ""


def board(plan: Plan, unit: Unit, page: BuiltChapter) -> Board:
    """What stands on the board, in its order."""
    return Board(
        WORDS.unit.format(unit.unit, unit.title),
        [step(topic, page) for topic in unit.core],
        [step(topic, page) for topic in unit.more],
    )


def step(topic: Topic, page: BuiltChapter) -> Step:
    """A topic's text; where it has none, its formulas, else its question."""
    formulas = [str(tag) for tag in page.formulas(topic.section)]
    found = page.round(topic)
    text = to_html(topic.board) or ("" if formulas else found.question)
    return Step(
        found.title,
        topic.minutes,
        text,
        [] if topic.board else formulas,
        [str(tag) for tag in page.outputs(topic.section)[: topic.numbers]],
    )
