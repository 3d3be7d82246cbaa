"""A chapter's parts of ``my_transformer.py``, for the reader to write.

The directive ``write`` puts what the reader begins with below a few words::

    ```{write}
    What is asked, in two or three lines.
    ```

The stubs are those of the exercises, so the page and the file are the same.
"""

from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_exercises.path.parts import FILE, PARTS, stub

COMMAND = f"transformer-course check {FILE}"


class Write(SphinxDirective):
    """``write``: the stubs of a chapter's parts, and how to check them."""

    has_content = True
    option_spec: ClassVar[dict] = {}

    def run(self) -> list[nodes.Node]:
        """The words, the stubs, the command."""
        number = self.env.docname[:2]
        if number not in PARTS:
            raise self.error(
                f"write: chapter {number} has no part of {FILE}; those that "
                f"have are {', '.join(PARTS)}."
            )
        words = nodes.container(classes=["write-it"])
        self.state.nested_parse(self.content, self.content_offset, words)
        words += [_code("python", stub(name)) for name in PARTS[number]]
        words += _code("bash", COMMAND)
        words += self._begin()
        return [words]

    def _begin(self) -> nodes.paragraph:
        """For those who have no file yet."""
        page = self.env.app.builder.get_relative_uri(
            self.env.docname, "my_transformer"
        )
        text = nodes.paragraph("", "No file yet? ")
        text += nodes.literal("", "transformer-course start")
        text += nodes.Text(" writes one. ")
        text += nodes.reference("", "How it works", refuri=page)
        text += nodes.Text(".")
        return text


def _code(language: str, text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language=language)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("write", Write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
