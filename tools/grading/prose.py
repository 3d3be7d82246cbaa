"""The course's own words on a page: Markdown and verdicts as HTML."""

import ast
import re
from collections.abc import Iterator
from html import escape

from markdown_it import MarkdownIt

from course_exercises.engine.exercise import Exercise
from course_exercises.engine.reading import title
from tools.grading.terms import LINK

MARKDOWN = MarkdownIt("commonmark", {"html": False})
READ_AGAIN = re.compile(
    r"(?P<said>Read again: .*)\n +(?P<page>\d\d_\w+)\.html(?P<place>#[\w-]+)"
)
"""How a verdict ends that knows where to read."""
HEADING = re.compile(r"^#+ .*\n+")


def from_markdown(text: str, site: str = "") -> str:
    """Markdown of the course as HTML.

    Args:
        text: without a heading, or with one, which is left out.
        site: where the book is; else links are only their words.
    """
    found = LINK if site else re.compile(rf"\[([^]]*){LINK.pattern}")
    to = rf"]({site.rstrip('/')}/\g<page>.html\g<place>)" if site else r"\1"
    return MARKDOWN.render(found.sub(to, HEADING.sub("", text))).strip()


def from_verdict(text: str, site: str = "") -> str:
    """A verdict as HTML; what is to be read again is a link, or words."""

    def linked(found: re.Match[str]) -> str:
        where = address(f"{found['page']}{found['place']}", site)
        said = found["said"]
        return f'<a href="{where}">{said}</a>' if where else said

    return READ_AGAIN.sub(linked, escape(text))


def to_section(section: str, site: str = "") -> str:
    """A section of the book, such as ``06_masks#the-future``: HTML."""
    said = f"chapter {section[:2]}, {escape(title(section))}"
    where = address(section, site)
    return f'<a href="{where}">{said}</a>' if where else said


def address(section: str, site: str) -> str:
    """Where a section is; "" if it is not known where the book is."""
    page, _, place = section.partition("#")
    return escape(f"{site.rstrip('/')}/{page}.html#{place}") if site else ""


def without_docstrings(code: str, exercise: Exercise) -> str:
    """A student's code, less the texts that were handed out in it."""
    for given in _docstrings(exercise.stub):
        before, found, after = code.partition(given)
        code = before + after.lstrip("\n") if found else code
    return code


def _docstrings(stub: str) -> Iterator[str]:
    """What a stub says, each with the lines that it takes."""
    lines = stub.splitlines(keepends=True)
    for part in ast.walk(ast.parse(stub)):
        first = next(iter(getattr(part, "body", [])), None)
        value = getattr(first, "value", None)
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield "".join(lines[first.lineno - 1 : first.end_lineno])
