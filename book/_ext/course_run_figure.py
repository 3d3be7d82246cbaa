"""Directives that show a stored run in a figure that the reader can move.

Each such directive is a :class:`RunFigure` that says how its HTML is made::

    ```{NAME} RUN
    :caption: What the figure shows.
    :label: fig-some-name
    ```
"""

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from experiments import store
from transformer_course.errors import CourseError


class RunFigure(SphinxDirective):
    """A figure with a number, made from a file of a stored run."""

    required_arguments = 1
    option_spec: ClassVar[dict] = {
        "caption": directives.unchanged_required,
        "label": directives.unchanged_required,
    }
    """These two are needed; what a kind adds is handed to :meth:`render`."""
    kind: ClassVar[str]
    """Name of the directive, and class of what it puts into the page."""
    file: ClassVar[str]
    """What is read of the run: when it changes, the page is built anew."""
    script: ClassVar[str]
    """What moves the figure, in ``_static``."""
    style: ClassVar[str] = ""
    """Its stylesheet there, if it has one of its own."""

    @staticmethod
    def render(name: str, anchor: str, **options: Any) -> str:
        """The figure in HTML.

        Args:
            name: of the stored run.
            anchor: the id of the figure; those of its parts begin so.
            options: of the directive, besides caption and label.

        Raises:
            CourseError: the run cannot be shown; the message says why.
        """
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """The figure and its caption."""
        name = self.arguments[0]
        options = dict(self.options)
        for option in RunFigure.option_spec:
            if option not in options:
                raise self.error(f"{self.kind} {name}: give a :{option}:")
        label, caption = options.pop("label"), options.pop("caption")
        try:
            html = self.render(name, nodes.make_id(label), **options)
        except CourseError as error:
            raise self.error(str(error)) from error
        self.env.note_dependency(str(store.folder(name) / self.file))
        text, messages = self.parse_inline(caption, lineno=self.lineno)
        figure = nodes.figure(
            "",
            nodes.raw("", html, format="html", classes=[self.kind]),
            nodes.caption("", "", *text),
        )
        self.set_source_info(figure)
        self.options["name"] = label
        self.add_name(figure)
        return [figure, *messages]


def register(app: Sphinx, directive: type[RunFigure]) -> dict[str, bool]:
    """Add a directive; its script and style, to the pages that use it.

    Returns:
        What an extension's ``setup`` returns.
    """

    def add_files(
        app: Sphinx, page: str, template: str, context: dict, doctree: Any
    ) -> None:
        if doctree is not None and any(
            directive.kind in node["classes"]
            for node in doctree.findall(nodes.raw)
        ):
            app.add_js_file(directive.script, loading_method="defer")
            if directive.style:
                app.add_css_file(directive.style)

    app.add_directive(directive.kind, directive)
    app.connect("html-page-context", add_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
