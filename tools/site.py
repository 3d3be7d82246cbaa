"""Put the whole site into one folder, ready for any web server.

python -m tools.site

The built book with, in its folder ``class``, the slides, the handouts and
the figures. Every address counts from the page that it stands on, so the
folder may lie at any depth of a server. It is made beside what it replaces:
nothing of an earlier site stays, and a site that cannot be made leaves the
earlier one.
"""

import shutil
import sys
from pathlib import Path

from tools.lectures.plan import Plan, read_plan
from tools.lectures.publish import publish
from tools.refresh_outputs import ROOT
from transformer_course.errors import CourseError

CLASS = "class"
NO_JEKYLL = ".nojekyll"
"""Without this file Pages would take a branch for the source of a blog, and
leave out each folder whose name begins with ``_``."""


def gather(book: Path, target: Path, plan: Plan) -> None:
    """Put the site together.

    Args:
        book: the built book.
        target: the folder to make; what it held is removed.
        plan: what the class is to do.

    Raises:
        CourseError: the plan asks for what the chapters lack.
    """
    fresh = target.with_name(f"{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(book, fresh)
    (fresh / NO_JEKYLL).touch()
    publish(fresh / CLASS, plan, fresh)
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)


def main() -> int:
    """Make the site; 1 if it cannot be made."""
    target = ROOT / "_build" / "site"
    try:
        gather(ROOT / "_build/en/_build/html", target, read_plan())
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"The site is in {target}. Open: file://{target}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
