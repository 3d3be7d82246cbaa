"""What a page loads: the style sheets and scripts that it uses, and no more.

Extensions put theirs into every page. Here a page's own classes decide which
of them stay. Scripts wait until the page has been read (``defer``), so that
words are painted first; style sheets alone hold them up.
"""

import re
from typing import Any

from sphinx.application import Sphinx

THEME_STYLES = ("theme", "bootstrap", "pydata-sphinx-theme")
THEME_SCRIPTS = ("bootstrap", "pydata-sphinx-theme")

USED_BY = {
    "clipboard": {"highlight"},
    "copybutton": {"highlight"},
    "toggle": {"toggle", "dropdown"},  # sphinx_togglebutton's
    "design-tabs": {"sd-tab-set"},
    "sphinx-design": {"sd-card", "sd-tab-set", "sd-badge", "sd-btn"},
    "mystnb": {"cell"},
    "mathjax": {"math"},
    "printing.js": {"sd-dropdown", "hide"},
}
"""Classes of which a page has one if it uses a file or a line of script, by a
part of its name or of its text."""


def uses(asset: str, classes: set[str]) -> bool:
    """Whether a page with these classes needs what ``asset`` names."""
    return all(
        needed & classes
        for part, needed in USED_BY.items()
        if part in asset.lower()
    )


def classes_of(html: str) -> set[str]:
    """The classes that the elements of a page have."""
    return {
        name
        for names in re.findall(r'\bclass="([^"]*)"', html)
        for name in names.split()
    }


def text_of(script: Any) -> str:
    """The name of a script's file, or what stands in the page."""
    return str(script.filename or script.attributes.get("body", ""))


def deferred(script: Any) -> Any:
    """A script that waits until the page has been read, if it may.

    What stands in the page cannot wait, nor can the options that it changes.
    """
    name = str(script.filename or "")
    if not name or name.endswith("documentation_options.js"):
        return script
    attributes = script.attributes | {"defer": "defer"}
    return type(script)(name, priority=script.priority, **attributes)


def choose(
    app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any
) -> None:
    """Keep what the page uses, and let its scripts wait."""
    # in front of all others; not before, since the theme takes one away
    for number, name in enumerate(THEME_STYLES):
        app.add_css_file(f"styles/{name}.css", priority=100 + number)
    classes = classes_of(context.get("body", ""))
    context["css_files"] = [
        style
        for style in context["css_files"]
        if uses(str(style.filename), classes)
    ]
    context["script_files"] = [
        deferred(script)
        for script in context["script_files"]
        if uses(text_of(script), classes)
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    for name in THEME_SCRIPTS:
        app.add_js_file(f"scripts/{name}.js", priority=900)
    # A formula can come from the title of another page: look for it here.
    app.set_html_assets_policy("always")
    app.connect("html-page-context", choose, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
