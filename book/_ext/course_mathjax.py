"""Formulas, drawn by MathJax when the book is built.

A page comes with its formulas as SVG, each with MathML for who hears it, and
loads nothing more for them. MathJax is the package sphinx-mathjax-offline; it
runs in mini-racer, which is V8 without a page. Formulas share the paths of
their signs: a page begins with those that it uses.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from html import escape, unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.sphinx_ext.mathjax import html_visit_displaymath
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.ext.mathjax import html_visit_math
from sphinx.util import logging

PARTS = (
    *("startup", "core", "adaptors/liteDOM", "input/tex"),
    *("output/svg", "output/svg/fonts/tex", "a11y/assistive-mml"),
)
TEX = re.compile(r"\\([(\[])(.*)\\[)\]]", re.S)
SIGN = re.compile(r'href="#(MJX-[^"]+)"')

logger = logging.getLogger(__name__)


@cache
def mathjax(macros: str) -> MiniRacer:
    """MathJax with macros, a JSON object."""
    package = Path(find_spec("sphinx-mathjax-offline").origin).parent
    engine = MiniRacer()
    engine.eval(f"const macros = {macros};")
    engine.eval(Path(__file__).with_name("mathjax.js").read_text("utf-8"))
    for part in PARTS:
        script = package / f"static/mathjax/{part}.js"
        engine.eval(script.read_text("utf-8"))
    engine.eval("ready();")
    return engine


@cache
def draw(tex: str, display: bool, macros: str) -> str:
    """A formula in HTML.

    Raises:
        JSEvalException: MathJax does not understand it.
    """
    return mathjax(macros).call("draw", tex, display)


def macros_of(config: Config) -> str:
    """The macros that the settings define."""
    settings = config.mathjax3_config or {}
    return json.dumps(settings.get("tex", {}).get("macros", {}))


def drawn(visit: Callable) -> Callable:
    """What Sphinx's own visitor writes, with the formula drawn."""

    def visit_formula(writer: Any, node: nodes.Node) -> None:
        start = len(writer.body)
        macros = macros_of(writer.config)

        def formula(found: re.Match) -> str:
            tex = unescape(found[2])
            try:
                drawing = draw(tex, found[1] == "[", macros)
            except JSEvalException as error:
                reason = str(error).partition("Error: ")[2].splitlines()[0]
                logger.warning("%s: %s", reason, tex, location=node)
                return found[0]
            tag = "<mjx-container"
            return drawing.replace(tag, f'{tag} data-tex="{escape(tex)}"', 1)

        try:
            visit(writer, node)
        finally:
            html = "".join(writer.body[start:])
            writer.body[start:] = [TEX.sub(formula, html)]

    return visit_formula


def add_signs(
    app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any
) -> None:
    """Put the signs of a page's formulas in front of it."""
    used = sorted({*SIGN.findall(context.get("body", ""))})
    if used:
        engine = mathjax(macros_of(app.config))
        paths = json.loads(engine.eval("JSON.stringify(signs())"))
        signs = "".join(paths[name] for name in used)
        hidden = f'<svg style="display:none"><defs>{signs}</defs></svg>'
        context["body"] = hidden + context["body"]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_html_math_renderer(
        "drawn",
        (drawn(html_visit_math), None),
        (drawn(html_visit_displaymath), None),
    )
    app.connect("html-page-context", add_signs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
