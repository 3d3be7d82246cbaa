"""Make what a lecturer needs: decks, handouts, board plans and figures.

python -m tools.lectures            all of it, into _build/class/en
python -m tools.lectures --pdf      and the papers as PDF
python -m tools.lectures --pptx     and the decks for PowerPoint
python -m tools.lectures --site     into the built book, for `make site`
python -m tools.lectures 04 12a     of these units alone
"""

import argparse
import sys

from tools.chromium import print_pdf
from tools.edition import BUILT, EDITION
from tools.lectures.plan import read_plan
from tools.lectures.publish import publish
from tools.refresh_outputs import ROOT
from transformer_course.errors import CourseError

TARGET = ROOT / f"_build/class/{EDITION}"


def main() -> int:
    """Do what the command line asks for; 1 if it cannot be done."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.lectures", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--pdf", action="store_true", help="print the papers")
    parser.add_argument("--pptx", action="store_true", help="for PowerPoint")
    parser.add_argument("--site", action="store_true", help="into the book")
    parser.add_argument("units", nargs="*", help="such as 12a; all")
    options = parser.parse_args()
    target = BUILT / "class" if options.site else TARGET
    try:
        plan = read_plan()
        names = options.units or [
            name
            for name, u in plan.units.items()
            if EDITION == "en" or (ROOT / f"book/ja/{u.notebook}.md").exists()
        ]
        publish(target, plan.of(names), BUILT, options.pptx)
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    papers = [*target.glob("handouts/*.html"), *target.glob("boards/*.html")]
    if options.pdf and not all(map(print_pdf, papers)):
        print("no Chromium here, so no PDF; print the pages from a browser")
    print(f"Open: file://{target}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
