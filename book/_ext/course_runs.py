"""The commands behind a page's numbers, at its foot.

A page that reads stored runs names them in a fold, each with the command that
makes it. The list is that of ``experiments/results/README.md``.
"""

import functools

from course_edition import say
from docutils import nodes
from sphinx.application import Sphinx

from experiments import store

INDEX = "README.md"
SUMMARY = "The commands of this page’s stored runs"
SAYS = (
    "Some numbers and curves above come from long runs, whose results are "
    "stored in `experiments/results`. These commands make them anew."
)
THEN = ", then "


@functools.cache
def commands() -> dict[str, list[tuple[str, str]]]:
    """Runs and what makes them, by the pages that read them."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in store.folder(INDEX).read_text("utf-8").splitlines():
        if not line.startswith("| `"):
            continue
        run, _, made_by, read_in = line.strip("| ").split(" | ")
        made_by = made_by.replace(THEN, say(THEN))
        if "`" not in made_by:
            made_by = say(made_by)
        for page in read_in.split(", "):
            found.setdefault(page, []).append((run, made_by))
    return found


def inline(text: str) -> list[nodes.Node]:
    """Text in which what stands between backticks is code."""
    parts = enumerate(text.split("`"))
    return [
        nodes.literal(part, part) if i % 2 else nodes.Text(part)
        for i, part in parts
        if part
    ]


def add_commands(app: Sphinx, doctree: nodes.document) -> None:
    """Put the commands of a page's stored runs at its foot."""
    runs = commands().get(app.env.docname)
    if not runs:
        return
    app.env.note_dependency(str(store.folder(INDEX)))
    items = [
        nodes.list_item(
            "", nodes.paragraph("", "", *inline(f"{run}: {made_by}"))
        )
        for run, made_by in runs
    ]
    start = f'<details class="runs"><summary>{say(SUMMARY)}</summary>'
    title = next(doctree.findall(nodes.title))
    title.parent.extend(
        [
            nodes.raw("", start, format="html"),
            nodes.paragraph("", "", *inline(say(SAYS))),
            nodes.bullet_list("", *items),
            nodes.raw("", "</details>", format="html"),
        ]
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", add_commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
