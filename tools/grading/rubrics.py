"""What a full answer in words has: for who marks it, and for nobody else.

``assignments/answers/NN_name.md`` has a section for each question of the
assignment: how many points for what, and what is often wrong. Nothing of it
is handed out.
"""

import re

from tools.exercise_notebooks import SOURCES

RUBRICS = SOURCES / "answers"
SECTION = re.compile(r"^## (\w+)\n+(.*?)(?=^## |\Z)", re.M | re.S)


def read_rubrics(assignment: str) -> dict[str, str]:
    """The rubrics of an assignment, in Markdown, by question."""
    path = RUBRICS / f"{assignment}.md"
    if not path.is_file():  # a variant of a lecturer's own
        return {}
    return {
        name: text.strip()
        for name, text in SECTION.findall(path.read_text(encoding="utf-8"))
    }
