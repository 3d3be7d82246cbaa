"""The exercises of a chapter, as a notebook to be downloaded from its page.

Each page for which ``assignments/`` has a file of the same name ends with a
section that links it. The notebooks are made when the book is built, from the
same sources as ``make exercises`` makes them: no copy can be older than the
page.
"""

import sys
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tools.exercise_notebooks import (
    find_sources,
    learner_notebook,
)

FOLDER = "exercises"
COMMAND, TARGET = "make exercises", "my_exercises/"
WORDS = {
    "en": (
        "Exercises",
        "Exercises for this chapter (notebook)",
        ". In your copy of the course, {} puts it into {}.",
    ),
    "ja": (
        "演習",
        "この章の演習（ノートブック）",
        "。手元の教材では {} で {} に入ります。",
    ),
}


def add_section(app: Sphinx, doctree: nodes.document) -> None:
    """Begin a section at the end of a chapter."""
    if app.env.docname in chapters():
        title = words(app)[0]
        section = nodes.section("", nodes.title("", title), ids=[FOLDER])
        next(doctree.findall(nodes.section)).append(section)


def add_link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the link into that section, which is the last.

    Not before: Sphinx would look for the notebook among the sources.
    """
    if page not in chapters():
        return
    _, text, rest = words(app)
    link = addnodes.download_reference(
        "", text, refuri=f"{FOLDER}/{page}.ipynb"
    )
    before, between, after = rest.split("{}")
    paragraph = nodes.paragraph(
        "",
        "",
        link,
        nodes.Text(before),
        nodes.literal("", COMMAND),
        nodes.Text(between),
        nodes.literal("", TARGET),
        nodes.Text(after),
    )
    list(doctree.findall(nodes.section))[-1].append(paragraph)


def chapters() -> set[str]:
    """The pages that have exercises."""
    return {path.stem for path in find_sources()}


def words(app: Sphinx) -> tuple[str, str, str]:
    """Title, link and what follows it, in the language of the edition."""
    return WORDS.get(app.config.language, WORDS["en"])


def write_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Write the notebooks beside the pages."""
    if error or app.builder.format != "html":
        return
    folder = app.outdir / FOLDER
    folder.mkdir(exist_ok=True)
    for source in find_sources():
        path = folder / f"{source.stem}.ipynb"
        nbformat.write(learner_notebook(source), path)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    # before the table of contents is gathered, which has priority 500
    app.connect("doctree-read", add_section, priority=400)
    app.connect("doctree-resolved", add_link)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
