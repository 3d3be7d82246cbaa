"""Model answers to the questions that are answered in words."""

import re

from course_exercises.language import beside, translated
from course_exercises.names import ASSIGNMENTS

SECTION = re.compile(r"^## (\w+)\n+(.*?)(?=^## |\Z)", re.M | re.S)


def model_answers(assignment: str) -> dict[str, str]:
    """The model answers of an assignment in Markdown, by question.

    They stand in ``assignments/answers/NAME.md``, and say what a full, a
    partial and a wrong answer have.

    Args:
        assignment: its name, such as ``06_masks``.
    """
    path = ASSIGNMENTS / "answers" / f"{assignment}.md"
    if not path.is_file():  # a lecturer's own assignment
        return {}
    sections = SECTION.findall(path.read_text(encoding="utf-8"))
    return {
        question: translated(beside(path), question, text.strip())
        for question, text in sections
    }


def find_answer(question: str) -> str | None:
    """The model answer to a question of any assignment; None without one."""
    for path in sorted((ASSIGNMENTS / "answers").glob("*.md")):
        if answer := model_answers(path.stem).get(question):
            return answer
    return None
