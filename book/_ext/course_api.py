"""Show tensor annotations in the API reference as they stand in the code.

``Float[Tensor, "batch query d_model"]`` is a class made on the fly; left to
itself, Sphinx prints where it was made and drops the shape.
"""

from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config


def format_annotation(annotation: Any, config: Config) -> str | None:
    """reStructuredText for a jaxtyping annotation; None for any other."""
    if type(annotation).__module__.partition(".")[0] != "jaxtyping":
        return None
    shape = getattr(annotation, "dim_str", None)
    if shape is None:
        return None
    kind = annotation.dtype.__name__
    array = annotation.array_type.__name__
    return f'``{kind}[{array}, "{shape}"]``'


def use_formatter(app: Sphinx, config: Config) -> None:
    """A function cannot stand in YAML, so it is set here."""
    config.typehints_formatter = format_annotation


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", use_formatter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
