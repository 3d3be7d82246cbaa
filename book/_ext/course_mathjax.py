"""Parts of MathJax in the built site, so that formulas need no other host.

The package sphinx-mathjax-offline holds MathJax, and its own extension copies
all 24 MB of it. Here go the parts that ``loader.load`` in the settings names,
what these ask for, and TeX's rarer words, which are loaded where one is
written. Left out are its menu, which makes each formula a tab stop, and its
words for speech.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx

PARTS = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "input/tex/extensions/*.js",
    "output/svg.js",
    "output/svg/fonts/tex.js",
    "a11y/assistive-mml.js",
)


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Copy them into ``_static/mathjax``, where ``mathjax_path`` points."""
    if error or app.builder.format != "html":
        return
    package = Path(find_spec("sphinx-mathjax-offline").origin).parent
    source, target = package / "static/mathjax", Path(app.outdir, "_static")
    for part in PARTS:
        for path in source.glob(part):
            copy = target / "mathjax" / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
