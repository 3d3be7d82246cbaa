"""Show the package in the API reference as it stands in the code."""

import typing
from typing import Any

import sphinx_autodoc_typehints
from sphinx.application import Sphinx
from sphinx.ext.napoleon.docstring import GoogleDocstring

# Asks jaxtyping to call its classes what the code calls them, for instance
# Float[Tensor, 'batch query d_model']; read when the package is imported.
typing.GENERATING_DOCUMENTATION = "transformer_course"

format_any = sphinx_autodoc_typehints.format_annotation


def format_annotation(annotation: Any, config: Any) -> str:
    """reStructuredText for an annotation; a tensor's shows its shape.

    The setting ``typehints_formatter`` is meant for this, but a function in
    the settings makes Sphinx read every page anew in each build.
    """
    shape = getattr(annotation, "dim_str", None)
    if shape is None:
        return format_any(annotation, config)
    kind = annotation.dtype.__name__
    array = annotation.array_type.__name__
    return f'``{kind}[{array}, "{shape}"]``'


def keep_lines(docstring: GoogleDocstring) -> list[str]:
    """The docstring of an attribute, as it is.

    Napoleon takes what stands before a colon for the attribute's type: "The
    ids that fill up a batch: see chapter 11." would be of type "The ids that
    fill up a batch". Here types stand in annotations.
    """
    return docstring._consume_to_end()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    sphinx_autodoc_typehints.format_annotation = format_annotation
    GoogleDocstring._parse_attribute_docstring = keep_lines
    return {"parallel_read_safe": True, "parallel_write_safe": True}
