"""What is printed for a unit: a page to hand out, and a plan of the board."""

from typing import Any

from tools.lectures.page import assignment, expand, where_questions_are
from tools.lectures.plan import Plan, Topic, Unit
from tools.lectures.rounds import BuiltChapter
from tools.lectures.texts import to_html

Paper = dict[str, Any]
"""The values that a template is filled with."""


def handout(
    plan: Plan, unit: Unit, page: BuiltChapter, others: dict[str, BuiltChapter]
) -> Paper:
    """Questions with room to write, a figure, a formula, the homework."""
    rounds = [page.round(topic) for topic in unit.core]

    def html(text: str) -> str:
        return to_html(expand(text, plan, unit.chapter))

    return {
        "title": f"Unit {unit.unit} · {unit.title}",
        "questions": [(each.title, each.question) for each in rounds],
        "figure": page.figure(unit.handout),
        "formula": formula(unit, others),
        "tasks": [html(task.do) for task in unit.tasks(45)],
        "where": where_questions_are(unit, 45),
        "assignment": html(assignment(unit, plan, 45)),
    }


def formula(unit: Unit, pages: dict[str, BuiltChapter]) -> str:
    """The formula of a unit: the one that it names, else its first."""
    names = [unit.formula] if unit.formula else unit.sections(45)
    for name in names:
        chapter, _, section = name.partition("#")
        if found := pages[chapter].formulas(section):
            return str(found[-1])
    return ""


def board(unit: Unit, page: BuiltChapter) -> Paper:
    """The board, topic by topic: 45 minutes, and what 90 add."""
    return {
        "title": f"Unit {unit.unit} · {unit.title}",
        "core": [step(topic, page) for topic in unit.core],
        "more": [step(topic, page) for topic in unit.more],
    }


def step(topic: Topic, page: BuiltChapter) -> Paper:
    """A topic's text; where it has none, its formulas, else its question."""
    formulas = [str(tag) for tag in page.formulas(topic.section)]
    found = page.round(topic)
    return {
        "title": found.title,
        "minutes": topic.minutes,
        "text": to_html(topic.board) or ("" if formulas else found.question),
        "formulas": [] if topic.board else formulas,
        "numbers": page.outputs(topic.section)[: topic.numbers],
    }
