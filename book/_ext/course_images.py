"""The size of each image, in the page: nothing moves when the image comes."""

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from PIL import Image
from sphinx.application import Sphinx

IMAGE = re.compile(r'<img\b(?![^>]*\b(?:width|height)=)([^>]*\bsrc="([^"]+)")')


def add_sizes(
    app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any
) -> None:
    """Write width and height into the images of a page that lack them."""
    if app.builder.format != "html" or "body" not in context:
        return
    originals = {name: path for path, name in app.builder.images.items()}

    def with_size(image: re.Match) -> str:
        name = Path(unquote(unescape(image[2]))).name
        if name not in originals or name.endswith(".svg"):
            return image[0]
        with Image.open(Path(app.srcdir, originals[name])) as picture:
            width, height = picture.size
        return f'<img width="{width}" height="{height}"{image[1]}'

    context["body"] = IMAGE.sub(with_size, context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_sizes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
