"""Put MathJax into the built site, so that formulas need no other host.

The package sphinx-mathjax-offline holds MathJax; its own extension copies all
24 MB of it. One file of 2.3 MB is enough, since SVG output needs no fonts.
"""

import shutil
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PACKAGE = "sphinx-mathjax-offline"
FILE = "tex-svg-full.js"


def find_mathjax() -> Path:
    """Where the installed package keeps the one file."""
    try:
        entries = files(PACKAGE) or []
    except PackageNotFoundError:
        entries = []
    for entry in entries:
        if entry.name == FILE:
            return Path(entry.locate())
    raise ExtensionError(
        f"{FILE} of {PACKAGE} is not installed: run `make env`."
    )


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Copy it into ``_static/mathjax``, where ``mathjax_path`` points."""
    if exception is None and app.builder.format == "html":
        target = Path(app.outdir, "_static", "mathjax", FILE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(find_mathjax(), target)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
