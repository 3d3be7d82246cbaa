"""The parts of the page for lecturers that the plan says, as Markdown."""

import json
import math
import re
from collections.abc import Callable

import nbformat

from experiments import store
from tools.lectures.headings import Heading
from tools.lectures.plan import LINK, BadPlan, Live, Plan, Unit
from tools.lectures.words import WORDS


def markdown(part: str, plan: Plan) -> str:
    """What stands for ``{lectures} part``: units, chapters, or a number.

    Raises:
        BadPlan: there is no such part.
    """
    writers: dict[str, Callable[[Plan], str]] = {
        "units": units,
        "chapters": chapters,
        **{str(n): _lectures(n) for n in plan.lectures},
    }
    if part not in writers:
        raise BadPlan(
            f"the page for lecturers asks for {part!r}; the plan has: "
            f"{', '.join(writers)}"
        )
    return writers[part](plan)


def units(plan: Plan) -> str:
    """All units, one below another."""
    return "\n\n".join(unit(plan, one) for one in plan.units.values())


def unit(plan: Plan, one: Unit) -> str:
    """A unit: a heading with a label, and a list."""
    items = [
        (WORDS.read, expand(one.read, plan, one.chapter)),
        (WORDS.core, _topics(one, plan, 45)),
        (WORDS.more, _topics(one, plan, 90)),
        (WORDS.live, cell(one, one.live, plan)),
        (WORDS.live_more, one.live_more and cell(one, one.live_more, plan)),
        (WORDS.ask, expand(one.ask, plan, one.chapter)),
        (WORDS.ask_more, expand(one.ask_more, plan, one.chapter)),
        (WORDS.after, homework(one, plan)),
        (WORDS.assignment, assignment(one, plan)),
    ]
    lines = [f"- **{name}:** {text}" for name, text in items if text]
    title = WORDS.unit.format(one.unit, one.title)
    return f"(unit-{one.unit})=\n### {title}\n\n" + "\n".join(lines)


def _topics(one: Unit, plan: Plan, length: int) -> str:
    """Sections with their minutes; with 90 those that come to the others."""
    minutes: dict[str, int] = {}
    for topic in one.core if length == 45 else one.more:
        minutes[topic.section] = minutes.get(topic.section, 0) + topic.minutes
    return ", ".join(
        f"{link(f'{one.chapter}#{section}', plan)} "
        f"({WORDS.minutes.format(spent)})"
        for section, spent in minutes.items()
    )


def where_questions_are(one: Unit, plan: Plan, length: int) -> str:
    """Where the questions are that are set, if there are some."""
    numbered = any(WORDS.numbered in task.do for task in one.tasks(length))
    return WORDS.questions.format(one.chapter) if numbered else ""


def homework(one: Unit, plan: Plan) -> str:
    """What is to be done at home, and what only after 90 minutes."""
    short = one.tasks(45)
    long = [task for task in one.after if task not in short]
    parts = [task.do for task in short]
    if long:
        also = "; ".join(task.do for task in long)
        parts.append(WORDS.with_90.format(also))
    return expand("; ".join(parts), plan, one.chapter) + "."


def assignment(one: Unit, plan: Plan, length: int = 0) -> str:
    """Which exercises of the chapter's assignment a class can do by then.

    After 45 minutes, or 90; without a length, how the two differ, and what
    rests on sections that neither shows.
    """
    if not one.exercises():
        return WORDS.no_assignment
    parts, left = [], plan.exercises_of(one)
    if not left:
        return WORDS.same.format(plan.before(one)[0].unit)
    if length:
        now = plan.doable(one, left, length)
        return f"`{one.notebook}`: {', '.join(f'`{e.name}`' for e in now)}."
    for length, form in ((45, "{}"), (90, WORDS.also)):
        now = plan.doable(one, left, length)
        left = [e for e in left if e not in now]
        if now:
            parts.append(form.format(", ".join(f"`{e.name}`" for e in now)))
    for exercise in left:
        section = link(plan.rests_on(one, exercise), plan)
        name = f"`{exercise.name}`"
        parts.append(WORDS.rest.format(section=section, name=name))
    return f"`{one.notebook}`: " + "; ".join(parts) + "."


def cell(one: Unit, live: Live, plan: Plan) -> str:
    """A cell to be run in class, and how long it takes."""
    own, above = seconds(one, live, plan)
    text = WORDS.cell.format(
        section=link(f"{one.chapter}#{live.section}", plan),
        line=live.line,
        own=own,
        above=above,
    )
    return f"{text} {live.say}".strip()


def seconds(one: Unit, live: Live, plan: Plan) -> tuple[int, int]:
    """What a cell takes, and what all above it take, rounded up.

    Raises:
        BadPlan: no cell, or more than one, has the line.
    """
    notebook = nbformat.read(plan.path(one.chapter), as_version=4)
    cells = [each for each in notebook.cells if each.cell_type == "code"]
    places = [
        number
        for number, each in enumerate(cells)
        if live.line in each.source.splitlines()
    ]
    if len(places) != 1:
        raise BadPlan(
            f"unit {one.unit}: the line {live.line!r} stands in "
            f"{len(places)} cells of chapter {one.chapter}; name a line "
            "that stands in one"
        )
    path = store.folder("cell-times") / f"{one.notebook}.json"
    stored = json.loads(path.read_text(encoding="utf-8"))["seconds"]
    spent = [stored.get(each.id, 0.0) for each in cells]
    return math.ceil(spent[places[0]]), math.ceil(sum(spent[: places[0]]))


# --- plans and chapters ------------------------------------------------------


def _lectures(number: int) -> Callable[[Plan], str]:
    def write(plan: Plan) -> str:
        """A table with a row for each lecture."""
        rows = []
        for place, lecture in enumerate(plan.lectures[number], 1):
            names = [
                f"[{name}](unit-{name}) {plan.units[name].title}"
                for name in lecture.units
            ]
            lengths = " + ".join(map(str, lecture.units.values()))
            read = expand(lecture.read, plan) or "–"
            rows.append((str(place), "; ".join(names), lengths, read))
        head = (WORDS.lecture, WORDS.units, WORDS.length, WORDS.besides)
        return table(head, rows)

    return write


def chapters(plan: Plan) -> str:
    """A table: what each rests on, and what may not be left out."""
    rows = []
    for one in plan.chapters:
        links = [link(f"{one.chapter}#{name}", plan) for name in one.must]
        file = plan.path(one.chapter).name
        leave = one.leave.replace("{must}", listed(links))
        rows.append(
            (
                f"[{one.chapter} {one.title}]({file})",
                one.rests,
                expand(leave, plan),
            )
        )
    return table((WORDS.chapter, WORDS.rests, WORDS.leave), rows)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def listed(items: list[str]) -> str:
    """Some things in a sentence: a, b and c."""
    *first, last = items or [""]
    return WORDS.and_.format(", ".join(first), last) if first else last


# --- links -------------------------------------------------------------------


def link(name: str, plan: Plan, text: str = "") -> str:
    """A link to the section ``03#clocks``, or to a chapter, ``03#``."""
    chapter, _, section = name.partition("#")
    file = plan.path(chapter).name
    if not section:
        return f"[{text}]({file})"
    heading: Heading = plan.heading(name)
    return f"[{text or heading.title}]({file}#{heading.slug})"


def expand(text: str, plan: Plan, chapter: str = "") -> str:
    """A text of the plan with its links as Markdown knows them."""

    def full(found: re.Match[str]) -> str:
        words, number, section = found.groups()
        return link(f"{number or chapter}#{section}", plan, words)

    return LINK.sub(full, text)
