"""Guesses that take an answer.

The directive ``guess`` asks one question, with two to four answers or a
slider; its content is what is said once the reader has answered::

    :::{guess} What comes out when the query is all zeros?
    :choices: nothing | the mean of the values | the value of *drink*
    :answer: 2

    Equal scores give equal weights.
    :::

With ``:slider: 0 100 %`` (lowest, highest, unit), ``:answer:`` is a number.
Without scripts the answer is a fold.
"""

from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from markupsafe import Markup
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

CHOICES = range(2, 5)
"""How many answers there may be to choose from."""


class Guess(SphinxDirective):
    """``guess``: a question, and what is said after it is answered."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict] = {
        "choices": directives.unchanged_required,
        "slider": directives.unchanged_required,
        "answer": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """The question, its controls, and the answer in a fold."""
        self.assert_has_content()
        data = self._controls()
        question, messages = self.parse_inline(self.arguments[0])
        answer = nodes.container(classes=["guess-answer"])
        self.state.nested_parse(self.content, self.content_offset, answer)
        start = Markup(
            '<div class="guess-controls" {}></div><details><summary>Answer'
            "</summary>"
        ).format(data)
        box = nodes.container(
            "",
            nodes.paragraph("", "", *question, classes=["guess-question"]),
            nodes.raw("", start, format="html"),
            answer,
            nodes.raw("", "</details>", format="html"),
            classes=["guess"],
        )
        self.set_source_info(box)
        return [box, *messages]

    def _controls(self) -> Markup:
        """What the script is told, as attributes.

        Raises:
            docutils' error: what is given asks no question; it says why.
        """
        choices, slider, answer = map(
            self.options.get, ("choices", "slider", "answer")
        )
        if (choices is None) == (slider is None):
            given = "neither is" if choices is None else "both are"
            raise self.error(
                f"guess: expected either :choices: or a :slider:, and {given} "
                "given: write ':choices: one | other' or ':slider: 0 100 %'."
            )
        found = (
            _choices(choices, answer) if choices else _slider(slider, answer)
        )
        if found is None:
            raise self.error(
                "guess: expected two to four choices and the number of the "
                "right one (':choices: one | other', ':answer: 1'), or a "
                "slider's ends and a number between (':slider: 0 100 %', "
                f"':answer: 40'), and {choices or slider!r} is given with the "
                f"answer {answer!r}."
            )
        return found


def _choices(choices: str, answer: str | None) -> Markup | None:
    """What the script is told of choices; None if they are none."""
    texts = [text.replace("*", "").strip() for text in choices.split("|")]
    numbers = map(str, range(1, len(texts) + 1))
    if len(texts) not in CHOICES or not all(texts) or answer not in numbers:
        return None
    return Markup('data-choices="{}" data-answer="{}"').format(
        "|".join(texts), answer
    )


def _slider(slider: str, answer: str | None) -> Markup | None:
    """What the script is told of a slider; None if it is none."""
    low, high, *unit = [*slider.split(), "", ""]
    try:
        numbers = [float(each) for each in (low, answer or "", high)]
    except ValueError:
        return None
    if numbers != sorted(numbers) or low == high:
        return None
    return Markup(
        'data-low="{}" data-high="{}" data-unit="{}" data-answer="{}"'
    ).format(low, high, " ".join(unit).strip(), answer)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("guess", Guess)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
