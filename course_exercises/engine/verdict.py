"""The answer of a check."""

from dataclasses import dataclass
from typing import Literal

from course_exercises.engine import reading

Kind = Literal[
    "correct",
    "unwritten",
    "error",
    "generic",
    "misconception",
    "unknown",
    "limit",
    "refused",
]
"""``generic``: a mistake that can be made in any exercise, such as a forgotten
return. ``limit``: the code did not end, or wanted too much memory.
``refused``: it could not be run."""


@dataclass(frozen=True, repr=False)
class Answer:
    """A text that a notebook shows as it is."""

    text: str

    def __repr__(self) -> str:
        return self.text


class ModelAnswer(Answer):
    """The answer to a question in words, in Markdown."""

    def _repr_markdown_(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Verdict(Answer):
    """The answer to one attempt."""

    kind: Kind
    exercise: str = ""
    """The exercise's name."""
    mistake: str = ""
    """The name of the misconception, the generic mistake or the error."""
    section: str = ""
    """The section to read again, as page and anchor."""

    def _repr_markdown_(self) -> str | None:
        """The text with a link to the section to read again."""
        if not self.section:
            return None
        before, _, after = self.text.partition(reading.reference(self.section))
        text = f"{before.rstrip()}\n\n{after.strip()}".rstrip()
        return f"```text\n{text}\n```\n\n{reading.link(self.section)}"

    @property
    def is_correct(self) -> bool:
        """Whether the exercise is done."""
        return self.kind == "correct"
