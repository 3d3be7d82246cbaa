"""A chapter's opening: below its title, a picture of what it is about.

The picture is ``figures/openings/NN.svg``, and a chapter without one has none.
``openings.css`` is how all of them look.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

PICTURES = Path("figures", "openings")


def drawn(path: Path) -> str:
    """The element of an opening, without what stands before it in its file."""
    text = path.read_text("utf-8")
    return text[text.index("<svg") :]


def add_opening(app: Sphinx, doctree: nodes.document) -> None:
    """Put a chapter's opening below its title."""
    page = app.env.docname
    if not re.match(r"\d\d_", page):
        return
    path = Path(app.srcdir, PICTURES, f"{page[:2]}.svg")
    app.env.note_dependency(str(path.parent))  # one may be added
    if path.exists():
        app.env.note_dependency(str(path))
        title = next(doctree.findall(nodes.title))
        title.parent.insert(1, nodes.raw("", drawn(path), format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", add_opening)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
