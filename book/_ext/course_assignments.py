"""Exercises of a chapter, as a notebook to be downloaded from its page.

Each page for which ``course_exercises/assignments/`` has a file of the same
name ends with a section that links it. The notebooks are made when the book is
built, from the same sources as ``make exercises`` makes them.
"""

import nbformat
from course_edition import say
from docutils import nodes
from sphinx.application import Sphinx

from tools.exercise_notebooks import find_sources, learner_notebook

FOLDER = "exercises"
LINK = "Exercises for this chapter (notebook)"
SAYS = ". In your copy of the course, {} puts it into {}."


def add_section(app: Sphinx, doctree: nodes.document) -> None:
    """Put the section at the end of a chapter."""
    page = app.env.docname
    if page not in {path.stem for path in find_sources()}:
        return
    link = nodes.raw(
        "",
        f'<a class="reference download internal" download '
        f'href="{FOLDER}/{page}.ipynb">{say(LINK)}</a>',
        format="html",
    )
    paragraph = nodes.paragraph("", "", link)
    before, between, after = map(nodes.Text, say(SAYS).split("{}"))
    command, folder = nodes.literal("", "make exercises"), "my_exercises/"
    paragraph += [before, command, between, nodes.literal("", folder), after]
    section = nodes.section("", nodes.title("", say("Exercises")), paragraph)
    section["ids"].append(FOLDER)
    next(doctree.findall(nodes.section)).append(section)


def write_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Write the notebooks beside the pages."""
    if error or app.builder.format != "html":
        return
    folder = app.outdir / FOLDER
    folder.mkdir(exist_ok=True)
    for source in find_sources():
        path = folder / f"{source.stem}.ipynb"
        nbformat.write(learner_notebook(source), path)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    # before the table of contents is gathered, which has priority 500
    app.connect("doctree-read", add_section, priority=400)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
