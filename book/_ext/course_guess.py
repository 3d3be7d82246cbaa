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

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from markupsafe import Markup, escape
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
            docutils' error: neither choices nor a slider, or a wrong answer.
        """
        choices = self.options.get("choices", "").split("|")
        slider = self.options.get("slider", "").split()
        answer = self.options.get("answer", "")
        if bool(slider) == (len(choices) > 1):
            raise self.error("guess: give either :choices: or a :slider:")
        if slider:
            if len(slider) < 2 or not answer:
                raise self.error(
                    "guess: :slider: is its lowest and highest value, and a "
                    "unit; :answer: is a number"
                )
            low, high, *unit = slider
            if not float(low) <= float(answer) <= float(high):
                raise self.error(
                    f"guess: the answer {answer} is not on the slider"
                )
            return Markup(
                'data-low="{}" data-high="{}" data-unit="{}" data-answer="{}"'
            ).format(low, high, " ".join(unit), answer)
        if len(choices) not in CHOICES or answer not in map(
            str, range(1, len(choices) + 1)
        ):
            raise self.error(
                "guess: give two to four :choices:, separated by |, and as "
                ":answer: the number of the right one"
            )
        plain = "|".join(
            escape(choice.strip().replace("*", "")) for choice in choices
        )
        return Markup('data-choices="{}" data-answer="{}"').format(
            Markup(plain), answer
        )


def add_files(
    app: Sphinx, page: str, template: str, context: dict, doctree: Any
) -> None:
    """The script, for pages that ask."""
    if doctree is not None and any(
        "guess" in node["classes"] for node in doctree.findall(nodes.container)
    ):
        app.add_js_file("guess.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("guess", Guess)
    app.connect("html-page-context", add_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
