"""The role ``chapter``: a link to a section, also of a page yet to be written.

``05_score_functions#what-a-score-costs`` in this role becomes *chapter 05,
What a score costs*, with a link. As long as the table of contents has no such
page it becomes *chapter 05 (to come)*. So nobody has to remember, when a
chapter appears, where it was announced.
"""

import re
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole
from sphinx.util.nodes import make_refnode

logger = logging.getLogger(__name__)

USES = "course_chapters"
"""Key of a page's metadata: set where the page has such links."""


class Words(NamedTuple):
    """How an edition speaks of a chapter."""

    chapter: str
    to_come: str
    between: str


WORDS = {
    "en": Words("chapter {}", "{} (to come)", ", "),
    "ja": Words("第{}章", "{}（準備中）", "、"),
}


class ChapterLink(nodes.Inline, nodes.TextElement):
    """Stands for the link until all pages have been read."""


def chapter_link(env: BuildEnvironment, target: str) -> ChapterLink:
    """A link to ``page`` or ``page#section``, for directives of the book."""
    env.metadata[env.docname][USES] = True
    return ChapterLink(target=target)


class ChapterRole(SphinxRole):
    """``page#section``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """One link."""
        link = chapter_link(self.env, self.text.strip())
        self.set_source_info(link)
        return [link], []


class ResolveChapters(SphinxPostTransform):
    """Put in the links, once it is known which pages there are."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Every one of a page."""
        for link in list(self.document.findall(ChapterLink)):
            link.replace_self(self.resolve(link))

    def resolve(self, link: ChapterLink) -> nodes.Node:
        """The link, or words where the page is still to come."""
        page, _, section = link["target"].partition("#")
        words = WORDS.get(self.config.language, WORDS["en"])
        number = re.match(r"\d\d(?=_)", page)
        if page not in self.env.found_docs:
            if not number:
                logger.warning(
                    "no page %r: the role 'chapter' takes page#section, as "
                    "in 05_score_functions#what-a-score-costs",
                    page,
                    location=link,
                )
            name = words.chapter.format(number.group() if number else page)
            return nodes.inline("", words.to_come.format(name))
        text = nodes.inline()
        if number:
            text += nodes.Text(words.chapter.format(number.group()))
        else:
            text += title_of(self.env, page)
        if section and (title := section_title(self.env, page, section)):
            text += nodes.Text(words.between)
            text += title
        elif section:
            # Headings of another edition have other anchors.
            if self.config.language == "en":
                logger.warning(
                    "no section %r in %s; there are: %s",
                    section,
                    page,
                    ", ".join(sections(self.env, page)),
                    location=link,
                )
            section = ""
        return make_refnode(
            self.app.builder, self.env.docname, page, section, text
        )


def title_of(env: BuildEnvironment, page: str) -> list[nodes.Node]:
    """A page's title."""
    return [child.deepcopy() for child in env.titles[page].children]


def sections(env: BuildEnvironment, page: str) -> dict[str, nodes.Element]:
    """The sections of a page, by the name in their address."""
    return {
        entry["anchorname"].lstrip("#"): entry
        for entry in env.tocs[page].findall(nodes.reference)
        if entry["anchorname"]
    }


def section_title(
    env: BuildEnvironment, page: str, section: str
) -> list[nodes.Node]:
    """The title of a section, formulas included; empty if there is none."""
    entry = sections(env, page).get(section)
    return [child.deepcopy() for child in entry.children] if entry else []


def outdated(
    app: Sphinx,
    env: BuildEnvironment,
    added: set[str],
    changed: set[str],
    removed: set[str],
) -> list[str]:
    """Pages with such links follow every change of the others."""
    if not (added or changed or removed):
        return []
    return [
        page
        for page, metadata in env.metadata.items()
        if metadata.get(USES) and page not in removed
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(ChapterLink)
    app.add_role("chapter", ChapterRole())
    app.add_post_transform(ResolveChapters)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
