"""Templates that lie beside the extensions, filled in as the book is built."""

from pathlib import Path

from course_edition import in_edition
from jinja2 import Environment, FunctionLoader, StrictUndefined, Template

FOLDER = Path(__file__).parent


def source(name: str) -> str | None:
    """A template in the language of the book; None if there is none."""
    path = FOLDER / name
    return in_edition(path.read_text("utf-8"), name) if path.exists() else None


def template(name: str) -> Template:
    """A template of this folder; what it is given is escaped."""
    environment = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # "tojson" escapes <, > and &, so that no text can end the element
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
    }
    return environment.get_template(name)
