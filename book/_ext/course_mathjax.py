"""Put MathJax into the built site, so that formulas need no other host.

The package sphinx-mathjax-offline holds MathJax; its own extension copies all
24 MB of it. Here go the parts that ``loader.load`` in the settings names, what
these ask for, and TeX's rarer words, which are loaded where one is written.
SVG needs no fonts beside. What is left out is what most of MathJax's bundles
are: its menu, which makes each formula a tab stop, and its words for speech.
"""

import shutil
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PACKAGE = "sphinx-mathjax-offline"
PARTS = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "input/tex/extensions/*.js",
    "output/svg.js",
    "output/svg/fonts/tex.js",
    "a11y/assistive-mml.js",
)


def find_mathjax() -> Path:
    """The folder where the installed package keeps the parts."""
    try:
        entries = files(PACKAGE) or []
    except PackageNotFoundError:
        entries = []
    for entry in entries:
        if entry.name == PARTS[0]:
            return Path(entry.locate()).parent
    raise ExtensionError(
        f"{PARTS[0]} of {PACKAGE} is not installed: run `make env`."
    )


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Copy them into ``_static/mathjax``, where ``mathjax_path`` points."""
    if exception or app.builder.format != "html":
        return
    source, target = find_mathjax(), Path(app.outdir, "_static", "mathjax")
    for part in PARTS:
        for path in source.glob(part):
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
