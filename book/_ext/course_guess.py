"""Guesses that take an answer.

The directive ``guess`` asks one question, with two to four answers or a
slider; its content is what is said once the reader has answered::

    :::{guess} What comes out when the query is all zeros?
    :choices: nothing | the mean of the values | the value of *drink*
    :answer: 2

    Equal scores give equal weights.
    :::

With ``:slider: 0 100 %`` (lowest, highest, unit), ``:answer:`` is a number.

What gives the answer away waits until the reader has answered: what the cells
directly below print or draw, and the paragraph after them. Where that is too
much or too little, ``:hides: 3`` says how many blocks below the guess wait, a
block being a cell, a paragraph, a list or a formula. Without scripts nothing
waits, and the answer is a fold.
"""

from itertools import takewhile
from typing import ClassVar, NamedTuple

from course_edition import say
from docutils import nodes
from docutils.parsers.rst import directives
from markupsafe import Markup
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

CHOICES = range(2, 5)
"""How many answers there may be to choose from."""
WAITS = "after-guess"
"""Class of what waits."""


class Guess(SphinxDirective):
    """``guess``: a question, and what is said after it is answered."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict] = {
        "choices": directives.unchanged_required,
        "slider": directives.unchanged_required,
        "answer": directives.unchanged_required,
        "hides": directives.nonnegative_int,
    }

    def run(self) -> list[nodes.Node]:
        """The question, its controls, and the answer in a fold."""
        self.assert_has_content()
        asked = self._controls()
        question, messages = self.parse_inline(self.arguments[0])
        answer = nodes.container(classes=["guess-answer"])
        self.state.nested_parse(self.content, self.content_offset, answer)
        start = Markup(
            '<div class="guess-controls" {}></div><p class="guess-still">{}'
            "</p><details><summary>{}</summary>"
            '<p class="guess-still"><strong>{}</strong></p>'
        ).format(asked.data, asked.offered, say("Answer"), asked.right)
        box = nodes.container(
            "",
            nodes.paragraph("", "", *question, classes=["guess-question"]),
            nodes.raw("", start, format="html"),
            answer,
            nodes.raw("", "</details>", format="html"),
            classes=["guess"],
            hides=self.options.get("hides"),
        )
        self.set_source_info(box)
        return [box, *messages]

    def _controls(self) -> "Asked":
        """What there is to choose from.

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


class Asked(NamedTuple):
    """What a guess offers, also on paper and without scripts."""

    data: Markup
    """What the script is told, as attributes."""
    offered: str
    right: str


def _choices(choices: str, answer: str | None) -> Asked | None:
    """The choices that a guess offers; None if they are none."""
    texts = [text.replace("*", "").strip() for text in choices.split("|")]
    numbers = map(str, range(1, len(texts) + 1))
    if len(texts) not in CHOICES or not all(texts) or answer not in numbers:
        return None
    data = Markup('data-choices="{}" data-answer="{}"').format(
        "|".join(texts), answer
    )
    return Asked(data, " · ".join(texts), texts[int(answer) - 1])


def _slider(slider: str, answer: str | None) -> Asked | None:
    """What a guess's slider offers; None if it is none."""
    low, high, *unit = [*slider.split(), "", ""]
    try:
        numbers = [float(each) for each in (low, answer or "", high)]
    except ValueError:
        return None
    if numbers != sorted(numbers) or low == high:
        return None
    of = " ".join(unit).strip()
    data = Markup(
        'data-low="{}" data-high="{}" data-unit="{}" data-answer="{}"'
    ).format(low, high, of, answer)
    return Asked(
        data,
        say("{} to {}").format(low, high) + f" {of}".rstrip(),
        f"{answer} {of}",
    )


# --- what waits --------------------------------------------------------------


def has_class(node: nodes.Node, *names: str) -> bool:
    """Whether a node has one of some classes."""
    return isinstance(node, nodes.Element) and not {*names}.isdisjoint(
        node["classes"]
    )


def is_block(node: nodes.Node) -> bool:
    """Whether a node is read as a block below a guess of its section."""
    return not (isinstance(node, nodes.section) or has_class(node, "guess"))


def outputs_of(cell: nodes.Node) -> list[nodes.Element]:
    """What a cell prints and draws."""
    return [*cell.findall(lambda part: has_class(part, "cell_output"))]


def count_waiting(below: list[nodes.Node]) -> int:
    """How many of the blocks below a guess wait unless it says so itself."""
    cells = [*takewhile(lambda block: has_class(block, "cell"), below)]
    if not any(map(outputs_of, cells)):
        return 0
    after = below[len(cells) : len(cells) + 1]
    return len(cells) + sum(isinstance(b, nodes.paragraph) for b in after)


def mark_what_waits(app: Sphinx, doctree: nodes.document) -> None:
    """Give what gives an answer away its class.

    Of a cell whose code is folded nothing is left to see, so all of it waits;
    of another cell, what it prints and draws.
    """
    for box in doctree.findall(lambda node: has_class(node, "guess")):
        place = box.parent.index(box) + 1
        below = [*takewhile(is_block, box.parent[place:])]
        hides = box["hides"]
        if hides is None:
            hides = count_waiting(below)
        elif hides > len(below):
            logger.warning(
                "guess: ':hides: %s' is given, and only %s blocks stand below "
                "it in its section: count them again.",
                hides,
                len(below),
                location=box,
            )
        for block in below[:hides]:
            is_seen = has_class(block, "cell") and not has_class(
                block, "tag_hide-input", "tag_hide-cell"
            )
            for part in outputs_of(block) if is_seen else [block]:
                part["classes"].append(WAITS)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("guess", Guess)
    app.connect("doctree-read", mark_what_waits, priority=300)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
