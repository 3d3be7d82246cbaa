"""Put the whole site into one folder, ready for any web server.

python -m tools.site

The built book with, in its folder ``class``, the slides, the handouts and
the figures. Every address counts from the page that it stands on, so the
folder may lie at any depth of a server. It is made beside what it replaces:
nothing of an earlier site stays, and a site that cannot be made leaves the
earlier one.
"""

import argparse
import shutil
import sys
from pathlib import Path

from tools.lectures.publish import Publisher
from tools.lectures.reveal import NoReveal
from tools.refresh_outputs import ROOT
from transformer_course.errors import CourseError

CLASS = "class"
NO_JEKYLL = ".nojekyll"
"""Without this file Pages would take a branch for the source of a blog, and
leave out each folder whose name begins with ``_``."""


def gather(book: Path, target: Path, reveal: str = "") -> str:
    """Put the site together.

    Args:
        book: the built book.
        target: the folder to make; what it held is removed.
        reveal: an unpacked release of reveal.js; "" for that of the package.

    Returns:
        Why there are no slides; "" if there are.

    Raises:
        NoReveal: the folder that was named holds no reveal.js.
    """
    fresh = target.with_name(f"{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(book, fresh)
    (fresh / NO_JEKYLL).touch()
    publisher = Publisher(book, fresh / CLASS)
    missing = ""
    try:
        publisher.slides(reveal)
    except NoReveal as error:
        if reveal:
            raise
        missing = str(error)
    publisher.papers()
    publisher.figure_page()
    publisher.contents()
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)
    return missing


def main() -> int:
    """Make the site; 1 if it cannot be made."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.site", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--reveal", default="", help="an unpacked release of reveal.js"
    )
    options = parser.parse_args()
    book = ROOT / "_build/en/_build/html"
    target = ROOT / "_build" / "site"
    try:
        missing = gather(book, target, options.reveal)
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if missing:
        print(f"warning: {missing}", file=sys.stderr)
    print(f"The site is in {target}. Open: file://{target}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
