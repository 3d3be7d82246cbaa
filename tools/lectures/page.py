"""The parts of the page for lecturers that the plan says, as Markdown."""

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from course_edition import in_edition
from course_minimap import PICTURE, PLACES, drawing
from jinja2 import Environment, FunctionLoader, StrictUndefined

from course_exercises.engine.exercise import Exercise
from experiments import store
from tools.edition import ROOT, say
from tools.lectures.chapter import (
    BOOK,
    BadPlan,
    chapter_files,
    notebook_of,
    section,
)
from tools.lectures.plan import (
    LINK,
    Chapter,
    Live,
    Plan,
    Topic,
    Unit,
    linked,
)


def template(name: str) -> str:
    """A template in the language of the edition."""
    path = Path(__file__).with_name("templates") / name
    place = f"../../tools/lectures/templates/{name}"
    return in_edition(path.read_text("utf-8"), place)


TEMPLATES = Environment(
    loader=FunctionLoader(template),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def markdown(part: str, plan: Plan) -> str:
    """The text of ``{lectures} part``: units, chapters, or a number.

    Raises:
        BadPlan: there is no such part.
    """
    if part in ("units", "chapters"):
        return filled(part, plan=plan)
    if part.isdigit() and int(part) in plan.lectures:
        lectures = plan.lectures[int(part)]
        return filled("lectures", plan=plan, lectures=lectures)
    raise BadPlan(
        f"the page for lecturers asks for {part!r}; the plan has: units, "
        f"chapters, {', '.join(map(str, plan.lectures))}"
    )


def filled(template: str, **values: Any) -> str:
    """A template with its values."""
    return TEMPLATES.get_template(f"{template}.md").render(values)


def minutes(unit: Unit, topics: list[Topic]) -> str:
    """Sections with the minutes of their topics."""
    spent: dict[str, int] = {}
    for topic in topics:
        spent[topic.section] = spent.get(topic.section, 0) + topic.minutes
    return say(", ").join(
        say("{} ({} min)").format(link(f"{unit.chapter}#{name}"), many)
        for name, many in spent.items()
    )


def must(one: Chapter) -> str:
    """Links to the sections of a chapter that may not be left out."""
    *first, last = [link(f"{one.chapter}#{name}") for name in one.must] or [""]
    return (
        say("{} and {}").format(say(", ").join(first), last) if first else last
    )


def homework(unit: Unit) -> str:
    """The homework after 45 minutes, and what 90 add."""
    tasks = [task.do for task in unit.tasks(45)]
    long = [task.do for task in unit.after if task.do not in tasks]
    also = [say("with 90: {}").format(say("; ").join(long))] if long else []
    return expand(say("; ").join(tasks + also), unit.chapter) + say(".")


def assignment(unit: Unit, plan: Plan, length: int = 0) -> str:
    """Exercises of the chapter's assignment that a class can do by then.

    After 45 minutes, or 90; without a length, how the two differ, and what
    rests on sections that neither shows.
    """
    exercises = plan.exercises_of(unit)
    if not exercises:
        return "".join(
            say("that of unit {}.").format(one.unit)
            for one in plan.before(unit)[:1]
        )
    short, both = (
        [one for one in exercises if unit.covers(one, minutes)]
        for minutes in (45, 90)
    )
    if length:
        parts = [named(short if length == 45 else both)]
    else:
        long = [one for one in both if one not in short]
        parts = [named(short)] if short else []
        parts += [say("with 90 also {}").format(named(long))] if long else []
        parts += [
            say("after {} also {}").format(
                link(unit.rests_on(one)), named([one])
            )
            for one in exercises
            if one not in both
        ]
    return f"`{unit.notebook}`: {say('; ').join(parts)}{say('.')}"


def minimap(unit: Unit) -> str:
    """The picture of the Transformer in small, with the unit's parts lit."""
    picture = ElementTree.parse(BOOK / PICTURE).getroot()
    drawn = drawing(picture, unit.chapter)
    svg = ElementTree.tostring(drawn, encoding="unicode")
    place = say("Here: {}").format(say(PLACES[unit.notebook]))
    return f'<div class="minimap">{svg}<p>{place}</p></div>'


def named(exercises: Iterable[Exercise]) -> str:
    """The names of some exercises."""
    return say(", ").join(f"`{exercise.name}`" for exercise in exercises)


def seconds(unit: Unit, live: Live) -> tuple[int, int]:
    """Seconds of a cell, and of all above it, rounded up.

    Raises:
        BadPlan: no cell, or more than one, has the line.
    """
    notebook = notebook_of(ROOT / f"book/en/{unit.notebook}.ipynb")
    cells = [each for each in notebook.cells if each.cell_type == "code"]
    places = [
        number
        for number, each in enumerate(cells)
        if live.line in each.source.splitlines()
    ]
    if len(places) != 1:
        raise BadPlan(
            f"unit {unit.unit}: the line {live.line!r} stands in "
            f"{len(places)} cells of chapter {unit.chapter}; name a line "
            "that stands in one"
        )
    path = store.folder("cell-times") / f"{unit.notebook}.json"
    stored = json.loads(path.read_text(encoding="utf-8"))["seconds"]
    spent = [stored.get(each.id, 0.0) for each in cells]
    return math.ceil(spent[places[0]]), math.ceil(sum(spent[: places[0]]))


# --- links -------------------------------------------------------------------


def link(name: str, text: str = "") -> str:
    """A link to the section ``03#clocks``, or to a chapter, ``03#``."""
    chapter, _, anchor = name.partition("#")
    file = chapter_files()[chapter].name
    if not anchor:
        return f"[{text}]({file})"
    found = section(name)
    return f"[{text or found.title}]({file}#{found.slug})"


def expand(text: str, chapter: str = "") -> str:
    """A text of the plan with its links as Markdown knows them."""
    return LINK.sub(
        lambda found: link(f"{found[2] or chapter}#{found[3]}", found[1]), text
    )


def untabled(block: str) -> str:
    """A block for pandoc: formulas in its table as words, code as code."""
    block = re.sub(r"</?div[^>]*>\n*", "", block)
    return "\n".join(
        re.sub(r"\$([^$]*)\$", lambda found: plain(found[1]), line)
        if line.startswith("|")
        else line
        for line in block.splitlines()
    )


def plain(tex: str) -> str:
    """A short formula as a line of text."""
    text = re.sub(r"\\(?:[ ,;!]|text\w*|mathrm|operatorname)", " ", tex)
    for sign, letter in SIGNS.items():
        text = re.sub(rf"\\{sign}\b", letter, text)
    return " ".join(re.sub(r"[{}\\]", "", text).split())


SIGNS = {"cdot": "·", "times": "×", "sqrt": "√", "approx": "≈", "infty": "∞"}
"""Commands of TeX that a letter stands for."""
TEMPLATES.filters["untabled"] = untabled
TEMPLATES.globals |= {
    each.__name__: each
    for each in (
        assignment,
        expand,
        homework,
        link,
        linked,
        minimap,
        minutes,
        must,
        seconds,
    )
}
