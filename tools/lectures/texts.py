"""Texts of the plan, from Markdown to HTML."""

import re

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

LINKED = re.compile(r"\[([^\]]+)\]\([^)]*\)")


def _formula(content: str, options: dict) -> str:
    """A formula, delimited for MathJax."""
    return rf"\[{content}\]" if options["display_mode"] else rf"\({content}\)"


READER = MarkdownIt("commonmark", {"typographer": True}).enable(
    ["replacements", "smartquotes"]
)
dollarmath_plugin(READER, renderer=_formula, allow_digits=False)


def to_html(text: str) -> str:
    """HTML without links, which mean nothing on paper or on a slide."""
    plain = LINKED.sub(r"\1", text)
    return READER.renderInline(plain).strip()
