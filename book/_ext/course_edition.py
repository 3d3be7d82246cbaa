"""What an edition in another language needs of the extensions.

``say`` has the words that an extension puts into a page, in the language of
the book that is built; ``book/ja/strings.yml`` has the Japanese ones. A word
that it lacks is a warning.

Below a heading the directive ``renamed`` has the text that readers see in its
place. The address of the section is that of the heading, so a link leads to
the same section in all editions.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.locale import translators
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tools.translate.strings import replace_strings, strings

logger = logging.getLogger(__name__)
language = "en"
"""Of the book that is built."""


def say(english: str) -> str:
    """Words of an extension, in the language of the book."""
    if language == "en":
        return english
    words = strings()["extensions"]
    if english not in words and re.search("[A-Za-z]{2}", english):
        logger.warning("book/ja/strings.yml has no %r", english)
    return words.get(english, english)


def in_edition(text: str, file: str) -> str:
    """A script or template in the language of the book."""
    if language == "en":
        return text
    return replace_strings(text, strings()["files"].get(file, {}), file)


class Renamed(SphinxDirective):
    """``renamed``: what readers see as the heading of a section."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """The title, until ``rename`` puts it into its place."""
        text, messages = self.parse_inline(self.arguments[0])
        return [nodes.rubric("", "", *text, classes=["renames"]), *messages]


def rename(app: Sphinx, doctree: nodes.document) -> None:
    """Put each title into the place of its heading's, in references too."""
    labels = app.env.get_domain("std").labels
    for title in [*doctree.findall(nodes.rubric)]:
        if "renames" in title["classes"]:
            section = title.parent
            section.remove(title)
            heading = nodes.title("", "", *title.children)
            section.replace(section[0], heading)
            for name, (page, place, _) in [*labels.items()]:
                if page == app.env.docname and place in section["ids"]:
                    labels[name] = page, place, heading.astext()


def choose(app: Sphinx, config: Config) -> None:
    """Let ``say`` know the language."""
    global language
    language = config.language


def mend_words(app: Sphinx) -> None:
    """Put a space behind a role in Sphinx's Japanese, where it has to end."""
    catalog = vars(translators["general", "sphinx"]).get("_catalog", {})
    if language == "ja" and "alias of %s" in catalog:
        catalog["alias of %s"] = "%s の別名です。"


def mend_pages(app: Sphinx, error: Exception | None) -> None:
    """Put Japanese in the place of the theme's English, on all pages."""
    if language == "en" or error:
        return
    words = strings()["theme"]
    said = "|".join(map(re.escape, words))
    found = re.compile(rf'([">]\s*)({said})(?=\s*[<"]| \d)')
    for path in Path(app.outdir).rglob("*.html"):
        html = path.read_text("utf-8")
        html = found.sub(lambda at: at[1] + words[at[2]], html)
        path.write_text(html, "utf-8")
    for name, words in strings()["scripts"].items():
        for path in Path(app.outdir, "_static").glob(name):
            script = replace_strings(path.read_text("utf-8"), words, name)
            path.write_text(script, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("renamed", Renamed)
    app.connect("config-inited", choose)
    app.connect("builder-inited", mend_words)
    app.connect("doctree-read", rename, priority=100)
    app.connect("build-finished", mend_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
