"""Role ``chapter``: a link to a page, or to one of its sections.

``05_score_functions#what-a-score-costs`` in this role becomes *chapter 05,
What a score costs*. A page or a section that does not exist is a warning.
"""

from course_edition import say
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.util.nodes import make_refnode


def resolve(
    app: Sphinx, env: BuildEnvironment, link: pending_xref, content: nodes.Node
) -> nodes.reference | None:
    """Link for a reference of this role; None if it leads nowhere."""
    page, _, section = link["reftarget"].partition("#")
    if link["reftype"] != "chapter" or page not in env.titles:
        return None
    text = nodes.inline()
    if page[:2].isdigit():
        text += nodes.Text(say("chapter {}").format(page[:2]))
    else:
        text += env.titles[page].deepcopy().children
    if section:
        titles = {
            entry["anchorname"]: entry
            for entry in env.tocs[page].findall(nodes.reference)
        }
        if f"#{section}" not in titles:
            return None
        text += nodes.Text(say(", "))
        text += titles[f"#{section}"].deepcopy().children
    return make_refnode(app.builder, link["refdoc"], page, section, text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    role = XRefRole(innernodeclass=nodes.inline, warn_dangling=True)
    app.add_role("chapter", role)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
