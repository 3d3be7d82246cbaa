"""Chapters' numbers: in their titles, and in those of what they number.

Chapter ``04_attention`` is called *04 · Attention*, and its first figure is
*Figure 4.1*. The notebook holds no number, and no anchor hangs on one.
"""

import re
from collections import Counter

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

BETWEEN = " · "
Numbers = dict[str, dict[str, dict[str, tuple[int, ...]]]]
"""By page, kind (such as ``figure``) and id."""


def number_of(page: str) -> str | None:
    """A chapter's number as its file has it; None for another page."""
    found = re.match(r"\d\d(?=_)", page)
    return found and found.group()


def number_title(app: Sphinx, doctree: nodes.document) -> None:
    """Put a chapter's number before its title."""
    if number := number_of(app.env.docname):
        title = next(doctree.findall(nodes.title))
        title.insert(0, nodes.Text(f"{number}{BETWEEN}"))


def count_through(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give Sphinx its own counts back, which it compares with the new ones."""
    env.toc_fignumbers = getattr(env, "course_counts", {})
    return []


def count_by_chapter(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Count anew in each chapter what Sphinx counts through the book."""
    env.course_counts = env.toc_fignumbers
    env.toc_fignumbers = by_chapter(env.toc_fignumbers)
    return []


def by_chapter(counts: Numbers) -> Numbers:
    """In chapters, chapter and count; the other pages are counted through."""
    numbered: Numbers = {
        page: {kind: {} for kind in kinds} for page, kinds in counts.items()
    }
    seen = Counter()
    for _, page, kind, name in sorted(
        (number, page, kind, name)
        for page, kinds in counts.items()
        for kind, numbers in kinds.items()
        for name, number in numbers.items()
    ):
        chapter = number_of(page)
        start = (int(chapter),) if chapter else ()
        seen[kind, start] += 1
        numbered[page][kind][name] = (*start, seen[kind, start])
    return numbered


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, before and after what it gathers itself (500)."""
    app.connect("doctree-read", number_title, priority=400)
    app.connect("env-get-updated", count_through, priority=400)
    app.connect("env-get-updated", count_by_chapter, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
