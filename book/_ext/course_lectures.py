"""The page for lecturers: its plans and units, from ``units.yml``.

On the page ``lecturers`` a line of the form ``{lectures} units`` stands for
what the plan says: ``units``, ``chapters``, or the number of lectures. It is
put in before the page is parsed, so it may hold headings and labels, which no
directive may.
"""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tools.lectures.page import markdown  # noqa: E402
from tools.lectures.plan import read_plan  # noqa: E402
from transformer_course.errors import CourseError  # noqa: E402

TOOLS = ROOT / "tools" / "lectures"
PAGE = "lecturers"
PLACE = re.compile(r"^\{lectures\} (\w+)$", re.MULTILINE)


def put_in(app: Sphinx, page: str, source: list[str]) -> None:
    """Write each part in its place."""
    if page != PAGE:
        return
    for path in [Path(app.srcdir, "units.yml"), *TOOLS.glob("*.py")]:
        app.env.note_dependency(str(path))
    read_plan.cache_clear()  # a server that builds again reads it again
    try:
        plan = read_plan()
        source[0] = PLACE.sub(lambda at: markdown(at[1], plan), source[0])
    except CourseError as error:
        raise ExtensionError(str(error)) from None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", put_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
