"""The parts of the page for lecturers that the plan says, as Markdown."""

import json
import math
import re

import nbformat

from experiments import store
from tools.lectures.headings import Heading
from tools.lectures.plan import LINK, BadPlan, Live, Plan, Unit


def markdown(part: str, plan: Plan) -> str:
    """The text of ``{lectures} part``: units, chapters, or a number.

    Raises:
        BadPlan: there is no such part.
    """
    if part == "units":
        return "\n\n".join(unit(plan, one) for one in plan.units.values())
    if part == "chapters":
        return chapters(plan)
    if part.isdigit() and int(part) in plan.lectures:
        return lectures(plan, int(part))
    raise BadPlan(
        f"the page for lecturers asks for {part!r}; the plan has: units, "
        f"chapters, {', '.join(map(str, plan.lectures))}"
    )


def unit(plan: Plan, one: Unit) -> str:
    """A unit: a heading with a label, and a list."""
    items = [
        ("Read before", expand(one.read, plan, one.chapter)),
        ("In class", _topics(one, plan, 45)),
        ("With 90", _topics(one, plan, 90)),
        ("Live", cell(one, one.live, plan)),
        ("Live, with 90", one.live_more and cell(one, one.live_more, plan)),
        ("Ask the room", expand(one.ask, plan, one.chapter)),
        ("Ask, with 90", expand(one.ask_more, plan, one.chapter)),
        ("Afterwards", homework(one, plan)),
        ("Assignment", assignment(one, plan)),
    ]
    lines = [f"- **{name}:** {text}" for name, text in items if text]
    title = f"Unit {one.unit} · {one.title}"
    return f"(unit-{one.unit})=\n### {title}\n\n" + "\n".join(lines)


def _topics(one: Unit, plan: Plan, length: int) -> str:
    """Sections with their minutes; with 90 those that come to the others."""
    minutes: dict[str, int] = {}
    for topic in one.core if length == 45 else one.more:
        minutes[topic.section] = minutes.get(topic.section, 0) + topic.minutes
    return ", ".join(
        f"{link(f'{one.chapter}#{section}', plan)} ({spent} min)"
        for section, spent in minutes.items()
    )


def where_questions_are(one: Unit, length: int) -> str:
    """A sentence that says where the questions of the homework are."""
    if any("question" in task.do for task in one.tasks(length)):
        return f"The questions are those at the end of chapter {one.chapter}."
    return ""


def homework(one: Unit, plan: Plan) -> str:
    """The homework after 45 minutes, and what 90 add."""
    short = one.tasks(45)
    long = [task for task in one.after if task not in short]
    parts = [task.do for task in short]
    if long:
        also = "; ".join(task.do for task in long)
        parts.append(f"with 90: {also}")
    return expand("; ".join(parts), plan, one.chapter) + "."


def assignment(one: Unit, plan: Plan, length: int = 0) -> str:
    """Exercises of the chapter's assignment that a class can do by then.

    After 45 minutes, or 90; without a length, how the two differ, and what
    rests on sections that neither shows.
    """
    if not one.exercises():
        return "this chapter has none."
    parts, left = [], plan.exercises_of(one)
    if not left:
        return f"that of unit {plan.before(one)[0].unit}."
    if length:
        now = plan.doable(one, left, length)
        return f"`{one.notebook}`: {', '.join(f'`{e.name}`' for e in now)}."
    for length, form in ((45, "{}"), (90, "with 90 also {}")):
        now = plan.doable(one, left, length)
        left = [e for e in left if e not in now]
        if now:
            parts.append(form.format(", ".join(f"`{e.name}`" for e in now)))
    for exercise in left:
        section = link(plan.rests_on(one, exercise), plan)
        name = f"`{exercise.name}`"
        parts.append(f"after {section} also {name}")
    return f"`{one.notebook}`: " + "; ".join(parts) + "."


def cell(one: Unit, live: Live, plan: Plan) -> str:
    """A cell to be run in class, and how long it takes."""
    own, above = seconds(one, live, plan)
    section = link(f"{one.chapter}#{live.section}", plan)
    times = f"{own} s, and {above} s above."
    return f"{section}, `{live.line}`: {times} {live.say}".strip()


def seconds(one: Unit, live: Live, plan: Plan) -> tuple[int, int]:
    """Seconds of a cell, and of all above it, rounded up.

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


def lectures(plan: Plan, number: int) -> str:
    """A table with a row for each of so many lectures."""
    rows = []
    for place, lecture in enumerate(plan.lectures[number], 1):
        names = [
            f"[{name}](unit-{name}) {plan.units[name].title}"
            for name in lecture.units
        ]
        lengths = " + ".join(map(str, lecture.units.values()))
        read = expand(lecture.read, plan) or "–"
        rows.append((str(place), "; ".join(names), lengths, read))
    return table(("Lecture", "Units", "Minutes", "Read besides"), rows)


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
    return table(("Chapter", "Rests on", "May it be left out?"), rows)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def listed(items: list[str]) -> str:
    """Some things in a sentence: a, b and c."""
    *first, last = items or [""]
    return f"{', '.join(first)} and {last}" if first else last


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
