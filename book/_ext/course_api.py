"""The package in the API reference, as it stands in the code."""

import dataclasses
import re
import typing
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon.docstring import GoogleDocstring

# Asks jaxtyping to call its classes what the code calls them, for instance
# Float[Tensor, 'batch query d_model']; read when the package is imported.
typing.GENERATING_DOCUMENTATION = "transformer_course"

# Napoleon takes what stands before a colon for a type: "The output, and the
# weights: rows sum to one." would be of type "The output, and the weights".
# Here types stand in annotations, so that the text is left as it is.


def keep_attribute(docstring: GoogleDocstring) -> list[str]:
    """Docstring of an attribute, as it is."""
    return docstring._consume_to_end()


def keep_returns(
    docstring: GoogleDocstring, preprocess_types: bool = False
) -> list[tuple[str, str, list[str]]]:
    """Section "Returns", as it is."""
    lines = docstring._dedent(docstring._consume_to_next_section())
    return [("", "", lines)] if lines else []


def drop_repeated_fields(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Leave out a dataclass's parameters: its fields say all about them."""
    if what == "class" and dataclasses.is_dataclass(obj):
        lines[:] = [
            line for line in lines if not re.match(r":(param|type) \w+:", line)
        ]


def drop_annotations(app: Sphinx, obj: Any, bound_method: bool) -> None:
    """Leave out what a command says of its options: its help says it."""
    hints = getattr(obj, "__annotations__", {}).values()
    if "tyro." in str([each for each in hints if not isinstance(each, str)]):
        obj.__annotations__ = typing.get_type_hints(obj)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    GoogleDocstring._parse_attribute_docstring = keep_attribute
    GoogleDocstring._consume_returns_section = keep_returns
    app.connect("autodoc-process-docstring", drop_repeated_fields, 900)
    app.connect("autodoc-before-process-signature", drop_annotations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
