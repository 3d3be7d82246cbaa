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
        if slider is not None:
            return self._slider(slider, answer)
        texts = [text.replace("*", "").strip() for text in choices.split("|")]
        if len(texts) not in CHOICES or not all(texts):
            raise self.error(
                f"guess: expected two to four choices, and {choices!r} is "
                "given: separate them by |, and leave none empty."
            )
        if answer not in map(str, range(1, len(texts) + 1)):
            raise self.error(
                "guess: expected the number of the right choice, 1 to "
                f"{len(texts)}, and {self._given(answer)}: write ':answer: "
                "1' if it is the first."
            )
        return Markup('data-choices="{}" data-answer="{}"').format(
            "|".join(texts), answer
        )

    def _slider(self, slider: str, answer: str | None) -> Markup:
        """What the script is told of a slider."""
        low, high, *unit = [*slider.split(), "", ""]
        try:
            numbers = [float(each) for each in (low, answer or "", high)]
        except ValueError:
            numbers = []
        if not numbers or numbers != sorted(numbers) or low == high:
            raise self.error(
                "guess: expected a slider's lowest and highest number, and as "
                f"its answer a number between, and {slider!r} is given, and "
                f"{self._given(answer)}: write ':slider: 0 100 %' and "
                "':answer: 40'."
            )
        return Markup(
            'data-low="{}" data-high="{}" data-unit="{}" data-answer="{}"'
        ).format(low, high, " ".join(unit).strip(), answer)

    @staticmethod
    def _given(answer: str | None) -> str:
        return f"{answer!r} is given" if answer else "no :answer: is given"


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
